//! Facts about attempts and outcomes of a tool call.

use serde::{Deserialize, Serialize};

use crate::run::ids::{CallId, RunId};

/// A call is sent to an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// The call.
    pub call_id: CallId,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Instance that it goes to.
    pub instance: String,
    /// Incarnation of the instance.
    pub incarnation: String,
    /// Store of the instance; empty for memory only.
    pub store: String,
    /// Time that the attempt may take, in milliseconds.
    pub timeout_ms: u64,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// The service gave an outcome.
    #[default]
    Answered,
    /// Nothing was started.
    NotSent,
    /// It may have been started; no outcome came.
    Unanswered,
    /// The service refused it for good.
    Refused,
}

/// An attempt is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnded {
    /// The call.
    pub call_id: CallId,
    /// Number of the attempt.
    pub attempt: u32,
    /// How it ended.
    pub status: AttemptStatus,
    /// What the transport said, for people who debug; no address.
    pub detail: String,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It did what was asked.
    #[default]
    Ok,
    /// It did not.
    Failed,
    /// A person (or nobody) said no.
    Denied,
    /// A rule or the tool refused it.
    Blocked,
    /// The run was cancelled first.
    Cancelled,
    /// It may or may not have taken effect.
    OutcomeUnknown,
}

impl CallStatus {
    /// The status as clients and the journal write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}

/// A call has its one outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallSettled {
    /// The call.
    pub call_id: CallId,
    /// How it ended.
    pub status: CallStatus,
    /// Text for the model: the result, or the failure with a way out.
    pub content: String,
    /// Structured content, JSON text; empty if there is none.
    pub structured: String,
    /// The failure; `None` on success.
    pub failure: Option<FailureInfo>,
    /// Id of the artifact that holds the whole; empty if `content` does.
    pub artifact: String,
    /// Token for a rollback.
    pub undo_token: String,
    /// Time from planned to settled, in milliseconds.
    pub duration_ms: u64,
    /// Whether the content comes from the open world.
    pub untrusted: bool,
    /// Of that time, what it waited for a place or its rate, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
}

/// What a person says of an outcome that is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// It shall be called again.
    Repeat,
    /// It took effect.
    Done,
    /// It did not.
    #[default]
    NotDone,
}

impl Choice {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Repeat, Self::Done, Self::NotDone];

    /// The choice as clients and the journal write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Done => "done",
            Self::NotDone => "not_done",
        }
    }
}

/// A person says what holds of a call whose outcome is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutcomeChosen {
    /// The run of the call.
    pub run: RunId,
    /// The call.
    pub call_id: CallId,
    /// What holds, or shall be done.
    pub choice: Choice,
    /// The run in which the call is repeated; empty if it is not.
    pub repeat_run: RunId,
    /// Who chose.
    pub by: String,
    /// Remark that the model sees.
    pub note: String,
    /// Idempotency key of the choice.
    pub key: String,
    /// SHA-256 (lower-case hex) of the choice's body.
    pub body_digest: String,
}

/// A failure as it is kept and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureInfo {
    /// Kind, such as `invalid_arguments`.
    pub kind: String,
    /// What happened and a way out.
    pub message: String,
    /// Everything wrong with the arguments.
    pub violations: Vec<Violation>,
}

/// One thing wrong with arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON pointer, empty for the whole.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub message: String,
}
