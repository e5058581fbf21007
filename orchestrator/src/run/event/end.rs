//! Facts about what stops a run, and its end.

use serde::{Deserialize, Serialize};

use crate::run::ids::RunId;

/// The run makes no progress; the model is told once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgressMissed {
    /// The run.
    pub run: RunId,
    /// What was noticed, in words for the model.
    pub message: String,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Model replies.
    #[default]
    Steps,
    /// Tool calls.
    Calls,
    /// Working time.
    Time,
    /// Tokens.
    Tokens,
    /// The run was stuck.
    Progress,
}

impl Limit {
    /// The bound's name, as clients and the journal write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Calls => "calls",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::Progress => "progress",
        }
    }
}

/// A bound of the run is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitHit {
    /// The run.
    pub run: RunId,
    /// Which bound.
    pub limit: Limit,
    /// A sentence that names the bound and how to raise it.
    pub message: String,
}

/// Somebody wants the run to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CancelAsked {
    /// The run.
    pub run: RunId,
    /// Why.
    pub reason: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// With an answer.
    #[default]
    Completed,
    /// Without one.
    Failed,
    /// A call was denied or blocked and none succeeded after it.
    Denied,
    /// A bound was reached.
    LimitReached,
    /// Somebody ended it.
    Cancelled,
}

impl RunStatus {
    /// The status as clients and the journal write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::LimitReached => "limit_reached",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The run is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run.
    pub run: RunId,
    /// How.
    pub status: RunStatus,
    /// The answer, or the sentence that says why there is none.
    pub answer: String,
    /// Machine-readable reason of an end that is not `completed`.
    pub reason: String,
}
