//! Looks through SQLite's write-ahead log before SQLite does. Where a frame is broken, SQLite takes
//! the log to end there: right for a write that a power cut tore, wrong for a byte that was flipped
//! in what had been acknowledged long before. The format: <https://sqlite.org/fileformat2.html#walformat>.
//!
//! Left to others: reading what the log says. Next: `row`.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Both end in a bit that says how checksums are reckoned: little or big endian.
const MAGIC: u32 = 0x377f_0682;

/// What the log is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// All of it can be used, but for the last write, which nobody was told of.
    Whole,
    /// A frame, counted from 1, is broken although later ones were written after it was safe.
    Damaged { frame: u64 },
}

/// Looks at the log at `path`; one that is not there is whole.
pub(super) fn inspect(path: &Path) -> io::Result<Log> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Log::Whole),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut header = [0; HEADER];
    if !fill(&mut reader, &mut header)? {
        return Ok(Log::Whole);
    }
    let Some(start) = Start::parse(&header) else {
        // The header is safe before the first frame is written.
        let mut frame = [0; FRAME_HEADER];
        let is_used = fill(&mut reader, &mut frame)?;
        return Ok(if is_used { Log::Damaged { frame: 1 } } else { Log::Whole });
    };
    follow(&mut reader, &start)
}

fn follow(reader: &mut impl Read, start: &Start) -> io::Result<Log> {
    let mut sum = start.sum;
    let mut frame = vec![0; FRAME_HEADER + start.page];
    let mut number = 0;
    // The first broken frame, and whether a commit came at or after it.
    let mut broken = None;
    let mut is_committed = false;
    while fill(reader, &mut frame)? {
        number += 1;
        // Each half tells the frames of this log from those of an older one that it overwrites,
        // even where a byte of the other was flipped.
        let (first, second) = (frame.get(8..12), frame.get(12..16));
        let is_whole = (first, second) == (start.salts.get(..4), start.salts.get(4..));
        let is_current = first == start.salts.get(..4) || second == start.salts.get(4..);
        if broken.is_none() {
            let (head, rest) = frame.split_at(FRAME_HEADER);
            let next = sum.over(head.get(..8).unwrap_or(&[])).over(rest);
            if is_whole && head.get(16..24) == Some(&next.bytes()[..]) {
                sum = next;
                continue;
            }
            broken = Some(number);
        } else if is_current && is_committed {
            // A commit is safe before the next write begins: the broken frame was, too.
            return Ok(Log::Damaged { frame: broken.unwrap_or(number) });
        }
        is_committed |= is_current && frame.get(4..8) != Some(&[0; 4]);
    }
    Ok(Log::Whole)
}

/// What the log's header says.
struct Start {
    page: usize,
    salts: [u8; 8],
    sum: Sum,
}

impl Start {
    fn parse(header: &[u8; HEADER]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let is_big = match word(0)? {
            MAGIC => false,
            magic if magic == MAGIC + 1 => true,
            _ => return None,
        };
        let page = usize::try_from(word(8)?).ok()?;
        let sum = Sum { first: 0, second: 0, is_big }.over(header.get(..24)?);
        let is_sound = page.is_power_of_two() && (512..=65_536).contains(&page);
        let salts = header.get(16..24)?.try_into().ok()?;
        (is_sound && header.get(24..) == Some(&sum.bytes()[..])).then_some(Self {
            page,
            salts,
            sum,
        })
    }
}

/// The log's running checksum.
#[derive(Clone, Copy)]
struct Sum {
    first: u32,
    second: u32,
    is_big: bool,
}

impl Sum {
    fn over(mut self, bytes: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        for pair in bytes.chunks_exact(8) {
            let (left, right) = pair.split_at(4);
            self.first = self.first.wrapping_add(word(left)).wrapping_add(self.second);
            self.second = self.second.wrapping_add(word(right)).wrapping_add(self.first);
        }
        self
    }

    fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.first.to_be_bytes());
        bytes[4..].copy_from_slice(&self.second.to_be_bytes());
        bytes
    }
}

/// Fills the whole of `bytes`; false at the end, also of half a frame.
fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::{FRAME_HEADER, HEADER, Log, inspect};

    /// A log of several commits, as a process leaves it that was killed, and where the last one
    /// begins.
    fn written(commits: usize) -> (TempDir, PathBuf, usize) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)",
            )
            .unwrap();
        for _ in 0..commits {
            connection.execute("INSERT INTO t VALUES (randomblob(3000))", []).unwrap();
        }
        let log = folder.path().join("left");
        std::fs::copy(folder.path().join("db-wal"), &log).unwrap();
        let bytes = std::fs::read(&log).unwrap();
        let starts = (HEADER..bytes.len()).step_by(FRAME_HEADER + 4096);
        let ends: Vec<_> = starts
            .filter(|start| bytes[start + 4..start + 8] != [0; 4])
            .map(|start| start + FRAME_HEADER + 4096)
            .collect();
        assert_eq!((ends.len(), ends[commits]), (commits + 1, bytes.len()));
        (folder, log, ends[commits - 1])
    }

    #[test]
    fn a_log_that_is_not_there_or_empty_or_complete_is_whole() {
        let (folder, log, _) = written(5);
        assert_eq!(inspect(&log).unwrap(), Log::Whole);
        assert_eq!(inspect(&folder.path().join("none")).unwrap(), Log::Whole);
        std::fs::write(&log, b"").unwrap();
        assert_eq!(inspect(&log).unwrap(), Log::Whole);
    }

    #[test]
    fn a_byte_flipped_in_what_was_acknowledged_is_found() {
        let (_folder, log, last) = written(6);
        let whole = std::fs::read(&log).unwrap();
        for offset in (0..last).step_by(61) {
            let mut bytes = whole.clone();
            bytes[offset] ^= 0x80;
            std::fs::write(&log, bytes).unwrap();
            assert!(matches!(inspect(&log).unwrap(), Log::Damaged { .. }), "at {offset}");
        }
    }

    #[test]
    fn a_torn_last_write_is_no_damage() {
        let (_folder, log, last) = written(6);
        let whole = std::fs::read(&log).unwrap();
        for length in [last + 1, last + FRAME_HEADER, last + 4000, last] {
            std::fs::write(&log, &whole[..length]).unwrap();
            assert_eq!(inspect(&log).unwrap(), Log::Whole, "cut at {length}");
        }
        let mut bytes = whole;
        bytes[last + 100] ^= 1;
        std::fs::write(&log, bytes).unwrap();
        assert_eq!(inspect(&log).unwrap(), Log::Whole);
    }
}
