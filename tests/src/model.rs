//! A server that speaks `OpenAI`'s chat completions protocol from a script, and keeps every request.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer without calls.
    Text(String),
    /// Text and calls: name and arguments.
    Calls(String, Vec<(String, String)>),
    /// Any status, headers and body.
    Raw(u16, Vec<(String, String)>, String),
    /// A stream that breaks off after these bytes.
    Cut(String),
    /// Headers, then nothing more.
    Hang,
    /// The same as the other, once it was notified.
    Held(Arc<Notify>, Box<Reply>),
}

impl Reply {
    /// One call without text.
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::Calls(String::new(), vec![(name.to_owned(), arguments.to_string())])
    }

    /// An answer.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

type Script = dyn Fn(usize, &Value) -> Reply + Send + Sync;

struct Inner {
    script: Box<Script>,
    requests: Mutex<Vec<Value>>,
    headers: Mutex<Vec<HeaderMap>>,
}

/// A played model provider; ends when dropped.
pub struct ModelServer {
    address: SocketAddr,
    inner: Arc<Inner>,
    server: tokio::task::JoinHandle<()>,
}

impl std::fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ModelServer {
    /// Answers the request with number `n`, from 0, with `script(n, body)`.
    pub async fn start(script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        Self::serve(tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    /// The same on a listener that was there before, so that its address is known.
    pub fn serve(
        listener: tokio::net::TcpListener,
        script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let inner = Arc::new(Inner {
            script: Box::new(script),
            requests: Mutex::default(),
            headers: Mutex::default(),
        });
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/models", get(async || Json(json!({"data": [{"id": "scripted"}]}))))
            .with_state(Arc::clone(&inner));
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, inner, server }
    }

    /// A server that answers one request after the other; the last reply is repeated.
    pub async fn script(replies: Vec<Reply>) -> Self {
        Self::start(move |n, _| replies[n.min(replies.len() - 1)].clone()).await
    }

    /// What `OPENAI_BASE_URL` has to be.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.inner.requests.lock().unwrap().clone()
    }

    /// The headers of all requests so far.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.inner.headers.lock().unwrap().clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).expect("requests are JSON");
    let n = {
        let mut requests = inner.requests.lock().unwrap();
        requests.push(body.clone());
        inner.headers.lock().unwrap().push(headers);
        requests.len() - 1
    };
    let mut reply = (inner.script)(n, &body);
    while let Reply::Held(gate, then) = reply {
        gate.notified().await;
        reply = *then;
    }
    match reply {
        Reply::Held(..) => unreachable!("it was let go"),
        Reply::Text(text) => stream(text_chunks(&text), End::Done),
        Reply::Calls(text, calls) => stream(call_chunks(n, &text, &calls), End::Done),
        Reply::Cut(bytes) => stream(vec![bytes], End::Reset),
        Reply::Hang => stream(Vec::new(), End::Never),
        Reply::Raw(status, headers, body) => {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                let name: axum::http::HeaderName = name.parse().unwrap();
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
    }
}

enum End {
    Done,
    Reset,
    Never,
}

fn stream(events: Vec<String>, end: End) -> Response {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<String, std::io::Error>>(8);
    tokio::spawn(async move {
        for event in events {
            if sender.send(Ok(event)).await.is_err() {
                return;
            }
        }
        match end {
            End::Done => {
                let _ = sender.send(Ok("data: [DONE]\n\n".to_owned())).await;
            }
            End::Reset => {
                let reset = std::io::Error::other("the stream is cut here");
                let _ = sender.send(Err(reset)).await;
            }
            End::Never => sender.closed().await,
        }
    });
    let stream = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut response = Response::new(Body::from_stream(stream));
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    response
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let body = json!({
        "id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {body}\n\n")
}

fn usage() -> String {
    let body = json!({
        "id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    });
    format!("data: {body}\n\n")
}

/// The text in pieces of a few characters, as providers send it.
fn text_deltas(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(7)
        .map(|piece| chunk(&json!({"content": piece.iter().collect::<String>()}), None))
        .collect()
}

fn text_chunks(text: &str) -> Vec<String> {
    let mut events = vec![chunk(&json!({"role": "assistant", "content": ""}), None)];
    events.extend(text_deltas(text));
    events.push(chunk(&json!({}), Some("stop")));
    events.push(usage());
    events
}

/// The calls in fragments: id and name first, then the arguments in pieces, interleaved.
fn call_chunks(n: usize, text: &str, calls: &[(String, String)]) -> Vec<String> {
    let mut events = vec![chunk(&json!({"role": "assistant", "content": null}), None)];
    events.extend(text_deltas(text));
    for (index, (name, _)) in calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": ""});
        let call = json!({
            "index": index, "id": format!("call_{n}_{index}"), "type": "function",
            "function": function,
        });
        events.push(chunk(&json!({"tool_calls": [call]}), None));
    }
    let pieces: Vec<Vec<String>> = calls
        .iter()
        .map(|(_, arguments)| {
            let chars: Vec<char> = arguments.chars().collect();
            chars.chunks(5).map(|piece| piece.iter().collect()).collect()
        })
        .collect();
    let longest = pieces.iter().map(Vec::len).max().unwrap_or(0);
    for nth in 0..longest {
        for (index, piece) in pieces.iter().enumerate().filter_map(|(i, p)| Some((i, p.get(nth)?)))
        {
            let call = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(&json!({"tool_calls": [call]}), None));
        }
    }
    events.push(chunk(&json!({}), Some("tool_calls")));
    events.push(usage());
    events
}
