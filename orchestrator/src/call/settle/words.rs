//! The sentences. What models read is pinned by tests: a changed word is a changed behaviour.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::Settling;
use super::cut::{Piece, grouped, lines};
use super::mark::Clean;
use crate::call::builtin;
use crate::call::failure::{Failure, Kind};
use crate::call::preflight;
use crate::run::event::Violation;

/// Where a person finds out more about a service that fails.
const LOOK: &str = "`callboard status` shows whether it runs.";

/// A failure, for the model: kind, what happened, everything wrong, a way out.
pub(super) fn for_model(failure: &Failure, attempts: u32) -> String {
    let mut text = format!("Failed ({}): {}", failure.kind.as_str(), sentence(&failure.message));
    for violation in &failure.violations {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {}", line(violation));
    }
    if !failure.violations.is_empty() {
        text.push_str("\nCorrect all of this and call the tool again.");
    }
    for note in [tried(attempts), when(failure)].into_iter().flatten() {
        text.push(' ');
        text.push_str(&note);
    }
    text
}

/// A failure, for a person: one or two sentences.
pub(super) fn for_person(failure: &Failure, attempts: u32) -> String {
    let details: Vec<String> = failure.violations.iter().map(line).collect();
    let mut text = if details.is_empty() {
        sentence(&failure.message)
    } else {
        sentence(&format!("{}: {}", failure.message.trim_end_matches('.'), details.join("; ")))
    };
    let look = failure.is_of_service.then(|| LOOK.to_owned());
    for note in [tried(attempts), when(failure), look].into_iter().flatten() {
        text.push(' ');
        text.push_str(&note);
    }
    text
}

fn line(violation: &Violation) -> String {
    let place = if violation.pointer.is_empty() { "the whole:" } else { &violation.pointer };
    format!("{place} {}", violation.message)
}

/// A call that a rule or the tool itself refuses.
pub fn blocked(tool: &str, rule: &str, reason: &str) -> Failure {
    let who =
        if rule == preflight::RULE { "the tool itself" } else { &format!("the rule `{rule}`") };
    let message = format!(
        "`{tool}` was blocked by {who}: {} Nothing overrides this; do not try the same again",
        sentence(reason)
    );
    Failure::new(Kind::Blocked, message)
}

/// A call that needs an approval which nobody is there to give: the text for the model, and the one
/// for people, who can do something about it.
pub fn approval_missing(tool: &str, reason: &str) -> (String, String) {
    let reason = reason.trim_end_matches('.');
    let model = format!(
        "`{tool}` needs the approval of a person ({reason}), and nobody is there to give it. \
         It was not run. Do not call it again in this run; say what you would have done"
    );
    let person = format!(
        "`{tool}` was not run: it needs an approval ({reason}) and nobody was there to ask. Allow \
         it once with `--approve {tool}`, or always in callboard.toml with \
         `[[orchestrator.policy.rules]] tool = \"{tool}\" verdict = \"allow\"`."
    );
    (model, person)
}

/// After a result that was cut: how much is shown, and how to read on.
pub(super) fn read_on(piece: &Piece<'_>, whole: &str, artifact: &str, offset: usize) -> String {
    format!(
        "[{} The call succeeded; do not repeat it. Read on with {} {{\"id\": \"{artifact}\", \
         \"offset\": {offset}}}.]",
        shown(piece, whole),
        builtin::READ_ARTIFACT,
    )
}

/// After a result whose whole the service gave beside it.
pub(super) fn read_whole(piece: &Piece<'_>, whole: &str, artifact: &str) -> String {
    let cut = if piece.is_cut {
        format!("The first {} characters are shown. ", grouped(piece.characters))
    } else {
        String::new()
    };
    format!(
        "[{cut}The whole result has {} characters in {} lines. The call succeeded; do not repeat \
         it. Read it with {} {{\"id\": \"{artifact}\", \"offset\": 0}}.]",
        grouped(whole.chars().count()),
        grouped(lines(whole)),
        builtin::READ_ARTIFACT
    )
}

/// After a result that was cut and could not be kept.
pub(super) fn not_kept(piece: &Piece<'_>, whole: &str) -> String {
    format!("[{} The rest could not be kept; ask for a smaller part.]", shown(piece, whole))
}

/// After a result that is not shown as it was; empty for any other.
pub(super) fn left_out(shown: &Clean<'_>) -> String {
    let some = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{} {many}", grouped(count))),
    };
    let parts = [
        some(
            shown.invisible,
            "invisible character is left out",
            "invisible characters are left out",
        ),
        some(shown.tokens, "template token is broken up", "template tokens are broken up"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("[Not as it was: {}.]", parts.join(", ")) }
}

fn shown(piece: &Piece<'_>, whole: &str) -> String {
    format!(
        "Shown: the first {} of {} characters, {} of {} lines.",
        grouped(piece.characters),
        grouped(whole.chars().count()),
        grouped(lines(piece.text)),
        grouped(lines(whole))
    )
}

/// A call whose effect nobody knows, for the model; the first line is for programs.
pub(super) fn outcome_unknown(of: Settling<'_>, started_ms: i64) -> String {
    let first = serde_json::json!({
        "status": "outcome_unknown",
        "call_id": of.planned.call_id,
        "tool": of.planned.tool,
        "started_at": instant(started_ms),
    });
    let tried = tried(of.attempts).map(|text| format!(" {text}")).unwrap_or_default();
    let check = if of.checks.is_empty() {
        "No tool of its service shows whether it did: ask the person before repeating it."
            .to_owned()
    } else {
        let names: Vec<String> = of.checks.iter().map(|name| format!("`{name}`")).collect();
        format!(
            "Check first whether it did, with {}; then decide. Where that does not show it, ask the \
             person before repeating it.",
            names.join(" or ")
        )
    };
    format!(
        "{first}\nThe connection was lost after this call was sent.{tried} It may or may not have \
         taken effect. It will not be repeated automatically. {check}"
    )
}

/// The same for a person.
pub(super) fn outcome_unknown_for_person(of: Settling<'_>) -> String {
    let tried = tried(of.attempts).map(|text| format!(" {text}")).unwrap_or_default();
    let (tool, session, call) = (&of.planned.tool, of.session, &of.planned.call_id);
    format!(
        "`{tool}` was sent and its answer was lost: it may or may not have taken effect.{tried} It \
         is not repeated automatically. Check, then say what holds: `callboard sessions decide \
         {session} {call} done`, or `not-done`, or `repeat` to call it again."
    )
}

fn tried(attempts: u32) -> Option<String> {
    (attempts > 1).then(|| format!("Tried {attempts} times."))
}

fn when(failure: &Failure) -> Option<String> {
    let wait = failure.retry_after.filter(|wait| !wait.is_zero())?;
    Some(format!("Try again in {} s.", wait.as_millis().div_ceil(1_000)))
}

/// Ends like a sentence.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let ends = text.ends_with(['.', '!', '?', '。', '！', '？', ')', ']']);
    if text.is_empty() || ends { text.to_owned() } else { format!("{text}.") }
}

/// Unix time in milliseconds as RFC 3339, in UTC.
fn instant(ms: i64) -> String {
    let instant = Timestamp::from_second(ms.div_euclid(1_000));
    instant.map_or_else(|_| format!("{ms} ms after 1970"), |instant| instant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_dated_as_calendars_do() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_000_461_999, "2026-11-30T01:01:01Z"),
            (4_102_444_799_000, "2099-12-31T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (i64::MAX, "9223372036854775807 ms after 1970"),
        ] {
            assert_eq!(instant(ms), text);
        }
    }
}
