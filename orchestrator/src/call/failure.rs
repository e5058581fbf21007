//! Why a call did not do what it was asked, as the stages hand it on: what happened, and words that
//! a reader can act on. How it is told is left to `settle`, whether to try again to `retry`.

use std::time::Duration;

use crate::run::event::Violation;

/// What kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The arguments are wrong.
    InvalidArguments,
    /// The thing asked for, or the tool, does not exist.
    NotFound,
    /// It may not be done.
    PermissionDenied,
    /// It is refused, whoever asks.
    Blocked,
    /// The state of the world does not fit.
    Conflict,
    /// Something that is needed is away; trying again may help.
    Unavailable,
    /// It took too long.
    Timeout,
    /// Too much at once.
    RateLimited,
    /// A size limit was passed.
    TooLarge,
    /// The tool cannot do that at all.
    Unsupported,
    /// It was cancelled.
    Cancelled,
    /// A fault of a service, or of ours.
    Internal,
}

impl Kind {
    /// The kind as it stands in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::NotFound => "not_found",
            Self::PermissionDenied => "permission_denied",
            Self::Blocked => "blocked",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate_limited",
            Self::TooLarge => "too_large",
            Self::Unsupported => "unsupported",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    /// Whether the same call may work a moment later.
    pub fn is_transient(self) -> bool {
        match self {
            Self::Unavailable | Self::Timeout | Self::RateLimited => true,
            Self::InvalidArguments
            | Self::NotFound
            | Self::PermissionDenied
            | Self::Blocked
            | Self::Conflict
            | Self::TooLarge
            | Self::Unsupported
            | Self::Cancelled
            | Self::Internal => false,
        }
    }
}

/// Why a call did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind.
    pub kind: Kind,
    /// What happened and a way out; no address, no trace.
    pub message: String,
    /// Everything wrong with the arguments.
    pub violations: Vec<Violation>,
    /// When to try again, from now.
    pub retry_after: Option<Duration>,
    /// Whether the service gave no answer of its tool's: `message` says what "the service" did, and
    /// who tells it names that.
    pub is_of_service: bool,
}

impl Failure {
    /// A failure in words.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message, violations: Vec::new(), retry_after: None, is_of_service: false }
    }

    /// A failure of the service, not of its tool: what it did or is, without a subject.
    pub fn of_service(kind: Kind, what: &str) -> Self {
        Self { is_of_service: true, ..Self::new(kind, format!("the service {what}")) }
    }

    /// The same with the service named.
    #[must_use]
    pub fn named(self, service: &str) -> Self {
        let Some(what) = self.message.strip_prefix("the service ").filter(|_| self.is_of_service)
        else {
            return self;
        };
        Self { message: format!("the service `{service}` {what}"), ..self }
    }
}
