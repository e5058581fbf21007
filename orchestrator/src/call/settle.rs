//! A call's one outcome, worded for its readers: secrets masked, what hides or poses as a prompt
//! taken out, text from the open world marked, the result cut to what a model may see and kept as it
//! was beside it.
//!
//! The model gets what happened and a way out, the person a sentence; neither gets addresses or
//! traces. How a call ended was decided before, in `attempts`, `policy` or `approval`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::builtin;
use super::config::{Config, Error};
use super::failure::{Failure, Kind};
use super::outcome::{Ending, Output};
use super::pattern::Globs;
use crate::artifacts::Artifacts;
use crate::digest::hex;
use crate::run::event::{CallPlanned, CallSettled, CallStatus, FailureInfo};
use crate::run::ids::{CallId, SessionId};

mod cut;
mod mark;
mod redact;
mod words;

pub(super) use self::mark::HEADER as UNTRUSTED_HEADER;
pub use self::redact::Redactor;
pub use self::words::{approval_missing, blocked};

/// Characters of a failure that are told.
const MAX_WORDS: usize = 4_000;
/// Characters of a remark beside a result.
const MAX_REMARK: usize = 500;

/// Words outcomes for all calls of an orchestrator.
pub struct Settler {
    artifacts: Arc<dyn Artifacts>,
    redactor: Redactor,
    limit: usize,
    limits: Globs<usize>,
    /// Nobody outside can foresee the boundaries that mark a text as untrusted.
    seed: [u8; 32],
}

impl std::fmt::Debug for Settler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settler").finish_non_exhaustive()
    }
}

/// The call that an outcome belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Settling<'a> {
    /// As it was planned.
    pub planned: &'a CallPlanned,
    /// Team that owns the session.
    pub team: &'a str,
    /// The session.
    pub session: &'a SessionId,
    /// Characters of a result that the tool wants a model to see.
    pub result_chars: Option<usize>,
    /// Whether the tool meets the world outside.
    pub is_open_world: bool,
    /// Attempts made.
    pub attempts: u32,
    /// Time that it took.
    pub took: Duration,
    /// Tools that may show whether a lost call took effect.
    pub checks: &'a [String],
}

/// What is kept of a result.
#[derive(Clone, Copy)]
struct Kept<'a> {
    artifact: &'a [u8],
    content: &'a str,
    piece: &'a cut::Piece<'a>,
    shown: &'a mark::Clean<'a>,
    untrusted: bool,
}

impl Settler {
    /// A settler that keeps whole results in `artifacts`.
    ///
    /// # Errors
    /// A glob of `result_limits` cannot be read.
    pub fn new(config: &Config, artifacts: Arc<dyn Artifacts>, seed: u64) -> Result<Self, Error> {
        Ok(Self {
            artifacts,
            redactor: Redactor::new(&config.secrets),
            limit: config.result_limit,
            limits: Globs::new("orchestrator.calls.result_limits", &config.result_limits)?,
            seed: Sha256::digest(seed.to_le_bytes()).into(),
        })
    }

    /// Masks what looks like a secret.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Gives a call its outcome.
    pub async fn settle(&self, ending: Ending, of: Settling<'_>) -> CallSettled {
        match ending {
            Ending::Done(output) => self.done(output, of).await,
            Ending::Failed(failure) => self.failed(failure, of),
            Ending::Unknown { started_ms } => unknown(started_ms, of),
        }
    }

    async fn done(&self, output: Output, of: Settling<'_>) -> CallSettled {
        let content = self.redactor.redact(&output.content).into_owned();
        let limit = self.limit_of(&of.planned.tool, of.result_chars);
        let piece = cut::cut(&content, limit);
        let untrusted = of.is_open_world || output.is_untrusted;
        let shown = mark::clean(piece.text);
        let kept = Kept {
            artifact: &output.artifact,
            content: &content,
            piece: &piece,
            shown: &shown,
            untrusted,
        };
        let (artifact, rest) = self.kept(kept, of).await;
        let mut text = shown.text.clone().into_owned();
        for remark in output.diagnostics.iter().filter(|remark| !remark.is_empty()) {
            let remark = self.redactor.redact(remark);
            add_line(&mut text, &mark::clean(cut::cut(&remark, MAX_REMARK).text).text);
        }
        if untrusted {
            text = mark::untrusted(&text, &self.boundary(of.session));
        }
        add_line(&mut text, &words::left_out(&shown));
        add_line(&mut text, &output.note);
        add_line(&mut text, &rest);
        CallSettled {
            call_id: of.planned.call_id.clone(),
            status: CallStatus::Ok,
            content: text,
            structured: self.structured(&output.structured),
            artifact,
            undo_token: output.undo_token,
            duration_ms: millis(of.took),
            untrusted,
            ..CallSettled::default()
        }
    }

    /// Keeps the whole result where only a part of it is shown, or not as it was: its handle, and
    /// the sentence that says how to read on.
    async fn kept(&self, kept: Kept<'_>, of: Settling<'_>) -> (String, String) {
        let Kept { artifact, content, piece, shown, untrusted } = kept;
        // A page of an artifact lies in it as it was.
        let is_page = of.planned.tool == builtin::READ_ARTIFACT;
        let text = if artifact.is_empty() {
            if !piece.is_cut && (is_page || !shown.is_changed()) {
                return (String::new(), String::new());
            }
            Cow::Borrowed(content)
        } else {
            let text = String::from_utf8_lossy(artifact);
            Cow::Owned(self.redactor.redact(&text).into_owned())
        };
        // Whoever reads the artifact later must know where it came from.
        let header = if untrusted { mark::HEADER } else { "" };
        let whole = Bytes::from(format!("{header}{text}"));
        match self.artifacts.put(of.team, of.session, whole).await {
            Ok(id) if artifact.is_empty() && !piece.is_cut => (id.to_string(), String::new()),
            Ok(id) if artifact.is_empty() => {
                let offset = header.len() + piece.text.len();
                (id.to_string(), words::read_on(piece, content, id.as_str(), offset))
            }
            Ok(id) => (id.to_string(), words::read_whole(piece, &text, id.as_str())),
            Err(error) => {
                tracing::warn!(call = %of.planned.call_id, %error, "result not kept whole");
                let is_part = piece.is_cut || !artifact.is_empty();
                let rest = if is_part { words::not_kept(piece, content) } else { String::new() };
                (String::new(), rest)
            }
        }
    }

    fn failed(&self, failure: Failure, of: Settling<'_>) -> CallSettled {
        let status = match failure.kind {
            Kind::Blocked => CallStatus::Blocked,
            Kind::Cancelled => CallStatus::Cancelled,
            Kind::InvalidArguments
            | Kind::NotFound
            | Kind::PermissionDenied
            | Kind::Conflict
            | Kind::Unavailable
            | Kind::Timeout
            | Kind::RateLimited
            | Kind::TooLarge
            | Kind::Unsupported
            | Kind::Internal => CallStatus::Failed,
        };
        let failure = failure.named(&of.planned.service);
        let message = self.redactor.redact(&failure.message);
        let failure = Failure { message: cut::cut(&message, MAX_WORDS).text.to_owned(), ..failure };
        let mut settled = failure_settled(&of.planned.call_id, status, &failure, of.attempts);
        settled.duration_ms = millis(of.took);
        settled.untrusted = of.is_open_world;
        settled
    }

    fn structured(&self, structured: &str) -> String {
        // A mask never breaks JSON of its own; if one did, no structure is better than a broken one.
        match self.redactor.redact(structured) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => {
                let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                if is_json { text } else { String::new() }
            }
        }
    }

    /// Characters of a tool's result that a model sees: what is configured for it, else what it
    /// wants, else what holds for all.
    pub fn limit_of(&self, tool: &str, wanted: Option<usize>) -> usize {
        let named = self.limits.of(tool).copied().or_else(|| builtin::result_limit(tool));
        named.or(wanted).unwrap_or(self.limit)
    }

    fn boundary(&self, session: &SessionId) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(session.as_str().as_bytes());
        hex(&hash.finalize()[..6])
    }
}

/// The outcome of a call that never got as far as a plan, or ended before anything was sent.
pub fn refused(call_id: &CallId, failure: &Failure) -> CallSettled {
    let status =
        if failure.kind == Kind::Blocked { CallStatus::Blocked } else { CallStatus::Failed };
    failure_settled(call_id, status, failure, 0)
}

fn failure_settled(
    call_id: &CallId,
    status: CallStatus,
    failure: &Failure,
    attempts: u32,
) -> CallSettled {
    CallSettled {
        call_id: call_id.clone(),
        status,
        content: mark::clean(&words::for_model(failure, attempts)).text.into_owned(),
        failure: Some(FailureInfo {
            kind: failure.kind.as_str().to_owned(),
            message: mark::clean(&words::for_person(failure, attempts)).text.into_owned(),
            violations: failure.violations.clone(),
        }),
        ..CallSettled::default()
    }
}

fn unknown(started_ms: i64, of: Settling<'_>) -> CallSettled {
    let content = words::outcome_unknown(of, started_ms);
    CallSettled {
        call_id: of.planned.call_id.clone(),
        status: CallStatus::OutcomeUnknown,
        content,
        failure: Some(FailureInfo {
            kind: "outcome_unknown".to_owned(),
            message: words::outcome_unknown_for_person(of),
            violations: Vec::new(),
        }),
        duration_ms: millis(of.took),
        ..CallSettled::default()
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
