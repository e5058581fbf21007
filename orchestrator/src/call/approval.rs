//! The verdict of a call, and where it is `ask` the question to a person: what they see, how long
//! it stands, and what is decided without them.
//!
//! Pure. Whoever waits for the answer, and records it, is the session actor. Next: `limits`.

use std::fmt::Write as _;

use super::CallContext;
use super::pattern::Pattern;
use super::policy::{Effect, Judgement};
use super::preflight::{self, Opinion};
use super::settle;
use crate::digest::sha256;
use crate::run::event::{
    ApprovalAsked, ApprovalDecided, CallJudged, CallPlanned, CallSettled, CallStatus, Event,
    FailureInfo, Verdict,
};

/// Who decided where the caller had approved the tool beforehand.
pub const BY_FLAG: &str = "flag";
/// Who decided where a rule allows what the tool itself would ask about; its name follows.
pub const BY_RULE: &str = "rule ";
/// Who decided where nobody could be asked.
pub const BY_NOBODY: &str = "nobody";

/// Characters of one argument that a preview of ours shows.
const MAX_SHOWN: usize = 2_000;

/// The stricter of the rules and the tool itself.
pub fn stricter(judgement: Judgement, opinion: &Opinion) -> Judgement {
    let (verdict, reason) = match opinion {
        Opinion::Allow => return judgement,
        Opinion::Ask { reason, .. } => (Verdict::Ask, reason),
        Opinion::Block { reason } => (Verdict::Block, reason),
    };
    if judgement.verdict > verdict {
        return judgement;
    }
    let (rule, reason) = if judgement.verdict == verdict && verdict == Verdict::Ask {
        // Both want a person: the rule is kept, and the tool knows better why.
        let reason = if reason.is_empty() { &judgement.reason } else { reason };
        (judgement.rule.clone(), reason.clone())
    } else {
        (preflight::RULE.to_owned(), reason.clone())
    };
    Judgement { verdict, rule, reason, ..judgement }
}

/// The events that follow from a verdict.
pub fn events(
    planned: &CallPlanned,
    judgement: &Judgement,
    opinion: &Opinion,
    context: &CallContext,
    expires_ms: i64,
) -> Vec<Event> {
    let judged = CallJudged {
        call_id: planned.call_id.clone(),
        verdict: judgement.verdict,
        rule: judgement.rule.clone(),
        reason: judgement.reason.clone(),
        denied_effects: judgement.denied_effects.iter().map(|e| e.as_str().to_owned()).collect(),
    };
    let mut events = vec![Event::CallJudged(judged)];
    match judgement.verdict {
        Verdict::Allow => {}
        Verdict::Block => {
            let failure = settle::blocked(&planned.tool, &judgement.rule, &judgement.reason);
            events.push(Event::CallSettled(settle::refused(&planned.call_id, &failure)));
        }
        Verdict::Ask => ask(&mut events, planned, judgement, (opinion, context, expires_ms)),
    }
    events
}

fn ask(
    events: &mut Vec<Event>,
    planned: &CallPlanned,
    judgement: &Judgement,
    (opinion, context, expires_ms): (&Opinion, &CallContext, i64),
) {
    let is_approved = context.approve.iter().any(|glob| {
        Pattern::new("approve", glob).is_ok_and(|pattern| pattern.matches(&planned.tool))
            && !glob.is_empty()
    });
    let is_irreversible = matches!(opinion, Opinion::Ask { irreversible: true, .. });
    // A rule answers the tool's question, as a person would who was asked once for all such calls;
    // never one about something that cannot be undone.
    let standing = judgement.allowed_by.as_ref().filter(|_| !is_irreversible);
    let is_answered = is_approved || standing.is_some() || !context.approver_attached;
    let preview = match opinion {
        Opinion::Ask { preview, .. } => preview.clone(),
        Opinion::Allow | Opinion::Block { .. } => preview_of(planned, &judgement.denied_effects),
    };
    let warning = if is_irreversible { "This cannot be undone. " } else { "" };
    events.push(Event::ApprovalAsked(ApprovalAsked {
        call_id: planned.call_id.clone(),
        preview_digest: sha256(&preview),
        preview,
        reason: format!("{warning}{}", judgement.reason),
        // A question that is answered in the same breath is not put to anybody.
        expires_ms: if is_answered { 0 } else { expires_ms },
    }));
    if !is_answered {
        return;
    }
    let (for_model, for_person) = settle::approval_missing(&planned.tool, &judgement.reason);
    let (by, note) = match standing {
        _ if is_approved => (BY_FLAG.to_owned(), ""),
        Some(rule) => (format!("{BY_RULE}{rule}"), ""),
        None => (BY_NOBODY.to_owned(), for_model.as_str()),
    };
    let is_approved = is_approved || standing.is_some();
    events.push(Event::ApprovalDecided(ApprovalDecided {
        call_id: planned.call_id.clone(),
        approved: is_approved,
        by,
        note: note.to_owned(),
        ..ApprovalDecided::default()
    }));
    if !is_approved {
        events.push(Event::CallSettled(denied(planned, format!("{for_model}."), for_person)));
    }
}

fn denied(planned: &CallPlanned, for_model: String, for_person: String) -> CallSettled {
    CallSettled {
        call_id: planned.call_id.clone(),
        status: CallStatus::Denied,
        content: for_model,
        failure: Some(FailureInfo {
            kind: "permission_denied".to_owned(),
            message: for_person,
            violations: Vec::new(),
        }),
        ..CallSettled::default()
    }
}

/// What a person sees of a call whose tool has no preview of its own: the tool and its arguments,
/// one a line, with control and invisible characters escaped.
fn preview_of(planned: &CallPlanned, denied: &[Effect]) -> String {
    let mut preview = planned.tool.clone();
    let arguments: serde_json::Value = serde_json::from_str(&planned.arguments).unwrap_or_default();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let count = text.chars().count();
        let shown: String = text.chars().take(MAX_SHOWN).flat_map(visible).collect();
        // Writing to a string cannot fail.
        let _ =
            write!(preview, "\n  {}: {shown}", name.chars().flat_map(visible).collect::<String>());
        if count > MAX_SHOWN {
            let _ = write!(preview, "… ({count} characters)");
        }
    }
    if !denied.is_empty() {
        let names: Vec<&str> = denied.iter().map(|effect| effect.as_str()).collect();
        let _ = write!(preview, "\nwithout: {}", names.join(", "));
    }
    preview
}

/// A character as people can see it.
fn visible(character: char) -> Vec<char> {
    let hides = matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}');
    if hides || (character.is_control() && character != '\n') {
        character.escape_unicode().collect()
    } else {
        vec![character]
    }
}

#[cfg(test)]
mod tests;
