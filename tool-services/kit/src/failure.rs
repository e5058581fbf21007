//! How a tool says that it did not do what it was asked: what happened, never whether to retry.
//! That is decided from the kind, by the orchestrator.

use std::time::Duration;

/// Why a call did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What happened and a way out, in words that a model can act on; no address, no trace.
    pub message: String,
    /// Everything wrong with the arguments, for [`FailureKind::InvalidArguments`].
    pub violations: Vec<Violation>,
    /// When to try again, from now.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure: what happened, not what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The arguments are wrong.
    InvalidArguments,
    /// The thing asked for does not exist.
    NotFound,
    /// The service may not do it.
    PermissionDenied,
    /// The service refuses it, whoever asks.
    Blocked,
    /// The state of the world does not fit.
    Conflict,
    /// Something that the tool needs is away.
    Unavailable,
    /// It took too long and was stopped.
    Timeout,
    /// Too many requests.
    RateLimited,
    /// A size limit was passed; the message names it.
    TooLarge,
    /// The tool cannot do that at all.
    Unsupported,
    /// It was cancelled; the message says what was done before.
    Cancelled,
    /// A fault of the service.
    Internal,
}

impl FailureKind {
    /// As programs and metrics name it.
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
}

/// One thing wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the arguments, empty for the whole.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Violation {
    /// A violation at a JSON pointer (`/limit`, or empty for the whole).
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

impl Failure {
    /// A failure of any kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), violations: Vec::new(), retry_after: None }
    }

    /// The arguments are wrong; [`Failure::violation`] says where.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidArguments, message)
    }

    /// The thing asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, message)
    }

    /// The service may not do it.
    pub fn permission_denied(message: impl Into<String>) -> Self {
        Self::new(FailureKind::PermissionDenied, message)
    }

    /// The service refuses it, whoever asks.
    pub fn blocked(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Blocked, message)
    }

    /// The state of the world does not fit.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Conflict, message)
    }

    /// Something that the tool needs is away.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Unavailable, message)
    }

    /// It took too long and was stopped.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Timeout, message)
    }

    /// Too many requests; [`Failure::retry_after`] says when to come back.
    pub fn rate_limited(message: impl Into<String>) -> Self {
        Self::new(FailureKind::RateLimited, message)
    }

    /// A size limit was passed; the message names it.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(FailureKind::TooLarge, message)
    }

    /// The tool cannot do that at all.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Unsupported, message)
    }

    /// It was cancelled; the message says what was done before.
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Cancelled, message)
    }

    /// A fault of the service.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Internal, message)
    }

    /// Adds one thing that is wrong with the arguments.
    #[must_use]
    pub fn violation(mut self, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        self.violations.push(Violation::new(pointer, message));
        self
    }

    /// Says when to try again, from now.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}
