//! The words that stand for our enums in the journal. Once written they never change, so they are
//! kept apart from what the enums are called elsewhere.
//!
//! Left to others: which messages they stand in. Next: `sqlite`, which stores the bytes.

use crate::run::event::{
    AttemptStatus, CallStatus, Choice, Class, Finish, Limit, RunStatus, SessionKind, UndoStatus,
    Verdict,
};

use super::ConvertError;

/// An enum that is stored as a word.
pub(crate) trait Word: Copy + 'static {
    /// What the enum says, for errors.
    const FIELD: &'static str;
    /// Every value.
    const ALL: &'static [Self];
    /// The word of a value.
    fn word(self) -> &'static str;
}

/// The value that `word` stands for.
pub(crate) fn parse<W: Word>(word: &str) -> Result<W, ConvertError> {
    for value in W::ALL {
        if value.word() == word {
            return Ok(*value);
        }
    }
    Err(ConvertError::UnknownWord { field: W::FIELD, word: word.to_owned() })
}

impl Word for SessionKind {
    const FIELD: &'static str = "kind of session";
    const ALL: &'static [Self] = &[Self::Chat, Self::Direct];

    fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Direct => "direct",
        }
    }
}

impl Word for Finish {
    const FIELD: &'static str = "finish reason";
    const ALL: &'static [Self] = &[
        Self::Stop,
        Self::ToolCalls,
        Self::Length,
        Self::ContentFilter,
        Self::GaveUp,
        Self::Other,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::GaveUp => "gave_up",
            Self::Other => "other",
        }
    }
}

impl Word for Class {
    const FIELD: &'static str = "class";
    const ALL: &'static [Self] = &[Self::Read, Self::Idempotent, Self::Write];

    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Write => "write",
        }
    }
}

impl Word for Verdict {
    const FIELD: &'static str = "verdict";
    const ALL: &'static [Self] = &[Self::Allow, Self::Ask, Self::Block];

    fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }
}

impl Word for AttemptStatus {
    const FIELD: &'static str = "status of an attempt";
    const ALL: &'static [Self] = &[Self::Answered, Self::NotSent, Self::Unanswered, Self::Refused];

    fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::NotSent => "not_sent",
            Self::Unanswered => "unanswered",
            Self::Refused => "refused",
        }
    }
}

impl Word for CallStatus {
    const FIELD: &'static str = "status of a call";
    const ALL: &'static [Self] = &[
        Self::Ok,
        Self::Failed,
        Self::Denied,
        Self::Blocked,
        Self::Cancelled,
        Self::OutcomeUnknown,
    ];

    fn word(self) -> &'static str {
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

impl Word for Choice {
    const FIELD: &'static str = "choice";
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Done => "done",
            Self::NotDone => "not_done",
        }
    }
}

impl Word for UndoStatus {
    const FIELD: &'static str = "status of a rollback";
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        match self {
            Self::Undone => "undone",
            Self::Conflict => "conflict",
            Self::NotReversible => "not_reversible",
            Self::Failed => "failed",
        }
    }
}

impl Word for Limit {
    const FIELD: &'static str = "limit";
    const ALL: &'static [Self] =
        &[Self::Steps, Self::Calls, Self::Time, Self::Tokens, Self::Progress];

    fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Calls => "calls",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::Progress => "progress",
        }
    }
}

impl Word for RunStatus {
    const FIELD: &'static str = "status of a run";
    const ALL: &'static [Self] =
        &[Self::Completed, Self::Failed, Self::Denied, Self::LimitReached, Self::Cancelled];

    fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::LimitReached => "limit_reached",
            Self::Cancelled => "cancelled",
        }
    }
}
