//! Why a session did not do what it was asked.

use thiserror::Error;

use crate::{
    journal::{AppendError, JournalError},
    run::{rollback::Nothing, state::ApplyError},
};

/// Why a message came to nothing.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The session does not exist, or belongs to another team.
    #[error("no session has this id")]
    NotFound,
    /// The session cannot do it now.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another orchestrator owns the session's partition, or nobody does.
    #[error("another orchestrator owns the session")]
    NotOwner,
    /// The actor stopped before it answered; what it had not recorded did not happen.
    #[error("the session stopped before it answered")]
    Closed,
    /// The journal could not take it; nothing happened, and it can be asked again later.
    #[error("{0}; nothing was done. Free some space and ask again")]
    Unwritten(String),
    /// The journal's database does not answer; nothing happened.
    #[error("the journal's database does not answer; nothing was done. Ask again once it is back")]
    Away,
    /// The journal's database went away before it said whether it took it.
    #[error(
        "the journal's database does not answer; whether this was recorded shows once it is back. \
         Ask again then: a repeat under the same Idempotency-Key does nothing twice"
    )]
    Unconfirmed,
    /// The session's events cannot be trusted; other sessions are not affected.
    #[error("the session cannot be opened: {0}")]
    Damaged(String),
    /// The journal does not answer.
    #[error("the journal cannot be read")]
    Journal(#[source] JournalError),
}

impl From<JournalError> for SessionError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Damaged { .. } | JournalError::Unknown { .. } => {
                Self::Damaged(error.to_string())
            }
            JournalError::Unreachable(_) => Self::Away,
            other => Self::Journal(other),
        }
    }
}

impl From<&AppendError> for SessionError {
    fn from(error: &AppendError) -> Self {
        match error {
            AppendError::Full(_) => Self::Unwritten(error.to_string()),
            AppendError::Unreachable(_) => Self::Unconfirmed,
            AppendError::Fenced
            | AppendError::Conflict
            | AppendError::Closed
            | AppendError::Backend(_) => Self::Closed,
        }
    }
}

impl From<ApplyError> for SessionError {
    fn from(error: ApplyError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Why a session that exists does not do it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// Too many inputs wait.
    #[error("{waiting} inputs wait already; wait for a run to end, or open another session")]
    Full {
        /// How many.
        waiting: usize,
    },
    /// The idempotency key was used for something else.
    #[error("the idempotency key was used before with another body; use a new key")]
    KeyReused,
    /// The session works on the other kind of input.
    #[error("this session is of kind `{kind}`; open another one for this request")]
    WrongKind {
        /// Its kind.
        kind: &'static str,
    },
    /// The input does not fit into a model call.
    #[error(
        "the input has about {tokens} tokens with the system prompt; at most {budget} are taken, \
         half of `orchestrator.agent.context_tokens`: shorten it, or put it into a file"
    )]
    TooLarge {
        /// Its size.
        tokens: u32,
        /// The budget.
        budget: u32,
    },
    /// The call does not wait for a decision.
    #[error("this call does not wait for a decision")]
    NotAsked,
    /// The call's outcome is known.
    #[error(
        "nothing is to be decided on this call: its outcome is known, or there is no such call"
    )]
    NotUnknown,
    /// The session works.
    #[error("the session works; cancel its run or wait for it to end")]
    Busy,
    /// There is nothing to take back.
    #[error(transparent)]
    Nothing(#[from] Nothing),
    /// The preview that was decided on is not the recorded one.
    #[error("the preview has changed; look at it again before you decide")]
    OtherPreview,
}
