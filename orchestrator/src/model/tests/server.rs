//! A scripted HTTP server: one answer per request, in order, down to the byte.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

/// What is sent, and what happens after it.
pub(super) struct Answer {
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The answer is whole; the connection stays open.
    Keep,
    /// The connection is closed in the middle.
    Close,
    /// Nothing more comes until the other side leaves.
    Hang,
}

impl Answer {
    /// A success with this body.
    pub(super) fn whole(body: &str) -> Self {
        let head = head(200, "content-type: text/event-stream\r\n");
        let bytes = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        Self { bytes: bytes.into_bytes(), then: Then::Keep }
    }

    /// Another status, with header lines and a body.
    pub(super) fn status(status: u16, headers: &str, body: &str) -> Self {
        let head = head(status, headers);
        let bytes = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        Self { bytes: bytes.into_bytes(), then: Then::Keep }
    }

    /// A success whose body is promised to go on, and the connection closed.
    pub(super) fn cut(body: &str) -> Self {
        Self { then: Then::Close, ..Self::hang(body) }
    }

    /// A success whose body is promised to go on, and silence.
    pub(super) fn hang(body: &str) -> Self {
        let mut bytes = head(200, "transfer-encoding: chunked\r\n") + "\r\n";
        if !body.is_empty() {
            let _ = write!(bytes, "{:x}\r\n{body}\r\n", body.len());
        }
        Self { bytes: bytes.into_bytes(), then: Then::Hang }
    }

    /// Not even a status.
    pub(super) fn silent() -> Self {
        Self { bytes: Vec::new(), then: Then::Hang }
    }
}

fn head(status: u16, headers: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{headers}")
}

/// A stream of these choices, and the end mark.
pub(super) fn stream(choices: &[Value]) -> String {
    let mut body = String::new();
    for choice in choices {
        let _ = write!(body, "data: {}\n\n", json!({"id": "c", "choices": [choice]}));
    }
    body + "data: [DONE]\n\n"
}

/// A request as it came.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) head: String,
    pub(super) body: Value,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Sent>,
    connections: usize,
}

/// The server; it ends when it is dropped.
pub(super) struct Server {
    pub(super) url: String,
    seen: Arc<Mutex<Seen>>,
    asked: mpsc::Receiver<()>,
    left: mpsc::Receiver<()>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(super) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (asked_sender, asked) = mpsc::channel(64);
        let (left_sender, left) = mpsc::channel(64);
        let mut tasks = JoinSet::new();
        let script = Arc::new(Mutex::new(answers.into_iter()));
        let shared = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                shared.lock().unwrap().connections += 1;
                let (script, seen) = (Arc::clone(&script), Arc::clone(&shared));
                let (asked, left) = (asked_sender.clone(), left_sender.clone());
                connections.spawn(async move {
                    serve(stream, &script, &seen, &asked).await;
                    let _ = left.send(()).await;
                });
            }
        });
        Self { url, seen, asked, left, _tasks: tasks }
    }

    pub(super) fn requests(&self) -> Vec<Sent> {
        self.seen.lock().unwrap().requests.clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Waits until a request came.
    pub(super) async fn asked(&mut self) {
        self.asked.recv().await.unwrap();
    }

    /// Waits until a connection was closed.
    pub(super) async fn left(&mut self) {
        self.left.recv().await.unwrap();
    }
}

/// An address where nobody listens.
pub(super) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn serve(
    mut stream: TcpStream,
    script: &Mutex<std::vec::IntoIter<Answer>>,
    seen: &Mutex<Seen>,
    asked: &mpsc::Sender<()>,
) {
    while let Some(sent) = read(&mut stream).await {
        seen.lock().unwrap().requests.push(sent);
        let _ = asked.send(()).await;
        let Some(answer) = script.lock().unwrap().next() else { return };
        if stream.write_all(&answer.bytes).await.is_err() {
            return;
        }
        match answer.then {
            Then::Keep => {}
            Then::Close => return,
            Then::Hang => {
                let _ = stream.read(&mut [0]).await;
                return;
            }
        }
    }
}

/// One request; `None` if the other side left.
async fn read(stream: &mut TcpStream) -> Option<Sent> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&chunk[..length]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.to_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").map(|value| value.trim().parse::<usize>().unwrap())
    });
    let mut body = bytes.split_off(end);
    while body.len() < length.unwrap_or(0) {
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).await.ok().filter(|length| *length > 0)?;
        body.extend_from_slice(&chunk[..length]);
    }
    Some(Sent { head, body: serde_json::from_slice(&body).unwrap_or_default() })
}
