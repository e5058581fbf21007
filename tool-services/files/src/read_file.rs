//! `read_file`: a text file, by lines. What may be read is decided in `workspace.rs`, where the
//! lines come from in `window.rs`; here is what the tool is for and how its answer is worded.

use std::{fs::File, io, io::Read, num::NonZero};

use callboard_tool::{About, Call, Effect, Example, Failure, Output, Tool, Verdict};
use encoding_rs::UTF_8;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{count, json, number},
    encoding::{Content, SAMPLE, TextKind, judge},
    window::{self, Next, Total, Wanted, Window},
    workspace::{Readable, Walls, within},
};

/// Characters of an answer, status line included, if nobody asks for a number of lines.
const CHARACTERS: u16 = 16_000;
/// Most bytes of any answer, status line included: more would be cut on the way.
const BYTES: usize = 64 * 1024;
/// Room for the status line, in characters and in bytes. A path may take all of it and more.
const STATUS: usize = 400;

/// Reads a text file.
#[derive(Debug)]
pub(crate) struct ReadFile;

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path of the file, relative to the workspace, such as `notes/a.md`.
    path: String,
    /// Number of the first line to read, from 1. Default: the first line of the file.
    offset: Option<NonZero<u64>>,
    /// Most lines to read. Default: as many as fit into 16,000 characters.
    limit: Option<NonZero<u64>>,
    /// Number of the first character to read in the first line, from 1: only to go on in a line
    /// that was too long for one answer.
    column: Option<NonZero<u64>>,
}

/// The same for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Path of the file from the workspace, links resolved.
    path: String,
    /// Size of the file in bytes.
    size: u64,
    /// Last modified, ISO 8601 in UTC.
    modified: String,
    /// The text, as it is in the file, without a byte order mark; empty for a binary file.
    text: String,
    /// Name of the encoding that the text was decoded from, or what kind of binary file it is.
    encoding: String,
    /// Whether the file is binary, so that it has no text.
    binary: bool,
    /// Whether `text` is the whole file.
    complete: bool,
    /// Characters in `text`.
    characters: u64,
    /// Lines of the whole file: line ends, plus one if the last line has none; absent if they were
    /// too many to count.
    lines: Option<u64>,
    /// Number of the first line of `text`.
    first_line: u64,
    /// Number of the last line of `text`; less than `first_line` if there is none.
    last_line: u64,
    /// The `offset` to go on with, if the file goes on after `text`.
    next_offset: Option<u64>,
    /// The `column` to go on with, if `text` ends inside a line.
    next_column: Option<u64>,
}

impl Tool for ReadFile {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "read_file",
            "Reads a text file of the workspace: what it says, its section headings, how many \
             lines it has. The first line of the answer is a status: how much was read, how many \
             lines there are, and how to go on in a long file. The text follows as it is.",
            "Listing the files of a folder (list_dir), finding a file whose path is not known \
             (find_files), finding which files mention a word (search_text).",
            Example::new("What does notes/a.md say?", r#"{"path":"notes/a.md"}"#),
        )
        .words(
            "read, open, show, print, cat a file; contents of a file; section headings, titles, \
             outline of a document; count the lines, how many lines; summarise a file; first or \
             next lines. 读取, 打开, 查看, 显示文件, 文件内容, 读一下, 有多少行, 行数, 标题, \
             章节, 总结文件",
        )
        .example(Example::new(
            "What are the section headings of README.md?",
            r#"{"path":"README.md"}"#,
        ))
        .example(Example::new("How many lines does src/main.rs have?", r#"{"path":"src/main.rs"}"#))
        .example(Example::new(
            "读取 CHANGELOG.md 并告诉我一共有多少行",
            r#"{"path":"CHANGELOG.md"}"#,
        ))
        .example(Example::new(
            "Show me lines 201 to 250 of server.log",
            r#"{"path":"server.log","offset":201,"limit":50}"#,
        ))
        .effects(&[Effect::Read])
        .result_chars(u32::from(CHARACTERS))
        .read_only()
        .asks()
        .output::<Answer>()
    }

    async fn preflight(&self, args: &Args, call: &Call) -> Verdict {
        let path = args.path.clone();
        Walls::verdict(within(call, move |walls| walls.read(&path).map(drop)).await)
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        within(call, move |walls| {
            let file = walls.read(&args.path)?;
            let (status, answer) = answer(file, &args, walls.stop())?;
            let content = format!("{status}\n{}", answer.text);
            Ok(Output::text(content).structured(json(&answer)?))
        })
        .await
    }
}

/// Reads what was asked for, and words the status line.
fn answer(
    file: Readable,
    args: &Args,
    stop: &CancellationToken,
) -> Result<(String, Answer), Failure> {
    let Readable { path, mut open } = file;
    let (size, modified) = (open.meta.size, open.meta.modified.to_string());
    let first = args.offset.map_or(1, NonZero::get);
    let mut answer = Answer {
        path: path.to_string(),
        size,
        modified,
        text: String::new(),
        encoding: String::new(),
        binary: false,
        complete: false,
        characters: 0,
        lines: None,
        first_line: first,
        last_line: first - 1,
        next_offset: None,
        next_column: None,
    };
    let broken = |error: io::Error| unreadable(&path.to_string(), &error);
    let kind = match content(&mut open.file).map_err(broken)? {
        Content::Text(kind) => kind,
        Content::Binary(name) => {
            name.clone_into(&mut answer.encoding);
            answer.binary = true;
            let size = count(size, "byte", "bytes");
            let status = format!("Read {path}: {name}, {size}; it is binary, so no text is shown.");
            return Ok((status, answer));
        }
    };
    // The status line names the path, so a long path leaves less room for the text.
    let room = STATUS + answer.path.len();
    let wanted = Wanted {
        line: first,
        column: args.column.map_or(1, NonZero::get),
        lines: args.limit.map_or(u64::MAX, NonZero::get),
        characters: if args.limit.is_some() {
            BYTES
        } else {
            usize::from(CHARACTERS).saturating_sub(room).max(1)
        },
        bytes: BYTES.saturating_sub(room).max(4),
    };
    let (window, kind) = window::read(&mut open.file, kind, wanted, stop).map_err(broken)?;
    let status = format!("Read {path}: {}{}", extent(&window, wanted), remarks(&window, kind));
    kind.encoding.name().clone_into(&mut answer.encoding);
    answer.complete = window.next.is_none() && wanted.line == 1 && wanted.column == 1;
    answer.characters = window.text.chars().count() as u64;
    answer.lines = match window.total {
        Total::Exactly(lines) => Some(lines),
        Total::MoreThan(_) => None,
    };
    answer.last_line = window.last;
    (answer.next_offset, answer.next_column) = match window.next {
        None => (None, None),
        Some(Next::Line(line)) => (Some(line), None),
        Some(Next::Column(column)) => (Some(first), Some(column)),
    };
    answer.text = window.text;
    Ok((status, answer))
}

/// What kind of content a file has, by its first bytes.
fn content(file: &mut File) -> io::Result<Content> {
    let mut sample = Vec::with_capacity(SAMPLE);
    file.take(SAMPLE as u64).read_to_end(&mut sample)?;
    Ok(judge(&sample, sample.len() < SAMPLE))
}

/// How much of the file was read, and how to go on.
fn extent(window: &Window, wanted: Wanted) -> String {
    let Wanted { line, column, .. } = wanted;
    let total = match window.total {
        Total::Exactly(total) => number(total),
        Total::MoreThan(least) => format!("more than {}", number(least)),
    };
    if window.text.is_empty() && (line > 1 || column > 1) {
        return if window.total == Total::Exactly(line - 1) || column == 1 {
            format!("nothing, because it ends before line {}; it has {total} lines.", number(line))
        } else {
            format!("nothing, because line {line} has fewer than {} characters.", number(column))
        };
    }
    let lines = if line == window.last {
        format!("line {}", number(line))
    } else {
        format!("lines {}–{}", number(line), number(window.last))
    };
    let from = if column > 1 { format!(", from column {column}") } else { String::new() };
    match window.next {
        Some(Next::Line(next)) => format!(
            "{lines} of {total}{from}; go on with offset {next}; do not read again from the start."
        ),
        Some(Next::Column(next)) => {
            // Nothing is said that could be taken for the same call again.
            let offset = if line == 1 { String::new() } else { format!("offset {line} and ") };
            format!(
                "{lines} of {total}, characters {}–{} of it; the line is too long for one answer; \
                 go on with {offset}column {next}; do not read again from the start.",
                number(column),
                number(next - 1)
            )
        }
        None if line == 1 && column == 1 => {
            let characters = window.text.chars().count() as u64;
            let lines = match window.total {
                Total::Exactly(lines) => count(lines, "line", "lines"),
                Total::MoreThan(_) => format!("{total} lines"),
            };
            format!("{}, {lines}, complete.", count(characters, "character", "characters"))
        }
        None => format!("{lines} of {total}{from}, to the end."),
    }
}

/// What else a reader has to know about the text.
fn remarks(window: &Window, kind: TextKind) -> String {
    let encoding = if kind.encoding == UTF_8 {
        String::new()
    } else {
        format!(" Decoded from {}.", kind.encoding.name())
    };
    let remark = |holds: bool, words: &'static str| if holds { words } else { "" };
    let mark = remark(kind.mark > 0, " The file starts with a byte order mark.");
    let ends = remark(window.text.contains("\r\n"), " Lines end in CRLF.");
    let broken = " Bytes that do not fit the encoding are shown as U+FFFD.";
    [&encoding, mark, ends, remark(window.is_broken, broken)].concat()
}

fn unreadable(path: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::Interrupted => Failure::cancelled("The call was stopped while reading."),
        kind => Failure::unavailable(format!("`{path}` cannot be read: {kind}.")),
    }
}
