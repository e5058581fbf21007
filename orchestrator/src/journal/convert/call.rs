//! Facts about whether a call may run, both ways.
//!
//! Left to `attempt.rs`: what becomes of it then.

use callboard_proto::journal as wire;

use crate::run::event::{ApprovalAsked, ApprovalDecided, CallJudged, CallPlanned};

use super::word::{Word as _, parse};
use super::{ConvertError, text};

impl From<CallPlanned> for wire::CallPlanned {
    fn from(event: CallPlanned) -> Self {
        Self {
            call_id: event.call_id.to_string(),
            tool: event.tool,
            service: event.service,
            descriptor_digest: event.descriptor_digest,
            arguments: event.arguments.into_bytes(),
            arguments_digest: event.arguments_digest,
            repairs: event.repairs,
            class: event.class.word().to_owned(),
            timeout_ms: event.timeout_ms,
        }
    }
}

impl TryFrom<wire::CallPlanned> for CallPlanned {
    type Error = ConvertError;

    fn try_from(event: wire::CallPlanned) -> Result<Self, ConvertError> {
        Ok(Self {
            call_id: event.call_id.into(),
            tool: event.tool,
            service: event.service,
            descriptor_digest: event.descriptor_digest,
            arguments: text(event.arguments, "arguments")?,
            arguments_digest: event.arguments_digest,
            repairs: event.repairs,
            class: parse(&event.class)?,
            timeout_ms: event.timeout_ms,
        })
    }
}

impl From<CallJudged> for wire::CallJudged {
    fn from(event: CallJudged) -> Self {
        Self {
            call_id: event.call_id.to_string(),
            verdict: event.verdict.word().to_owned(),
            rule: event.rule,
            reason: event.reason,
            denied_effects: event.denied_effects,
        }
    }
}

impl TryFrom<wire::CallJudged> for CallJudged {
    type Error = ConvertError;

    fn try_from(event: wire::CallJudged) -> Result<Self, ConvertError> {
        Ok(Self {
            call_id: event.call_id.into(),
            verdict: parse(&event.verdict)?,
            rule: event.rule,
            reason: event.reason,
            denied_effects: event.denied_effects,
        })
    }
}

impl From<ApprovalAsked> for wire::ApprovalAsked {
    fn from(event: ApprovalAsked) -> Self {
        Self {
            call_id: event.call_id.to_string(),
            preview: event.preview,
            preview_digest: event.preview_digest,
            reason: event.reason,
            expires_ms: event.expires_ms,
        }
    }
}

impl From<wire::ApprovalAsked> for ApprovalAsked {
    fn from(event: wire::ApprovalAsked) -> Self {
        Self {
            call_id: event.call_id.into(),
            preview: event.preview,
            preview_digest: event.preview_digest,
            reason: event.reason,
            expires_ms: event.expires_ms,
        }
    }
}

impl From<ApprovalDecided> for wire::ApprovalDecided {
    fn from(event: ApprovalDecided) -> Self {
        Self {
            call_id: event.call_id.to_string(),
            approved: event.approved,
            by: event.by,
            note: event.note,
            key: event.key,
            body_digest: event.body_digest,
        }
    }
}

impl From<wire::ApprovalDecided> for ApprovalDecided {
    fn from(event: wire::ApprovalDecided) -> Self {
        Self {
            call_id: event.call_id.into(),
            approved: event.approved,
            by: event.by,
            note: event.note,
            key: event.key,
            body_digest: event.body_digest,
        }
    }
}
