//! What is said of an edit that does not fit: where its text nearly is, or that it is there more
//! than once.

use callboard_tool::Failure;
use memchr::memchr_iter;

use super::apply::Label;
use crate::{
    answer::{count, number},
    shown::line,
};

/// Most lines that are compared, and most characters of each.
const MOST_LINES: usize = 20_000;
const LONGEST: usize = 200;
/// How much of a line must be the same, 0 to 1.
const SIMILAR: f64 = 0.6;
/// Most lines that are shown, and most places that are named.
const MOST_SHOWN: usize = 5;

/// `old` is nowhere.
pub(super) fn missed(text: &[u8], old: &str, label: Label) -> Failure {
    let near = nearest(text, old).map_or_else(
        || "Nothing in the file is like it".to_owned(),
        |(number, shown)| format!("The nearest is line {number}:\n{shown}\n"),
    );
    Failure::not_found(format!(
        "{label}: its `old` text is not in the file, so no edit was done and the file is \
         unchanged. {near}{}Read the file and give the text exactly as it is there.",
        if near.ends_with('\n') { "" } else { ". " }
    ))
}

/// `old` is there more than once.
pub(super) fn ambiguous(text: &[u8], at: &[usize], label: Label) -> Failure {
    let line = |at: &usize| number(memchr_iter(b'\n', &text[..*at]).count() as u64 + 1);
    let mut lines: Vec<String> = at.iter().take(MOST_SHOWN).map(line).collect();
    if at.len() > MOST_SHOWN {
        lines.push("…".to_owned());
    }
    let times = count(at.len() as u64, "time", "times");
    let reason = format!("its `old` text is there {times}, from lines {}", lines.join(", "));
    Failure::invalid_arguments(format!(
        "{label}: {reason}, so no edit was done and the file is unchanged. Give more of the text \
         around the one that is meant, or \"all\": true for all of them."
    ))
    .violation(format!("/edits/{}/old", label.index), "not unique")
}

/// The lines that are most like the first line of `old` that says something, and their number.
fn nearest(text: &[u8], old: &str) -> Option<(String, String)> {
    let skipped = old.lines().take_while(|line| line.trim().is_empty()).count();
    let wanted = cut(old.lines().nth(skipped)?);
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let mut best = (SIMILAR, None);
    for (index, candidate) in lines.iter().take(MOST_LINES).enumerate() {
        let candidate = String::from_utf8_lossy(candidate);
        let score = strsim::sorensen_dice(cut(&candidate), wanted);
        if score > best.0 {
            best = (score, Some(index));
        }
    }
    let start = best.1?.saturating_sub(skipped);
    let shown = lines[start..].iter().take(old.lines().count().min(MOST_SHOWN));
    let shown: Vec<String> = shown
        .map(|text| {
            let text = String::from_utf8_lossy(text.strip_suffix(b"\r").unwrap_or(text));
            line(text[..text.floor_char_boundary(LONGEST)].as_bytes())
        })
        .collect();
    Some((number(start as u64 + 1), shown.join("\n")))
}

fn cut(line: &str) -> &str {
    let line = line.trim();
    &line[..line.floor_char_boundary(LONGEST)]
}
