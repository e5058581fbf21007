//! Clauses that ask for nothing: thanks, greetings, "tell me", and the content of a file that was spoken
//! of before. What the others ask for is decided in `intent.rs`.

use super::{
    phrases as p,
    quotes::{self, Masked},
    words::{self, has_any},
};

/// Whether a clause only asks to be told what was asked for.
pub(super) fn is_filler(clause: &str) -> bool {
    let bare = clause.trim_matches(|one: char| !one.is_alphanumeric());
    let is_alone = words::each(p::ECHOES).any(|words| bare.eq_ignore_ascii_case(words));
    is_alone || (bare.chars().count() < 40 && has_any(bare, p::FILLERS))
}

/// Whether a clause is said beside a request and asks for nothing.
pub(super) fn is_remark(clause: &str) -> bool {
    let begins = words::find_any(clause, p::REMARKS).is_some_and(|(start, _)| start == 0);
    let has_number = clause.contains(|one: char| one.is_ascii_digit());
    begins && !has_number && !has_any(clause, p::BEYOND)
}

/// Whether a clause is the content of a file that was spoken of before it.
pub(super) fn is_content(clause: &str, masked: &Masked) -> bool {
    let quotes = clause.chars().filter_map(|mark| masked.quote(mark));
    quotes.into_iter().any(|quote| quote.kind == quotes::Kind::Content)
}
