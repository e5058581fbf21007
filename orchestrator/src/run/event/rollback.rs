//! Facts about calls that are taken back.

use serde::{Deserialize, Serialize};

use crate::run::ids::{CallId, RollbackId};

/// A person wants calls taken back; all of them could be when they were looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RollbackAsked {
    /// Names the rollback.
    pub rollback: RollbackId,
    /// The calls, in the order of undoing.
    pub calls: Vec<CallId>,
    /// Who asked.
    pub by: String,
    /// Idempotency key of the request.
    pub key: String,
    /// SHA-256 (lower-case hex) of the request's body.
    pub body_digest: String,
}

/// One call of a rollback is being taken back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RollbackStarted {
    /// The rollback.
    pub rollback: RollbackId,
    /// The call.
    pub call_id: CallId,
}

/// How the taking back of one call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoStatus {
    /// Its effect is gone.
    Undone,
    /// Something changed since; nothing was done.
    Conflict,
    /// There is no way back.
    NotReversible,
    /// The service could not be asked.
    #[default]
    Failed,
}

impl UndoStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Undone, Self::Conflict, Self::NotReversible, Self::Failed];

    /// The status as clients and the journal write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undone => "undone",
            Self::Conflict => "conflict",
            Self::NotReversible => "not_reversible",
            Self::Failed => "failed",
        }
    }
}

/// One call of a rollback is done with; unless it was undone, the rollback is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RollbackEnded {
    /// The rollback.
    pub rollback: RollbackId,
    /// The call.
    pub call_id: CallId,
    /// How.
    pub status: UndoStatus,
    /// What was restored, or what is in the way.
    pub message: String,
}
