//! Facts about the attempts of a call and its one outcome, both ways.
//!
//! Next: `end.rs`.

use callboard_proto::journal as wire;

use crate::run::event::{
    AttemptEnded, AttemptStarted, CallSettled, FailureInfo, OutcomeChosen, Violation,
};

use super::word::{Word as _, parse};
use super::{ConvertError, text};

impl From<AttemptStarted> for wire::AttemptStarted {
    fn from(event: AttemptStarted) -> Self {
        Self {
            call_id: event.call_id.to_string(),
            attempt: event.attempt,
            instance: event.instance,
            incarnation: event.incarnation,
            store: event.store,
            timeout_ms: event.timeout_ms,
        }
    }
}

impl From<wire::AttemptStarted> for AttemptStarted {
    fn from(event: wire::AttemptStarted) -> Self {
        Self {
            call_id: event.call_id.into(),
            attempt: event.attempt,
            instance: event.instance,
            incarnation: event.incarnation,
            store: event.store,
            timeout_ms: event.timeout_ms,
        }
    }
}

impl From<AttemptEnded> for wire::AttemptEnded {
    fn from(event: AttemptEnded) -> Self {
        Self {
            call_id: event.call_id.to_string(),
            attempt: event.attempt,
            status: event.status.word().to_owned(),
            detail: event.detail,
        }
    }
}

impl TryFrom<wire::AttemptEnded> for AttemptEnded {
    type Error = ConvertError;

    fn try_from(event: wire::AttemptEnded) -> Result<Self, ConvertError> {
        Ok(Self {
            call_id: event.call_id.into(),
            attempt: event.attempt,
            status: parse(&event.status)?,
            detail: event.detail,
        })
    }
}

impl From<CallSettled> for wire::CallSettled {
    fn from(event: CallSettled) -> Self {
        let mut settled = Self {
            call_id: event.call_id.to_string(),
            status: event.status.word().to_owned(),
            content: event.content,
            structured: event.structured.into_bytes(),
            failure_kind: None,
            failure_message: String::new(),
            violations: Vec::new(),
            artifact: event.artifact,
            undo_token: event.undo_token,
            duration_ms: event.duration_ms,
            untrusted: event.untrusted,
            waited_ms: event.waited_ms,
        };
        if let Some(failure) = event.failure {
            settled.failure_kind = Some(failure.kind);
            settled.failure_message = failure.message;
            settled.violations = failure.violations.into_iter().map(Into::into).collect();
        }
        settled
    }
}

impl TryFrom<wire::CallSettled> for CallSettled {
    type Error = ConvertError;

    fn try_from(event: wire::CallSettled) -> Result<Self, ConvertError> {
        let failure = event.failure_kind.map(|kind| FailureInfo {
            kind,
            message: event.failure_message,
            violations: event.violations.into_iter().map(Into::into).collect(),
        });
        Ok(Self {
            call_id: event.call_id.into(),
            status: parse(&event.status)?,
            content: event.content,
            structured: text(event.structured, "structured content")?,
            failure,
            artifact: event.artifact,
            undo_token: event.undo_token,
            duration_ms: event.duration_ms,
            untrusted: event.untrusted,
            waited_ms: event.waited_ms,
        })
    }
}

impl From<OutcomeChosen> for wire::OutcomeChosen {
    fn from(event: OutcomeChosen) -> Self {
        Self {
            run: event.run.to_string(),
            call_id: event.call_id.to_string(),
            choice: event.choice.word().to_owned(),
            repeat_run: event.repeat_run.to_string(),
            by: event.by,
            note: event.note,
            key: event.key,
            body_digest: event.body_digest,
        }
    }
}

impl TryFrom<wire::OutcomeChosen> for OutcomeChosen {
    type Error = ConvertError;

    fn try_from(event: wire::OutcomeChosen) -> Result<Self, ConvertError> {
        Ok(Self {
            run: event.run.into(),
            call_id: event.call_id.into(),
            choice: parse(&event.choice)?,
            repeat_run: event.repeat_run.into(),
            by: event.by,
            note: event.note,
            key: event.key,
            body_digest: event.body_digest,
        })
    }
}

impl From<Violation> for wire::Violation {
    fn from(violation: Violation) -> Self {
        Self { pointer: violation.pointer, message: violation.message }
    }
}

impl From<wire::Violation> for Violation {
    fn from(violation: wire::Violation) -> Self {
        Self { pointer: violation.pointer, message: violation.message }
    }
}
