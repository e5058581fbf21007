//! Cuts what a provider sends into JSON chunks, whether it streams events or sends one document.

use serde_json::Value;

use super::super::sse::Decoder;

/// One thing that was sent.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// A chunk of a stream.
    Chunk(Value),
    /// A whole answer in one document.
    Document(Value),
    /// The end mark of a stream.
    Done,
    /// An event that is not JSON; its beginning.
    Garbage(String),
}

/// What came is not a reply at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Neither events nor JSON; its beginning.
    NotJson(String),
    /// A document that ends too early.
    CutShort,
    /// Larger than we take.
    TooLarge,
    /// Nothing at all.
    Empty,
}

/// How much of something unreadable is kept for the error.
const SAMPLE: usize = 120;

/// What is known about the form of the body.
#[derive(Debug)]
enum Form {
    /// Nothing but white space so far.
    Unknown,
    Events(Decoder),
    Document(Vec<u8>),
}

/// The body of one answer.
#[derive(Debug)]
pub(super) struct Wire {
    form: Form,
    limit: usize,
    /// The beginning, to say what it was if it is nothing.
    sample: Vec<u8>,
    has_parts: bool,
}

impl Wire {
    /// A body of which no single document or event may be larger than `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { form: Form::Unknown, limit, sample: Vec::new(), has_parts: false }
    }

    /// True until the first byte that says anything.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.form, Form::Unknown)
    }

    /// Takes bytes in and returns what they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Part>, Fault> {
        if self.sample.len() < SAMPLE {
            self.sample.extend(bytes.iter().take(SAMPLE - self.sample.len()));
        }
        if self.is_empty() {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(Vec::new());
            };
            self.form = match first {
                b'{' | b'[' => Form::Document(Vec::new()),
                _ => Form::Events(Decoder::new(self.limit)),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(Vec::new()),
            Form::Document(document) => {
                document.extend_from_slice(bytes);
                if document.len() > self.limit { Err(Fault::TooLarge) } else { Ok(Vec::new()) }
            }
            Form::Events(decoder) => {
                let mut events = Vec::new();
                decoder.feed(bytes, &mut events).map_err(|_| Fault::TooLarge)?;
                let parts: Vec<Part> = events.iter().filter_map(|data| part(data)).collect();
                self.has_parts |= !parts.is_empty();
                Ok(parts)
            }
        }
    }

    /// The body is over.
    pub(super) fn finish(&mut self) -> Result<Vec<Part>, Fault> {
        match &mut self.form {
            Form::Unknown => Err(Fault::Empty),
            Form::Document(document) => match serde_json::from_slice(document) {
                Ok(value) => Ok(vec![Part::Document(value)]),
                Err(error) if error.is_eof() => Err(Fault::CutShort),
                Err(_) => Err(Fault::NotJson(self.sample())),
            },
            Form::Events(decoder) => {
                // Half an event at the very end is what a cut leaves behind.
                let last = decoder.finish().and_then(|data| part(&data));
                let parts: Vec<Part> =
                    last.into_iter().filter(|part| !matches!(part, Part::Garbage(_))).collect();
                if parts.is_empty() && !self.has_parts {
                    return Err(Fault::NotJson(self.sample()));
                }
                Ok(parts)
            }
        }
    }

    fn sample(&self) -> String {
        String::from_utf8_lossy(&self.sample).trim().to_owned()
    }
}

fn part(data: &str) -> Option<Part> {
    let trimmed = data.trim();
    if trimmed.is_empty() {
        return None;
    }
    if trimmed == "[DONE]" {
        return Some(Part::Done);
    }
    match serde_json::from_str(trimmed) {
        Ok(value) => Some(Part::Chunk(value)),
        Err(_) => Some(Part::Garbage(trimmed.chars().take(SAMPLE).collect())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &[u8]) -> Result<Vec<Part>, Fault> {
        let mut wire = Wire::new(1_000);
        let mut parts = Vec::new();
        for byte in body {
            parts.extend(wire.feed(&[*byte])?);
        }
        parts.extend(wire.finish()?);
        Ok(parts)
    }

    #[test]
    fn events_and_documents_are_told_apart_by_their_first_byte() {
        let rows: &[(&str, Vec<Part>)] = &[
            ("data: {\"a\":1}\n\ndata: [DONE]\n\n", vec![Part::Chunk(json!({"a":1})), Part::Done]),
            ("\u{feff}data: {\"a\":1}\r\n\r\n", vec![Part::Chunk(json!({"a":1}))]),
            ("\n\n {\"a\":1}\n", vec![Part::Document(json!({"a":1}))]),
            ("data: {\"a\":1}", vec![Part::Chunk(json!({"a":1}))]),
            ("data: {\"a\":1}\n\ndata: {\"b", vec![Part::Chunk(json!({"a":1}))]),
            ("data: oops\n\ndata: [DONE]\n\n", vec![Part::Garbage("oops".into()), Part::Done]),
        ];
        for (body, expected) in rows {
            assert_eq!(read(body.as_bytes()).as_ref(), Ok(expected), "{body:?}");
        }
    }

    #[test]
    fn what_is_no_reply_is_named() {
        let rows = [
            ("<html>Bad Gateway</html>", Fault::NotJson("<html>Bad Gateway</html>".into())),
            ("{\"choices\":[{\"mess", Fault::CutShort),
            ("{nonsense}", Fault::NotJson("{nonsense}".into())),
            (" \n", Fault::Empty),
            ("", Fault::Empty),
            (": only a comment\n\n", Fault::NotJson(": only a comment".into())),
        ];
        for (body, expected) in rows {
            assert_eq!(read(body.as_bytes()), Err(expected), "{body:?}");
        }
        let large = format!("data: {}", "x".repeat(2_000));
        assert_eq!(read(large.as_bytes()), Err(Fault::TooLarge));
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(2_000));
        assert_eq!(read(large.as_bytes()), Err(Fault::TooLarge));
    }
}
