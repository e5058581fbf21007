//! A client that reads the stream of a run or a session, keeps every fact, and fails its test at the
//! first gap or repeat.

use futures_util::{StreamExt as _, stream::BoxStream};
use serde_json::Value;

/// A stream of events under way.
pub struct Events {
    bytes: BoxStream<'static, reqwest::Result<axum::body::Bytes>>,
    buffer: Vec<u8>,
    /// Every fact so far, in order.
    pub facts: Vec<Value>,
    /// The session, as the head of the answer names it.
    pub session: String,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Events {
    /// Sends a request and reads its answer as a stream.
    pub async fn of(request: reqwest::RequestBuilder) -> Self {
        let answer = request.header("accept", "text/event-stream").send().await.unwrap();
        assert!(answer.status().is_success(), "{}: {:?}", answer.status(), answer.text().await);
        let session = answer.headers().get("callboard-session");
        let session = session.map_or(String::new(), |id| id.to_str().unwrap().to_owned());
        let bytes = answer.bytes_stream().boxed();
        Self { bytes, buffer: Vec::new(), facts: Vec::new(), session }
    }

    /// The next event with its data; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(event) = self.read(&String::from_utf8(frame).unwrap()) {
                    return Some(event);
                }
                continue;
            }
            match self.bytes.next().await {
                Some(bytes) => self.buffer.extend_from_slice(&bytes.expect("the stream holds")),
                None => return None,
            }
        }
    }

    fn read(&mut self, frame: &str) -> Option<(String, Value)> {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let (name, data) = (field("event: ")?, field("data: ")?);
        let data: Value = serde_json::from_str(data).unwrap();
        if name == "fact" {
            if let Some(last) = self.facts.last() {
                let (last, seq) = (last["seq"].as_u64().unwrap(), data["seq"].as_u64().unwrap());
                // A run's stream leaves out what is another run's, and nothing of its own.
                assert!(seq > last, "{seq} after {last}");
            }
            self.facts.push(data.clone());
        }
        Some((name.to_owned(), data))
    }

    /// Reads on until a fact of this kind was told, and gives it.
    pub async fn until(&mut self, kind: &str) -> Value {
        loop {
            match self.next().await {
                Some((name, data)) if name == "fact" && data["type"] == kind => return data,
                Some((name, data)) => assert_ne!(name, "error", "{data}"),
                None => panic!("the stream ended before {kind}: {:?}", self.facts),
            }
        }
    }

    /// Reads to the end, which is the result of the run.
    pub async fn result(&mut self) -> Value {
        loop {
            match self.next().await {
                Some((name, data)) if name == "result" => return data,
                Some((name, data)) => assert_ne!(name, "error", "{data}"),
                None => panic!("the stream ended without a result: {:?}", self.facts),
            }
        }
    }

    /// The kinds of all facts so far.
    pub fn kinds(&self) -> Vec<&str> {
        self.facts.iter().map(|fact| fact["type"].as_str().unwrap()).collect()
    }
}
