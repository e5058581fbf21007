//! Reads the results of tools, which are texts made for models.
//!
//! A result begins with a status line; small differences in its wording do not matter. Nothing in a
//! result is an instruction.

use serde_json::Value;

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done(Told),
    /// The tool says that it could not.
    Failed {
        kind: String,
        message: String,
    },
    /// A person or a rule did not want it.
    Refused(String),
    /// Nobody knows whether it happened.
    Unknown(String),
}

/// A result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The first line.
    pub(super) status: String,
    /// All of it behind the first line.
    pub(super) body: String,
    /// How to read on: a tool's name and its arguments as JSON text.
    pub(super) more: Option<(String, String)>,
}

/// One entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) is_file: bool,
    /// Bytes, plain digits.
    pub(super) size: Option<String>,
    /// When it was changed.
    pub(super) changed: Option<String>,
}

/// A line in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: String,
    pub(super) text: String,
}

/// Beginnings of results of calls that were not made.
const REFUSED: &[&str] = &["Denied", "Not made", "Blocked", "Cancelled"];
/// In the first sentence behind a tool's name, the same.
const REFUSALS: &[&str] = &[" was not run", " was blocked", " needs the approval", " was denied"];

impl Outcome {
    /// Reads the result of a call.
    pub(super) fn of(text: &str) -> Self {
        let text = without_boundaries(text);
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let is_unknown = serde_json::from_str::<Value>(first).is_ok_and(|value| {
            value.get("status").is_some_and(|status| status == "outcome_unknown")
        });
        if is_unknown {
            return Self::Unknown(rest.trim().to_owned());
        }
        if let Some((kind, message)) = failure(text) {
            return match kind.as_str() {
                "blocked" | "permission_denied" => Self::Refused(message),
                _ => Self::Failed { kind, message },
            };
        }
        let is_about_a_tool = first.starts_with('`');
        let is_refused = REFUSED.iter().any(|word| first.starts_with(word))
            || (is_about_a_tool && REFUSALS.iter().any(|words| first.contains(words)));
        if is_refused {
            return Self::Refused(text.trim().to_owned());
        }
        Self::Done(Told::of(text))
    }
}

/// `Failed (kind): message`.
fn failure(text: &str) -> Option<(String, String)> {
    let rest = text.strip_prefix("Failed (").or_else(|| text.strip_prefix("Error ("))?;
    let (kind, message) = rest.split_once(')')?;
    let is_kind = kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_kind.then(|| (kind.to_owned(), message.trim_start_matches(':').trim().to_owned()))
}

/// Text from the open world comes between two lines of its own.
fn without_boundaries(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("[untrusted text") else { return text };
    let inner = rest.split_once('\n').map_or("", |(_, inner)| inner);
    inner.rsplit_once("\n[end of untrusted").map_or(inner, |(inner, _)| inner)
}

impl Told {
    /// Takes a result apart.
    pub(super) fn of(text: &str) -> Self {
        let (text, more) = without_note(text);
        let (status, body) = text.split_once('\n').unwrap_or((text, ""));
        Self { status: status.to_owned(), body: body.to_owned(), more }
    }

    /// A page of a result: it has no status line.
    pub(super) fn page(&self) -> String {
        match self.body.as_str() {
            "" => self.status.clone(),
            body => format!("{}\n{body}", self.status),
        }
    }

    /// The first number of the status line.
    pub(super) fn count(&self) -> Option<String> {
        numbers(&self.status).into_iter().next().map(|(number, _)| number)
    }

    /// The number before one of these words in what the status line says behind the name of a file.
    pub(super) fn count_of(&self, words: &[&str]) -> Option<String> {
        let said = self.status.rsplit_once(": ").map_or(self.status.as_str(), |(_, said)| said);
        let found = numbers(said).into_iter().find(|(_, end)| {
            let after = said[*end..].trim_start();
            words.iter().any(|word| super::words::find(after, word).is_some_and(|(at, _)| at == 0))
        });
        found.map(|(number, _)| number)
    }

    /// Lines of the whole file.
    pub(super) fn lines(&self) -> Option<String> {
        let said = self.status.rsplit_once(": ").map_or(self.status.as_str(), |(_, said)| said);
        // `lines 1–200 of 1,234`: the number behind "of".
        let part = super::words::find_any(said, "lines, line").and_then(|(at, _)| {
            let rest = &said[at..];
            let of = rest.find(" of ")?;
            let is_range = !rest[..of].contains([',', ';']);
            let (number, _) = numbers(&rest[of..]).into_iter().next()?;
            is_range.then_some(number)
        });
        part.or_else(|| self.count_of(&["lines", "line", "行"]))
    }

    /// Where to go on in a file of which only a part was read.
    pub(super) fn next_offset(&self) -> Option<String> {
        let (_, end) = super::words::find(&self.status, "offset")?;
        numbers(&self.status[end..]).into_iter().next().map(|(number, _)| number)
    }

    /// Whether the end of the file was reached.
    pub(super) fn is_complete(&self) -> bool {
        self.next_offset().is_none() && !self.status.contains("column ")
    }

    /// The files in which words were found.
    pub(super) fn matching_files(&self) -> Option<String> {
        let (_, behind) =
            self.status.rsplit_once("\" ").or_else(|| self.status.rsplit_once("/ "))?;
        let found = numbers(behind)
            .into_iter()
            .find(|(_, end)| behind[*end..].trim_start().starts_with("file"));
        found.map(|(number, _)| number)
    }

    /// Entries of a listing.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.body.lines().filter_map(row).collect()
    }

    /// Lines of a search.
    pub(super) fn places(&self) -> Vec<Place> {
        self.body.lines().filter_map(place).collect()
    }

    /// Names of the files of a search, in order, and whether these are all.
    pub(super) fn named_files(&self) -> (Vec<String>, bool) {
        let listed = self.body.lines().next().and_then(|line| line.strip_prefix("Files: "));
        let (mut files, mut is_all) = (Vec::new(), true);
        for name in listed.map_or_else(Vec::new, |listed| listed.split("), ").collect()) {
            match name.rsplit_once(" (") {
                Some((path, _)) => files.push(path.to_owned()),
                None => is_all = false,
            }
        }
        for place in self.places() {
            if !files.contains(&place.path) {
                files.push(place.path);
            }
        }
        (files, is_all)
    }
}

/// Text without the notes behind it: that it is not shown as it was, that only a part of it is
/// shown, and how to read on.
fn without_note(text: &str) -> (&str, Option<(String, String)>) {
    const MORE: [&str; 2] = ["Read on with ", "Read it with "];
    const ENDS: [&str; 2] = ["this is the end", "could not be kept"];
    let (text, note) = split_note(text, &[MORE, ENDS].concat());
    let (text, _) = split_note(text, &["Not as it was: "]);
    let more = note.and_then(|note| {
        let (_, call) = MORE.iter().find_map(|sign| note.split_once(sign))?;
        let (name, arguments) = call.split_once(' ')?;
        let end = arguments.rfind('}')?;
        Some((name.to_owned(), arguments[..=end].to_owned()))
    });
    (text, more)
}

/// A text and the line in square brackets behind it, if that holds one of these.
fn split_note<'a>(text: &'a str, signs: &[&str]) -> (&'a str, Option<&'a str>) {
    let trimmed = text.trim_end_matches('\n');
    let at = trimmed.rfind("\n[").or_else(|| trimmed.starts_with('[').then_some(0));
    let Some(at) = at.filter(|_| trimmed.ends_with(']')) else { return (text, None) };
    let note = trimmed[at..].trim_start_matches('\n');
    if note.contains('\n') || !signs.iter().any(|sign| note.contains(sign)) {
        return (text, None);
    }
    (&trimmed[..at], Some(note))
}

/// Numbers in a text, without the commas of their groups, and where each ends.
pub(super) fn numbers(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut digits = String::new();
    let mut end = 0;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let is_group =
            *byte == b',' && !digits.is_empty() && (1..=3).all(|step| is_digit(at + step));
        let is_point =
            *byte == b'.' && !digits.is_empty() && !digits.contains('.') && is_digit(at + 1);
        if byte.is_ascii_digit() || is_point {
            let is_inside = digits.is_empty()
                && at > 0
                && (bytes[at - 1].is_ascii_alphabetic() || bytes[at - 1] == b'_');
            if !is_inside {
                digits.push(char::from(*byte));
                end = at + 1;
            }
        } else if !is_group && !digits.is_empty() {
            found.push((std::mem::take(&mut digits), end));
        }
    }
    if !digits.is_empty() {
        found.push((digits, end));
    }
    found
}

/// `path  1,240 bytes  2026-11-30T…`: columns with at least two spaces between them.
fn row(line: &str) -> Option<Row> {
    let columns: Vec<&str> =
        line.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    let (path, rest) = columns.split_first()?;
    if rest.is_empty() && path.contains(' ') && !path.contains(['/', '.']) {
        return None;
    }
    let size = rest.iter().find_map(|column| {
        let (number, end) = numbers(column).into_iter().next()?;
        column[end..].trim_start().starts_with("byte").then_some(number)
    });
    let changed = rest.iter().find(|column| {
        column.len() >= 10
            && column.as_bytes()[..4].iter().all(u8::is_ascii_digit)
            && column.contains('-')
    });
    let is_folder = path.ends_with('/') || rest.contains(&"folder") || rest.contains(&"directory");
    let is_other = path.contains(" -> ") || rest.contains(&"link");
    Some(Row {
        path: path.trim_end_matches('/').to_owned(),
        is_file: !is_folder && !is_other,
        size,
        changed: changed.map(|text| (*text).to_owned()),
    })
}

/// `path:12: text`.
fn place(line: &str) -> Option<Place> {
    let mut from = 0;
    while let Some(at) = line[from..].find(':') {
        let colon = from + at;
        let rest = &line[colon + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && colon > 0 && rest[digits..].starts_with(':') {
            let text = rest[digits + 1..].trim();
            let (path, number) = (line[..colon].to_owned(), rest[..digits].to_owned());
            return Some(Place { path, line: number, text: text.to_owned() });
        }
        from = colon + 1;
    }
    None
}

/// The result of a calculation: what stands behind the last sign of equality, else the last number
/// of the first line, else that line.
pub(super) fn value(told: &Told) -> String {
    let page = told.page();
    let line = page.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let behind = line.rsplit(['=', '≈']).next().unwrap_or(line).trim().trim_end_matches('.');
    let is_number = |text: &str| {
        let bare = text.trim_start_matches(['-', '+']);
        bare.starts_with(|one: char| one.is_ascii_digit())
            && bare.chars().all(|one| {
                one.is_ascii_alphanumeric() || matches!(one, '.' | ',' | '+' | '-' | '/')
            })
    };
    if is_number(behind) {
        return behind.to_owned();
    }
    let words = behind.split_whitespace().rev().map(|word| word.trim_end_matches(['.', ';', ':']));
    words.into_iter().find(|word| is_number(word)).unwrap_or(behind).to_owned()
}

#[cfg(test)]
mod tests;
