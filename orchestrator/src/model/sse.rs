//! Server-sent events out of bytes that arrive cut anywhere
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>).
//!
//! Only the `data` of an event matters here; its name and id are dropped. The decoder works on
//! bytes, so a cut inside a character or between CR and LF changes nothing.

/// An event that is larger than the decoder may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Splits a stream into the data of its events.
#[derive(Debug)]
pub(super) struct Decoder {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    is_first_line: bool,
    limit: usize,
}

impl Decoder {
    /// A decoder that holds at most `limit` bytes of an unfinished event.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            is_first_line: true,
            limit,
        }
    }

    /// Takes bytes in and adds the data of every event that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if rest[0] == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(events);
        }
        if self.line.len() + self.data.len() > self.limit { Err(TooLarge) } else { Ok(()) }
    }

    /// What the stream ended with and no empty line followed.
    pub(super) fn finish(&mut self) -> Option<String> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events);
        }
        self.dispatch(&mut events);
        events.pop()
    }

    fn end_line(&mut self, events: &mut Vec<String>) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.dispatch(events);
        } else if let Some(value) = data_of(&line) {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
        }
    }

    fn dispatch(&mut self, events: &mut Vec<String>) {
        if std::mem::take(&mut self.has_data) {
            let data = std::mem::take(&mut self.data);
            events.push(String::from_utf8_lossy(&data).into_owned());
        }
    }
}

/// The value of a `data` line; `None` for comments and all other fields.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(reads: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::new(1 << 20);
        let mut events = Vec::new();
        for read in reads {
            decoder.feed(read, &mut events).unwrap();
        }
        events.extend(decoder.finish());
        events
    }

    #[test]
    fn line_ends_comments_and_fields_of_every_kind_are_understood() {
        let rows: &[(&str, &[&str])] = &[
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("\u{feff}data: a\n\n", &["a"]),
            (": keep-alive\n\ndata:a\n\n", &["a"]),
            ("event: x\nid: 7\nretry: 10\ndata: a\n\n", &["a"]),
            ("data: one\ndata: two\n\n", &["one\ntwo"]),
            ("data:  two spaces\n\n", &[" two spaces"]),
            ("data\n\n", &[""]),
            ("database: no\n\n", &[]),
            ("\n\n\n", &[]),
            ("data: last without an end", &["last without an end"]),
            ("data: 价格 😀\n\n", &["价格 😀"]),
        ];
        for (body, expected) in rows {
            assert_eq!(decode(&[body.as_bytes()]), *expected, "{body:?}");
        }
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let body =
            "\u{feff}: hi\r\ndata: 价格 😀\r\n\r\ndata: a\ndata: b\n\ndata: c\r\rdata: [DONE]\n\n";
        let whole = decode(&[body.as_bytes()]);
        assert_eq!(whole, ["价格 😀", "a\nb", "c", "[DONE]"]);
        for cut in 0..=body.len() {
            let (head, tail) = body.as_bytes().split_at(cut);
            assert_eq!(decode(&[head, tail]), whole, "cut at {cut}");
        }
        let single: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
        assert_eq!(decode(&single), whole);
    }

    #[test]
    fn an_event_without_end_is_refused_at_the_limit() {
        let mut decoder = Decoder::new(100);
        let mut events = Vec::new();
        let endless = [b'x'; 64];
        assert_eq!(decoder.feed(&endless, &mut events), Ok(()));
        assert_eq!(decoder.feed(&endless, &mut events), Err(TooLarge));
    }
}
