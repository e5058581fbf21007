//! A window of lines out of a file of any size, in bounded memory: lines before it are skipped and
//! lines after it counted without being decoded. What the window is told as is in `read_file.rs`,
//! which is next.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    time::Duration,
};

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE};
use memchr::memchr_iter;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::encoding::{SAMPLE, TextKind, guess};

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes decoded at once: more would mostly be thrown away.
const DECODED: usize = 16 * 1024;
/// How long lines after the window are counted before their number is left open.
const COUNTING: Duration = Duration::from_millis(400);

/// Which part of a file is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// First line, from 1.
    pub(crate) line: u64,
    /// First character in that line, from 1.
    pub(crate) column: u64,
    /// Most lines.
    pub(crate) lines: u64,
    /// Most characters.
    pub(crate) characters: usize,
    /// Most bytes of UTF-8.
    pub(crate) bytes: usize,
}

/// Part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The text as it is in the file, its line ends kept.
    pub(crate) text: String,
    /// Number of its last line; one less than that of the first if there is no such line.
    pub(crate) last: u64,
    /// Where to go on, if the file goes on.
    pub(crate) next: Option<Next>,
    /// Lines of the whole file.
    pub(crate) total: Total,
    /// Whether bytes did not fit the encoding and are shown as U+FFFD.
    pub(crate) is_broken: bool,
}

/// Where a file goes on after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// With this line.
    Line(u64),
    /// With this character of the window's only line.
    Column(u64),
}

/// A number of lines: line ends, plus one if the last line has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Total {
    /// Counted to the end.
    Exactly(u64),
    /// Not counted to the end: that would have taken too long.
    MoreThan(u64),
}

/// Reads a window, and says how the text is written down: that may only show here.
///
/// # Errors
/// What reading says; `Interrupted` once `stop` has fired.
pub(crate) fn read(
    file: &mut File,
    kind: TextKind,
    wanted: Wanted,
    stop: &CancellationToken,
) -> io::Result<(Window, TextKind)> {
    let (window, start) = read_as(file, kind, wanted, stop)?;
    if !(window.is_broken && kind.is_open) {
        return Ok((window, kind));
    }
    // Only ASCII so far, and now bytes that are no UTF-8: these are what tells the encoding.
    file.seek(SeekFrom::Start(start))?;
    let mut sample = vec![0; SAMPLE];
    let length = Source { file, stop }.fill(&mut sample)?;
    let encoding = guess(&sample[..length], length < SAMPLE);
    let kind = TextKind { encoding, ..kind };
    Ok((read_as(file, kind, wanted, stop)?.0, kind))
}

/// Reads a window in one encoding, and says at which byte it starts.
fn read_as(
    file: &mut File,
    kind: TextKind,
    wanted: Wanted,
    stop: &CancellationToken,
) -> io::Result<(Window, u64)> {
    let mut at = u64::from(kind.mark);
    file.seek(SeekFrom::Start(at))?;
    let mut source = Source { file, stop };
    let ends = LineEnds::of(kind);
    let mut chunk = vec![0; CHUNK];
    let mut decoder = kind.encoding.new_decoder_without_bom_handling();
    let mut lines = Lines::default();
    let mut collected = Collected::new(wanted);
    loop {
        let length = source.fill(&mut chunk)?;
        let mut rest = &chunk[..length];
        let to_skip = (wanted.line - 1).saturating_sub(lines.ends);
        if to_skip > 0 {
            let (_, after) = ends.skip(rest, to_skip);
            lines.add(&rest[..after], ends);
            at += after as u64;
            rest = &rest[after..];
        }
        lines.add(rest, ends);
        for part in rest.chunks(DECODED) {
            collected.decode(&mut decoder, part, false);
        }
        let is_last = length < CHUNK;
        if is_last {
            collected.decode(&mut decoder, b"", true);
        }
        if is_last || collected.is_over {
            let total = if is_last { lines.total() } else { source.count(ends, lines, chunk)? };
            return Ok((collected.into_window(total), at));
        }
    }
}

/// The bytes of a file, in pieces, until the call is stopped.
struct Source<'a> {
    file: &'a mut File,
    stop: &'a CancellationToken,
}

impl Source<'_> {
    /// Fills the buffer; less comes only at the end of the file.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while length < buffer.len() {
            if self.stop.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match self.file.read(&mut buffer[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }

    /// Counts on from here to the end of the file, if that is soon.
    fn count(&mut self, ends: LineEnds, mut lines: Lines, mut chunk: Vec<u8>) -> io::Result<Total> {
        let started = Instant::now();
        loop {
            let length = self.fill(&mut chunk)?;
            lines.add(&chunk[..length], ends);
            if length < chunk.len() {
                return Ok(lines.total());
            }
            if started.elapsed() > COUNTING {
                return Ok(Total::MoreThan(lines.ends));
            }
        }
    }
}

/// What ends a line: `\n`, in code units of one or two bytes. No other byte of the encodings that
/// are guessed has the value of `\n`, so lines can be counted without decoding.
#[derive(Clone, Copy)]
enum LineEnds {
    Single,
    Little,
    Big,
}

impl LineEnds {
    fn of(kind: TextKind) -> Self {
        if kind.encoding == UTF_16LE {
            Self::Little
        } else if kind.encoding == UTF_16BE {
            Self::Big
        } else {
            Self::Single
        }
    }

    /// How many line ends there are, and the index after the `most`-th of them (or the length, if
    /// there are fewer).
    fn skip(self, bytes: &[u8], most: u64) -> (u64, usize) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let pair = match self {
            Self::Single => {
                let last = most.checked_sub(1).and_then(|n| memchr_iter(b'\n', bytes).nth(n));
                return match last {
                    Some(at) => (most as u64, at + 1),
                    None => (memchr_iter(b'\n', bytes).count() as u64, bytes.len()),
                };
            }
            Self::Little => *b"\n\0",
            Self::Big => *b"\0\n",
        };
        let mut found = 0;
        for (index, unit) in bytes.chunks(2).enumerate() {
            if unit == pair {
                found += 1;
                if found == most {
                    return (found as u64, index * 2 + 2);
                }
            }
        }
        (found as u64, bytes.len())
    }
}

/// Lines seen so far.
#[derive(Clone, Copy, Default)]
struct Lines {
    ends: u64,
    /// Whether there is anything after the last line end.
    is_open: bool,
}

impl Lines {
    fn add(&mut self, bytes: &[u8], ends: LineEnds) {
        let (found, _) = ends.skip(bytes, u64::MAX);
        self.ends += found;
        if !bytes.is_empty() {
            let tail = &bytes[bytes.len().saturating_sub(2)..];
            self.is_open = match ends {
                LineEnds::Single => !tail.ends_with(b"\n"),
                LineEnds::Little => tail != b"\n\0",
                LineEnds::Big => tail != b"\0\n",
            };
        }
    }

    fn total(self) -> Total {
        Total::Exactly(self.ends + u64::from(self.is_open))
    }
}

/// The text of a window while it is being decoded.
struct Collected {
    text: String,
    piece: String,
    characters: usize,
    line_ends: u64,
    /// Characters of the first line still to leave out.
    to_leave: u64,
    limits: Wanted,
    /// The file goes on after the text.
    is_over: bool,
    is_broken: bool,
}

impl Collected {
    fn new(wanted: Wanted) -> Self {
        Self {
            text: String::new(),
            piece: String::new(),
            characters: 0,
            line_ends: 0,
            to_leave: wanted.column - 1,
            limits: wanted,
            is_over: false,
            is_broken: false,
        }
    }

    fn decode(&mut self, decoder: &mut Decoder, bytes: &[u8], is_last: bool) {
        if self.is_over {
            return;
        }
        let mut piece = std::mem::take(&mut self.piece);
        piece.clear();
        // Three bytes of UTF-8 for each byte and a few for what was pending: always enough.
        piece.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 3 + 16));
        let (_, _, is_broken) = decoder.decode_to_string(bytes, &mut piece, is_last);
        for character in piece.chars() {
            if self.to_leave > 0 && character != '\n' {
                self.to_leave -= 1;
                continue;
            }
            self.to_leave = 0;
            if self.line_ends == self.limits.lines
                || self.characters == self.limits.characters
                || self.text.len() + character.len_utf8() > self.limits.bytes
            {
                self.is_over = true;
                break;
            }
            self.text.push(character);
            self.characters += 1;
            self.line_ends += u64::from(character == '\n');
        }
        self.is_broken |= is_broken;
        self.piece = piece;
    }

    fn into_window(mut self, total: Total) -> Window {
        let Wanted { line, column, .. } = self.limits;
        let next = if !self.is_over {
            None
        } else if let Some(end) = self.text.rfind('\n') {
            // Only whole lines, as long as there is one.
            self.text.truncate(end + 1);
            Some(Next::Line(line + self.line_ends))
        } else {
            Some(Next::Column(column + self.characters as u64))
        };
        let open = u64::from(!self.text.is_empty() && !self.text.ends_with('\n'));
        let last = line - 1 + self.line_ends + open;
        Window { text: self.text, last, next, total, is_broken: self.is_broken }
    }
}

#[cfg(test)]
mod tests;
