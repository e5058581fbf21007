//! Searches one open file, in bounded memory and until the call ends. What is kept of it is in
//! `hits.rs`, next; whether it may be searched was decided before.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use callboard_files::{
    encoding::{SAMPLE, label},
    shown,
};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Encoding, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use tokio_util::sync::CancellationToken;

use crate::hits::{FileHits, Line};

/// Longest line that is searched, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;
/// Most bytes of a line that are shown.
const SHOWN: usize = 300;
/// How much of them comes before the match.
const BEFORE: usize = 100;

/// Searches file after file.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    matcher: &'a RegexMatcher,
    builder: SearcherBuilder,
    searcher: Searcher,
    /// Whether what is searched for looks different in other encodings.
    is_wide: bool,
    limit: u64,
    stop: &'a CancellationToken,
}

/// What one file holds.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) hits: FileHits,
    /// Whether the file is binary, so that it was not searched to its end.
    pub(crate) is_binary: bool,
}

impl<'a> Scanner<'a> {
    /// A scanner for a pattern that keeps `limit` matches of a file, each with `context` lines
    /// before and after it.
    pub(crate) fn new(
        matcher: &'a RegexMatcher,
        is_wide: bool,
        context: usize,
        limit: u64,
        stop: &'a CancellationToken,
    ) -> Self {
        let mut builder = SearcherBuilder::new();
        builder
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST))
            .binary_detection(BinaryDetection::quit(0));
        let searcher = builder.build();
        Self { matcher, builder, searcher, is_wide, limit, stop }
    }

    /// Searches one file.
    ///
    /// # Errors
    /// It cannot be read, has a line that is too long, or the call was stopped.
    pub(crate) fn scan(&mut self, mut file: File) -> io::Result<Scanned> {
        let encoding = if self.is_wide { encoding(&mut file)? } else { None };
        let mut sink = Collect {
            matcher: self.matcher,
            limit: self.limit,
            trailing: 0,
            found: Scanned::default(),
        };
        let reader = Stoppable { file, stop: self.stop };
        if encoding.is_some() {
            let mut searcher = self.builder.clone().encoding(encoding).build();
            searcher.search_reader(self.matcher, reader, &mut sink)?;
        } else {
            self.searcher.search_reader(self.matcher, reader, &mut sink)?;
        }
        Ok(sink.found)
    }
}

/// The encoding of a file, if it is another one than UTF-8. `file` is at its start afterwards.
fn encoding(file: &mut File) -> io::Result<Option<Encoding>> {
    let mut sample = Vec::new();
    file.take(SAMPLE as u64).read_to_end(&mut sample)?;
    file.seek(SeekFrom::Start(0))?;
    let label = label(&sample, sample.len() < SAMPLE);
    // Marked UTF-16 is recognised by the searcher itself; a label it does not know is no loss.
    Ok(label.and_then(|label| Encoding::new(label).ok()))
}

/// A file that ends when the call does.
struct Stoppable<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the call was stopped"));
        }
        self.file.read(buffer)
    }
}

/// Takes in the lines of one file.
struct Collect<'a> {
    matcher: &'a RegexMatcher,
    limit: u64,
    /// Lines after the last match that is kept which are still wanted.
    trailing: usize,
    found: Scanned,
}

impl Collect<'_> {
    fn keep(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let start = if is_match {
            // A match in a line that was found cannot fail to be found again.
            self.matcher.find(text).ok().flatten().map_or(0, |found| found.start())
        } else {
            0
        };
        let line = Line { number: number.unwrap_or(0), text: excerpt(text, start), is_match };
        self.found.hits.lines.push(line);
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.hits.matches += 1;
        if self.found.hits.matches <= self.limit {
            self.trailing = searcher.after_context();
            self.keep(found.line_number(), found.bytes(), true);
        } else {
            self.trailing = 0;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let is_before = self.found.hits.matches < self.limit;
        if is_before || self.trailing > 0 {
            self.trailing = self.trailing.saturating_sub(1);
            self.keep(context.line_number(), context.bytes(), false);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.found.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.found.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// The part of a line around `start` that is shown, cut between characters.
fn excerpt(text: &[u8], start: usize) -> String {
    if text.len() <= SHOWN {
        return shown::line(text);
    }
    let from = boundary(text, start.saturating_sub(BEFORE).min(text.len() - SHOWN));
    let to = boundary(text, from + SHOWN);
    let before = if from > 0 { "…" } else { "" };
    let after = if to < text.len() { "…" } else { "" };
    format!("{before}{}{after}", shown::line(&text[from..to]))
}

/// The last index up to `at` where a character of UTF-8 starts; in other bytes, one close by.
fn boundary(text: &[u8], at: usize) -> usize {
    let at = at.min(text.len());
    let back = (0..4.min(at + 1)).find(|back| text.get(at - back).is_none_or(|b| b & 0xc0 != 0x80));
    at - back.unwrap_or(0)
}

#[cfg(test)]
mod tests;
