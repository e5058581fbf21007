//! A small HTTP client for both doors, and a reader of event streams.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    task::JoinSet,
    time::timeout,
};

/// Generous: a test fails by it only if the answer never comes.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// Where to connect.
#[derive(Clone, Debug)]
pub(super) enum Door {
    Tcp(SocketAddr),
    Socket(PathBuf),
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&self.body)))
    }

    /// A problem's detail, after checking that it is one.
    pub(super) fn problem(&self) -> String {
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        let body = self.json();
        assert_eq!(body["status"], self.status.as_u16(), "{body}");
        assert!(body["type"].as_str().unwrap().starts_with("urn:callboard:problem:"), "{body}");
        body["detail"].as_str().unwrap().to_owned()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Sends a request on a connection of its own and reads the whole answer.
pub(super) async fn send(door: &Door, request: Request<Vec<u8>>) -> Reply {
    let reading = async {
        let (response, _connection) = open(door, request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: parts.status, headers: parts.headers, body }
    };
    timeout(DEADLINE, reading).await.expect("an answer in time")
}

/// Sends a request and gives back the head of the answer with its body still to come.
pub(super) async fn open(
    door: &Door,
    request: Request<Vec<u8>>,
) -> (Response<Incoming>, JoinSet<()>) {
    match door {
        Door::Tcp(address) => on(TcpStream::connect(address).await.unwrap(), request).await,
        Door::Socket(path) => on(UnixStream::connect(path).await.unwrap(), request).await,
    }
}

async fn on<I>(stream: I, request: Request<Vec<u8>>) -> (Response<Incoming>, JoinSet<()>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let mut tasks = JoinSet::new();
    // An error of the connection shows in the answer.
    tasks.spawn(async move { drop(connection.await) });
    let (mut parts, body) = request.into_parts();
    parts.headers.entry(header::HOST).or_insert(header::HeaderValue::from_static("localhost"));
    let request = Request::from_parts(parts, Full::new(Bytes::from(body)));
    (sender.send_request(request).await.unwrap(), tasks)
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) id: Option<u64>,
    pub(super) data: Value,
}

/// An event stream. Dropping it closes the connection.
pub(super) struct Events {
    pub(super) headers: HeaderMap,
    body: Incoming,
    text: String,
    pub(super) heartbeats: usize,
    _connection: JoinSet<()>,
}

impl Events {
    /// Opens a stream, or fails with what came instead.
    pub(super) async fn open(door: &Door, mut request: Request<Vec<u8>>) -> Self {
        let accept = header::HeaderValue::from_static("text/event-stream");
        request.headers_mut().insert(header::ACCEPT, accept);
        let (response, connection) = timeout(DEADLINE, open(door, request)).await.unwrap();
        let (parts, body) = response.into_parts();
        if parts.status != StatusCode::OK {
            let body = body.collect().await.unwrap().to_bytes();
            panic!("{}: {}", parts.status, String::from_utf8_lossy(&body));
        }
        assert_eq!(parts.headers[header::CONTENT_TYPE], "text/event-stream");
        let (headers, text) = (parts.headers, String::new());
        Self { headers, body, text, heartbeats: 0, _connection: connection }
    }

    /// The next event; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                if frame.starts_with(':') {
                    self.heartbeats += 1;
                    continue;
                }
                return Some(read(&frame));
            }
            let frame = timeout(DEADLINE, self.body.frame()).await.expect("an event in time")?;
            let bytes = frame.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// All events to the end.
    pub(super) async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Waits for a sign of life.
    pub(super) async fn heartbeat(&mut self) {
        while !self.text.contains(": alive\n\n") {
            let frame = timeout(DEADLINE, self.body.frame()).await.unwrap().unwrap().unwrap();
            self.text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }
}

fn read(frame: &str) -> Event {
    let field = |name: &str| {
        let lines = frame.lines().filter_map(|line| line.strip_prefix(name));
        lines.collect::<Vec<_>>().join("\n")
    };
    Event {
        name: field("event: "),
        id: field("id: ").parse().ok(),
        data: serde_json::from_str(&field("data: ")).unwrap(),
    }
}

/// The numbers of the facts among events.
pub(super) fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().filter(|event| event.name == "fact").map(|event| event.id.unwrap()).collect()
}
