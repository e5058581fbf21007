//! Reads a stream of server-sent events, as the gateway sends them. Next: `shapes`.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::Value;

use anyhow::Context as _;

use super::problem;

/// An event larger than this is not ours. The largest is the result of a run, with all its calls.
const SIZE_LIMIT: usize = 256 << 20;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// `fact`, `glimpse`, `result` or `error`.
    pub(crate) event: String,
    /// Its JSON.
    pub(crate) data: Value,
    /// The same as it came.
    pub(crate) text: String,
}

/// A stream of events.
pub(crate) struct Frames {
    /// The session that the answer's head names.
    pub(crate) session: Option<String>,
    /// The run that it names.
    pub(crate) run: Option<String>,
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    decoder: Decoder,
}

impl Frames {
    /// Of an answer.
    pub(crate) fn new(response: reqwest::Response) -> Self {
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let (session, run) = (header("callboard-session"), header("callboard-run"));
        let bytes = response.bytes_stream().boxed();
        Self { session, run, bytes, decoder: Decoder::default() }
    }

    /// The next event; `None` at the end of the stream. Dropping the future loses nothing.
    ///
    /// # Errors
    /// A broken connection, or an event that is not ours.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.decoder.frame()? {
                return Ok(Some(frame));
            }
            match self.bytes.next().await {
                Some(bytes) => self.decoder.push(&bytes.context("the event stream broke")?)?,
                None => return Ok(None),
            }
        }
    }
}

/// Turns bytes, in whatever pieces they come, into events.
#[derive(Debug, Default)]
struct Decoder {
    pending: Vec<u8>,
    /// How far `pending` is known to hold no line end.
    searched: usize,
    event: String,
    data: String,
}

impl Decoder {
    fn push(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() <= SIZE_LIMIT { Ok(()) } else { Err(too_large()) }
    }

    /// The next whole event.
    fn frame(&mut self) -> anyhow::Result<Option<Frame>> {
        while let Some(line) = self.line() {
            let line = String::from_utf8(line).context("the event stream is no UTF-8")?;
            if line.is_empty() {
                let (event, text) =
                    (std::mem::take(&mut self.event), std::mem::take(&mut self.data));
                if text.is_empty() {
                    continue;
                }
                let data = serde_json::from_str(&text).context("an event's data is no JSON")?;
                return Ok(Some(Frame { event, data, text }));
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.event),
                "data" => {
                    if !self.data.is_empty() {
                        self.data.push('\n');
                    }
                    self.data.push_str(value);
                    if self.data.len() > SIZE_LIMIT {
                        return Err(too_large());
                    }
                }
                // Comments are signs of life; the sequence number stands in the data too.
                _ => {}
            }
        }
        Ok(None)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let Some(end) = self.pending[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.pending.len();
            return None;
        };
        let end = self.searched + end;
        let mut line: Vec<u8> = self.pending.drain(..=end).collect();
        self.searched = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(line)
    }
}

/// Asking again would bring the same.
fn too_large() -> anyhow::Error {
    let limit = SIZE_LIMIT >> 20;
    problem::gone(format!("an event of the stream is larger than {limit} MiB; is this a gateway?"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STREAM: &str = ": alive\n\nevent: fact\nid: 1\ndata: {\"seq\":1,\ndata: \"text\":\"读取\"}\n\n\
                          event: result\r\ndata: {}\r\n\r\nevent: cut";

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let expected = [("fact", json!({"seq": 1, "text": "读取"})), ("result", json!({}))];
        for size in 1..STREAM.len() {
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for piece in STREAM.as_bytes().chunks(size) {
                decoder.push(piece).unwrap();
                while let Some(frame) = decoder.frame().unwrap() {
                    found.push((frame.event, frame.data));
                }
            }
            let found: Vec<_> = found.iter().map(|(e, d)| (e.as_str(), d.clone())).collect();
            assert_eq!(found, expected, "pieces of {size} bytes");
        }
    }

    #[test]
    fn what_is_no_event_of_ours_is_an_error() {
        let mut decoder = Decoder::default();
        decoder.push(b"data: <html>\n\n").unwrap();
        assert!(decoder.frame().is_err());
        let mut decoder = Decoder::default();
        let error = decoder.push(&vec![b'x'; SIZE_LIMIT + 1]).unwrap_err();
        assert!(!problem::is_transient(&error), "the same would come again");
    }
}
