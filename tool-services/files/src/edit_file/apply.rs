//! Exact replacements in a text, all or none. Line ends are those of the text, however the edits
//! were written; what did not match is told in `missed.rs`, which is next.

use std::borrow::Cow;

use callboard_tool::Failure;
use memchr::{memchr_iter, memmem};
use schemars::JsonSchema;
use serde::Deserialize;

use super::missed::{ambiguous, missed};
use crate::replace::MAX_SIZE;

/// Most edits of one call.
const MOST_EDITS: usize = 100;

/// One replacement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replacement {
    /// The text that is there now, exactly, with its indentation, and enough of it that it is there
    /// only once. Line ends may be written as plain newlines.
    pub(super) old: String,
    /// What comes in its place; empty to remove it.
    pub(super) new: String,
    /// Replace it wherever it is, rather than once. Default: false.
    #[serde(default)]
    pub(super) all: bool,
}

/// Does all replacements, each on what the ones before it left. Returns how many places changed.
///
/// # Errors
/// `invalid_arguments` or `not_found` naming the one that does not fit; the text is then of no use.
pub(super) fn apply(text: &mut Vec<u8>, edits: &[Replacement]) -> Result<u64, Failure> {
    if edits.is_empty() || edits.len() > MOST_EDITS {
        let message = format!("`edits` has {}; give 1 to {MOST_EDITS}.", edits.len());
        return Err(Failure::invalid_arguments(message).violation("/edits", "wrong number"));
    }
    let mut places = 0;
    for (index, edit) in edits.iter().enumerate() {
        let label = Label { index, of: edits.len() };
        if edit.old.is_empty() {
            return Err(label.wrong("`old` is empty; give the text that is to be replaced"));
        }
        if edit.old == edit.new {
            return Err(label.wrong("`old` and `new` are the same"));
        }
        let (old, new) = fitting(text, edit);
        let at: Vec<usize> = memmem::find_iter(text, old.as_bytes()).collect();
        match at[..] {
            [] => return Err(missed(text, &old, label)),
            [first, ..] if !edit.all => {
                // The second one may overlap the first.
                let second = memmem::find(&text[first + 1..], old.as_bytes());
                if let Some(second) = second {
                    let at = if at.len() > 1 { at } else { vec![first, first + 1 + second] };
                    return Err(ambiguous(text, &at, label));
                }
            }
            [..] => {}
        }
        let size = text.len() - at.len() * old.len() + at.len().saturating_mul(new.len());
        if size as u64 > MAX_SIZE {
            return Err(Failure::too_large(format!(
                "{label} would make the file larger than 10 MiB. Nothing was changed."
            )));
        }
        *text = spliced(text, &at, (old.len(), new.as_bytes()), size);
        places += at.len() as u64;
    }
    Ok(places)
}

/// Which edit is spoken of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) index: usize,
    pub(super) of: usize,
}

impl Label {
    fn wrong(self, reason: &str) -> Failure {
        Failure::invalid_arguments(format!("{self}: {reason}. Nothing was changed."))
            .violation(format!("/edits/{}", self.index), reason)
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Edit {} of {}", self.index + 1, self.of)
    }
}

/// An edit with the line ends of the text. Where the text has both kinds, those that match count.
fn fitting<'a>(text: &[u8], edit: &'a Replacement) -> (Cow<'a, str>, Cow<'a, str>) {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let both =
        |ends: &dyn Fn(&str) -> String| (Cow::Owned(ends(&edit.old)), Cow::Owned(ends(&edit.new)));
    let marked = |text: &str| plain(text).replace('\n', "\r\n");
    let as_given = (Cow::Borrowed(&edit.old[..]), Cow::Borrowed(&edit.new[..]));
    let ends = memchr_iter(b'\n', text).count();
    let wide = memmem::find_iter(text, b"\r\n").count();
    if ends == 0 {
        return as_given;
    }
    if wide == 0 {
        return both(&plain);
    }
    if wide == ends {
        return both(&marked);
    }
    let is_there = |old: &str| memmem::find(text, old.as_bytes()).is_some();
    if is_there(&edit.old) {
        return as_given;
    }
    let wide = both(&marked);
    if is_there(&wide.0) { wide } else { both(&plain) }
}

fn spliced(text: &[u8], at: &[usize], (gone, new): (usize, &[u8]), size: usize) -> Vec<u8> {
    let mut whole = Vec::with_capacity(size);
    let mut from = 0;
    for start in at {
        whole.extend_from_slice(&text[from..*start]);
        whole.extend_from_slice(new);
        from = start + gone;
    }
    whole.extend_from_slice(&text[from..]);
    whole
}
