//! What a database's errors mean here: try later, leave one session alone, or stop for good.
//!
//! Left to others: which error means what, in the folder of each backend. Next: `health`.

use super::{AppendError, JournalError};

/// A failure of the database.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// No space; nothing was written.
    Full(String),
    /// The disk failed while writing. What was written cannot be known any more: after a failed
    /// sync the kernel may report the next one as done although the data is gone.
    Write(String),
    /// What is stored cannot be read, or is not what was stored.
    Damaged(String),
    /// The database's server does not answer, or not as one that can be written to.
    Unreachable(String),
    /// Another process holds a lock.
    Busy(String),
    /// Anything else; nothing was written.
    Other(String),
}

impl Fault {
    /// What happened, in the database's words.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Full(text)
            | Self::Write(text)
            | Self::Damaged(text)
            | Self::Unreachable(text)
            | Self::Busy(text)
            | Self::Other(text) => text,
        }
    }

    /// Says it in the log; what lasts is said by `health`, once.
    pub(super) fn note(&self) {
        match self {
            Self::Full(error) | Self::Write(error) | Self::Unreachable(error) => {
                tracing::debug!(%error, "journal takes no appends");
            }
            Self::Damaged(error) | Self::Busy(error) | Self::Other(error) => {
                tracing::warn!(%error, "journal refused to write");
            }
        }
    }
}

impl From<Fault> for AppendError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full(text) => Self::Full(text),
            Fault::Write(_) => Self::Closed,
            Fault::Unreachable(text) => Self::Unreachable(text),
            Fault::Damaged(_) => Self::Conflict,
            Fault::Busy(text) | Fault::Other(text) => Self::Backend(text),
        }
    }
}

impl From<Fault> for JournalError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full(text) => Self::Full(text),
            Fault::Write(_) => Self::Closed,
            Fault::Unreachable(text) => Self::Unreachable(text),
            Fault::Damaged(text) | Fault::Busy(text) | Fault::Other(text) => Self::Backend(text),
        }
    }
}
