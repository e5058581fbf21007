//! What is kept of a command's output: the first and the last part of each stream, whatever it
//! writes and however fast; and how bytes become text.
//!
//! Left to others: what is said about it. Next: `answer.rs`.

use std::collections::VecDeque;
use std::fmt::Write as _;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes kept of the beginning of a stream, and of its end.
const KEPT: usize = 128 * 1024;

/// Bytes read at once.
const READ: usize = 16 * 1024;

/// One stream.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// Text of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text itself, where it was cut with a line that says so.
    pub(crate) shown: String,
    /// Bytes of the stream.
    pub(crate) total: u64,
    /// Whether it was cut.
    pub(crate) is_cut: bool,
    /// Whether bytes that are no UTF-8 are shown escaped.
    pub(crate) is_escaped: bool,
}

impl Kept {
    /// Reads a stream to its end; `heard` is told of every piece. An error ends it as well: what
    /// was read before stays.
    pub(crate) async fn read(
        &mut self,
        mut stream: impl AsyncRead + Unpin,
        mut heard: impl FnMut(&[u8]),
    ) {
        let mut buffer = vec![0; READ];
        while let Ok(length) = stream.read(&mut buffer).await {
            let piece = &buffer[..length];
            if piece.is_empty() {
                return;
            }
            self.push(piece);
            heard(piece);
        }
    }

    fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let room = KEPT - self.head.len();
        let (head, rest) = piece.split_at(room.min(piece.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
    }

    /// The text with at most about `limit` bytes of it: half from the beginning, half from the end.
    pub(crate) fn text(&self, limit: usize) -> Text {
        let half = limit / 2;
        let (front, back) = self.tail.as_slices();
        let kept = [&self.head, front, back].concat();
        let is_whole = self.total == kept.len() as u64;
        let mut is_escaped = false;
        if is_whole && kept.len() <= limit {
            let text = decode(&kept, &mut is_escaped);
            return Text { shown: text, total: self.total, is_cut: false, is_escaped };
        }
        let head = whole_end(&self.head[..half.min(self.head.len())]);
        let start = kept.len() - half.min(kept.len() - head.len());
        let tail = whole_start(&kept[start..]);
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let mut text = decode(head, &mut is_escaped);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let count = callboard_files::answer::count(left_out, "byte", "bytes");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[… {count} left out …]");
        text += &decode(tail, &mut is_escaped);
        Text { shown: text, total: self.total, is_cut: true, is_escaped }
    }
}

/// Bytes as text: what is no UTF-8 becomes `\xHH`.
fn decode(bytes: &[u8], is_escaped: &mut bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            *is_escaped = true;
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Without a character that was cut at the end.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let cut = (1..=3.min(bytes.len())).find(|back| {
        let lead = bytes[bytes.len() - back];
        let length = match lead {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 0,
        };
        length > *back
    });
    &bytes[..bytes.len() - cut.unwrap_or(0)]
}

/// Without the rest of a character that was cut at the start.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[&[u8]]) -> Kept {
        let mut kept = Kept::default();
        for piece in pieces {
            kept.push(piece);
        }
        kept
    }

    #[test]
    fn short_output_is_shown_as_it_is() {
        let text = kept(&[b"one\n", b"", b"two"]).text(100);
        assert_eq!(text.shown, "one\ntwo");
        assert_eq!((text.total, text.is_cut, text.is_escaped), (7, false, false));
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let lines: Vec<String> = (0..1000).map(|line| format!("line {line}\n")).collect();
        let text = kept(&[lines.concat().as_bytes()]).text(40);
        assert_eq!(
            text.shown,
            "line 0\nline 1\nline 2\n[… 8,850 bytes left out …]\n7\nline 998\nline 999\n"
        );
        assert!(text.is_cut);
    }

    #[test]
    fn memory_stays_bounded_and_what_was_lost_is_counted() {
        let piece = vec![b'x'; 100_000];
        let pieces: Vec<&[u8]> = (0..100).map(|_| &piece[..]).collect();
        let kept = kept(&pieces);
        assert_eq!((kept.head.len(), kept.tail.len(), kept.total), (KEPT, KEPT, 10_000_000));
        let text = kept.text(usize::MAX);
        assert!(text.shown.contains("[… 9,737,856 bytes left out …]"));
    }

    #[test]
    fn no_character_is_cut_in_half() {
        let text = "中".repeat(100_000);
        for limit in [20, 21, 22, 23, 24, 25] {
            let shown = kept(&[text.as_bytes()]).text(limit);
            assert!(!shown.is_escaped, "at {limit}: {}", shown.shown);
            assert!(shown.shown.starts_with('中') && shown.shown.ends_with('中'));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped_and_flagged() {
        let text = kept(&[b"caf\xe9 \xf0\x9f\x98\n"]).text(100);
        assert_eq!(text.shown, "caf\\xe9 \\xf0\\x9f\\x98\n");
        assert!(text.is_escaped);
    }
}
