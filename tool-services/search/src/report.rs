//! How a search is told: one status line, the files that match, then the lines, as much as fits
//! into one answer.

use callboard_files::{
    answer::{count, remark, shown_of},
    relative::RelativePath,
    shown::line,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    hits::{Hits, Line, Tally},
    pattern::looks_like_regex,
};

/// Most bytes of one answer: more would be cut on the way.
const MAX_BYTES: usize = 60 * 1024;
/// Most files that are named in the second line.
const NAMED: usize = 40;
/// Most files that programs are told of.
const LISTED: usize = 1_000;
/// Most bytes of the pattern in the status line.
const PATTERN: usize = 100;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) pattern: &'a str,
    pub(crate) is_regex: bool,
    pub(crate) glob: Option<&'a str>,
    /// Where it was searched.
    pub(crate) path: RelativePath,
    /// Whether that is a folder.
    pub(crate) is_folder: bool,
    pub(crate) limit: u64,
}

/// A search for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Where it was searched, from the workspace, links resolved; `.` is the workspace itself.
    path: String,
    /// Lines that match, in all files.
    total_matches: u64,
    /// Files that have one.
    total_files: u64,
    /// Files that were searched.
    searched_files: u64,
    /// Sensitive files that were not searched.
    hidden: u64,
    /// Binary files, which were not searched to their end.
    binary_files: u64,
    /// Files that could not be read, or have lines too long to be searched.
    failed_files: u64,
    /// Folders that could not be read.
    unreadable_folders: u64,
    /// Files that match, by path; at most 1,000.
    files: Vec<FileCount>,
    /// The first lines that match and the lines beside them, by path and number.
    lines: Vec<Found>,
}

/// A file that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct FileCount {
    /// Its path from the workspace.
    path: String,
    /// How many of its lines match.
    matches: u64,
}

/// A line of a file.
#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// Path of the file from the workspace.
    path: String,
    /// Number of the line, from 1.
    line: u64,
    /// The line, around the match where it is too long.
    text: String,
    /// Whether the line matches; false for one beside it.
    is_match: bool,
}

/// The text of an answer, and the same for programs.
pub(crate) fn report(
    question: &Question<'_>,
    hits: &Hits,
    unreadable_folders: u64,
) -> (String, Answer) {
    let mut lines = Lines::default();
    for (path, file) in &hits.files {
        lines.add(&path.to_string(), &file.lines, question.limit);
    }
    let Tally { searched, hidden, binary, failed } = hits.tally;
    let files = hits.files.iter().take(LISTED);
    let answer = Answer {
        path: question.path.to_string(),
        total_matches: hits.matches(),
        total_files: hits.files.len() as u64,
        searched_files: searched,
        hidden,
        binary_files: binary,
        failed_files: failed,
        unreadable_folders,
        files: files
            .map(|(path, file)| FileCount { path: path.to_string(), matches: file.matches })
            .collect(),
        lines: lines.found,
    };
    let status = status(question, &answer, lines.shown);
    (format!("{status}{}{}", named(&answer), lines.text), answer)
}

/// Lines of an answer while they are gathered.
#[derive(Default)]
struct Lines {
    text: String,
    found: Vec<Found>,
    /// Matches among them.
    shown: u64,
    is_full: bool,
}

impl Lines {
    fn add(&mut self, path: &str, lines: &[Line], limit: u64) {
        let has_context = lines.iter().any(|line| !line.is_match);
        let mut last = None;
        for line in lines {
            self.is_full |= line.is_match && self.shown == limit;
            let sign = if line.is_match { ':' } else { '-' };
            let row = format!("\n{path}{sign}{}{sign} {}", line.number, line.text);
            self.is_full |= self.text.len() + row.len() > MAX_BYTES;
            if self.is_full {
                return;
            }
            // Lines that do not follow one another are set apart, as grep does it.
            let follows = last.is_some_and(|last| last + 1 == line.number);
            if has_context && !follows && !self.text.is_empty() {
                self.text.push_str("\n--");
            }
            self.text.push_str(&row);
            self.shown += u64::from(line.is_match);
            last = Some(line.number);
            self.found.push(Found {
                path: path.to_owned(),
                line: line.number,
                text: line.text.clone(),
                is_match: line.is_match,
            });
        }
    }
}

fn status(question: &Question<'_>, answer: &Answer, shown: u64) -> String {
    let head = &question.pattern[..question.pattern.floor_char_boundary(PATTERN)];
    let cut = if head.len() < question.pattern.len() { "…" } else { "" };
    let mark = if question.is_regex { '/' } else { '"' };
    let pattern = format!("{mark}{}{cut}{mark}", line(head.as_bytes()));
    let matches = count(answer.total_matches, "match", "matches");
    let files = count(answer.total_files, "file", "files");
    let like =
        question.glob.map_or(String::new(), |glob| format!(" matching {}", line(glob.as_bytes())));
    let place = match (&question.path, question.is_folder) {
        (path, false) => format!("in {path}"),
        (path, true) if path.is_root() => "in the workspace".to_owned(),
        (path, true) => format!("under {path}"),
    };
    let place = match (answer.total_matches, question.is_folder) {
        (_, false) => format!(" {place}"),
        (0, true) => {
            let searched = count(answer.searched_files, "file was", "files were");
            format!(" {place}; {searched} searched")
        }
        (_, true) => format!(" in {files}{like} {place}"),
    };
    let some = shown_of(shown, answer.total_matches);
    format!("Found {matches} for {pattern}{place}{some}.{}", remarks(question, answer))
}

/// What else a reader has to know.
fn remarks(question: &Question<'_>, answer: &Answer) -> String {
    let nothing = answer.total_matches == 0;
    let hidden = remark(
        answer.hidden,
        "sensitive file was not searched",
        "sensitive files were not searched",
    );
    // Binary files are everywhere; they matter where nothing else is found.
    let binary = if nothing { answer.binary_files } else { 0 };
    let binary = remark(
        binary,
        "binary file was not searched to its end",
        "binary files were not searched to their end",
    );
    let failed = remark(
        answer.failed_files,
        "file could not be searched to its end",
        "files could not be searched to their end",
    );
    let unread =
        remark(answer.unreadable_folders, "folder could not be read", "folders could not be read");
    let hint = if nothing && !question.is_regex && looks_like_regex(question.pattern) {
        " The pattern was taken as plain text; with \"regex\": true it is a regular expression."
    } else {
        ""
    };
    [hidden.as_str(), &binary, &failed, &unread, hint].concat()
}

/// The files that match, in one line; nothing for a single one.
fn named(answer: &Answer) -> String {
    if answer.total_files < 2 {
        return String::new();
    }
    let mut names: Vec<_> = answer
        .files
        .iter()
        .take(NAMED)
        .map(|file| format!("{} ({})", file.path, file.matches))
        .collect();
    let more = answer.total_files - names.len() as u64;
    if more > 0 {
        names.push(format!("and {}", count(more, "more file", "more files")));
    }
    format!("\nFiles: {}", names.join(", "))
}
