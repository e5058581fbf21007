//! Facts about calls that are taken back, both ways.
//!
//! Next: `forget.rs`.

use callboard_proto::journal as wire;

use crate::run::event::{RollbackAsked, RollbackEnded, RollbackStarted};

use super::ConvertError;
use super::word::{Word as _, parse};

impl From<RollbackAsked> for wire::RollbackAsked {
    fn from(event: RollbackAsked) -> Self {
        Self {
            rollback: event.rollback.to_string(),
            calls: event.calls.iter().map(ToString::to_string).collect(),
            by: event.by,
            key: event.key,
            body_digest: event.body_digest,
        }
    }
}

impl From<wire::RollbackAsked> for RollbackAsked {
    fn from(event: wire::RollbackAsked) -> Self {
        Self {
            rollback: event.rollback.into(),
            calls: event.calls.into_iter().map(Into::into).collect(),
            by: event.by,
            key: event.key,
            body_digest: event.body_digest,
        }
    }
}

impl From<RollbackStarted> for wire::RollbackStarted {
    fn from(event: RollbackStarted) -> Self {
        Self { rollback: event.rollback.to_string(), call_id: event.call_id.to_string() }
    }
}

impl From<wire::RollbackStarted> for RollbackStarted {
    fn from(event: wire::RollbackStarted) -> Self {
        Self { rollback: event.rollback.into(), call_id: event.call_id.into() }
    }
}

impl From<RollbackEnded> for wire::RollbackEnded {
    fn from(event: RollbackEnded) -> Self {
        Self {
            rollback: event.rollback.to_string(),
            call_id: event.call_id.to_string(),
            status: event.status.word().to_owned(),
            message: event.message,
        }
    }
}

impl TryFrom<wire::RollbackEnded> for RollbackEnded {
    type Error = ConvertError;

    fn try_from(event: wire::RollbackEnded) -> Result<Self, ConvertError> {
        Ok(Self {
            rollback: event.rollback.into(),
            call_id: event.call_id.into(),
            status: parse(&event.status)?,
            message: event.message,
        })
    }
}
