//! Facts about how a run comes to its end, both ways.
//!
//! Next: `word.rs`.

use callboard_proto::journal as wire;

use crate::run::event::{CancelAsked, LimitHit, ProgressMissed, RunEnded};

use super::ConvertError;
use super::word::{Word as _, parse};

impl From<ProgressMissed> for wire::ProgressMissed {
    fn from(event: ProgressMissed) -> Self {
        Self { run: event.run.to_string(), message: event.message }
    }
}

impl From<wire::ProgressMissed> for ProgressMissed {
    fn from(event: wire::ProgressMissed) -> Self {
        Self { run: event.run.into(), message: event.message }
    }
}

impl From<LimitHit> for wire::LimitHit {
    fn from(event: LimitHit) -> Self {
        Self {
            run: event.run.to_string(),
            limit: event.limit.word().to_owned(),
            message: event.message,
        }
    }
}

impl TryFrom<wire::LimitHit> for LimitHit {
    type Error = ConvertError;

    fn try_from(event: wire::LimitHit) -> Result<Self, ConvertError> {
        Ok(Self { run: event.run.into(), limit: parse(&event.limit)?, message: event.message })
    }
}

impl From<CancelAsked> for wire::CancelAsked {
    fn from(event: CancelAsked) -> Self {
        Self { run: event.run.to_string(), reason: event.reason }
    }
}

impl From<wire::CancelAsked> for CancelAsked {
    fn from(event: wire::CancelAsked) -> Self {
        Self { run: event.run.into(), reason: event.reason }
    }
}

impl From<RunEnded> for wire::RunEnded {
    fn from(event: RunEnded) -> Self {
        Self {
            run: event.run.to_string(),
            status: event.status.word().to_owned(),
            answer: event.answer,
            reason: event.reason,
        }
    }
}

impl TryFrom<wire::RunEnded> for RunEnded {
    type Error = ConvertError;

    fn try_from(event: wire::RunEnded) -> Result<Self, ConvertError> {
        Ok(Self {
            run: event.run.into(),
            status: parse(&event.status)?,
            answer: event.answer,
            reason: event.reason,
        })
    }
}
