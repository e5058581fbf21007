//! How a model call fails. What is done about it is decided in `retry.rs`.

use std::time::Duration;

use thiserror::Error;

/// A model call that gave no reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ModelError {
    /// What happened.
    pub kind: ModelErrorKind,
    /// A sentence for a person: no secret, and no address beyond the configured one.
    pub message: String,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// Nobody answers, or answers with a fault of its own.
    Unavailable,
    /// Too many requests.
    RateLimited,
    /// The quota or the credit is used up; waiting does not help.
    QuotaExceeded,
    /// No answer, no next word or no end in time.
    Timeout,
    /// The stream was cut before the reply was whole.
    Interrupted,
    /// What came is not a reply.
    Malformed,
    /// The reply is larger than we take.
    TooLarge,
    /// The reply ended at its output limit where a call cannot be told from half a call.
    Incomplete,
    /// The provider refuses the request as it is.
    InvalidRequest,
    /// The key is missing, wrong, or not allowed to do this.
    Unauthenticated,
    /// There is no such model or endpoint.
    NotFound,
}

impl ModelErrorKind {
    /// The name, as in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::RateLimited => "rate_limited",
            Self::QuotaExceeded => "quota_exceeded",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Incomplete => "incomplete",
            Self::InvalidRequest => "invalid_request",
            Self::Unauthenticated => "unauthenticated",
            Self::NotFound => "not_found",
        }
    }

    /// True if the same request may succeed when it is sent again.
    pub fn is_transient(self) -> bool {
        match self {
            Self::Unavailable
            | Self::RateLimited
            | Self::Timeout
            | Self::Interrupted
            | Self::Malformed => true,
            Self::QuotaExceeded
            | Self::TooLarge
            | Self::Incomplete
            | Self::InvalidRequest
            | Self::Unauthenticated
            | Self::NotFound => false,
        }
    }
}

impl ModelError {
    /// An error of this kind.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }
}

/// A name that means no model.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown model `{name}`{}; known: {}", did_you_mean(.nearest.as_deref()), .known.join(", "))]
pub struct UnknownModel {
    /// The name.
    pub name: String,
    /// The closest name that would do.
    pub nearest: Option<String>,
    /// The names that can be given.
    pub known: Vec<String>,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

/// Settings that cannot work.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// Not an address of an HTTP endpoint.
    #[error("`{key}` is no http or https address: {value}")]
    BaseUrl {
        /// The setting.
        key: &'static str,
        /// Its value, without credentials.
        value: String,
    },
    /// A key with characters that no header can carry.
    #[error("`{0}` holds characters that an HTTP header cannot carry")]
    ApiKey(&'static str),
    /// A number outside of what makes sense.
    #[error("`{key}` must be {wanted}, not {value}")]
    Range {
        /// The setting.
        key: &'static str,
        /// What would do.
        wanted: &'static str,
        /// Its value.
        value: String,
    },
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built: {0}")]
    Client(String),
}
