//! Errors to HTTP: the only place where a status is chosen. What a person reads here is chosen too;
//! what went wrong inside is logged, and found again by the trace id.

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use callboard_proto::reason;
use callboard_telemetry::propagate;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use tracing::{error, warn};

/// What kind of thing went wrong; each has one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The request cannot be right.
    BadRequest,
    /// No credential, or a wrong one.
    Unauthorized,
    /// This client, or this page, may not.
    Forbidden,
    /// There is no such thing, or it is another team's.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The state of things does not fit.
    Conflict,
    /// A size limit was passed.
    TooLarge,
    /// The body is not JSON.
    UnsupportedMediaType,
    /// The key was used before, with another body.
    KeyReused,
    /// Too much at once.
    TooMany,
    /// A fault of ours.
    Internal,
    /// This version cannot do it.
    NotImplemented,
    /// Nobody can answer now.
    Unavailable,
    /// Nobody answered in time.
    Timeout,
}

impl Kind {
    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Last part of the problem's type, and its title.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::BadRequest => ("bad_request", "The request cannot be right"),
            Self::Unauthorized => ("unauthorized", "A credential is needed"),
            Self::Forbidden => ("forbidden", "Not allowed"),
            Self::NotFound => ("not_found", "Not found"),
            Self::MethodNotAllowed => ("method_not_allowed", "No such method here"),
            Self::Conflict => ("conflict", "Not possible in this state"),
            Self::TooLarge => ("too_large", "Too large"),
            Self::UnsupportedMediaType => ("unsupported_media_type", "The body is not JSON"),
            Self::KeyReused => ("key_reused", "The idempotency key was used before"),
            Self::TooMany => ("too_many", "Too much at once"),
            Self::Internal => ("internal", "Something failed inside"),
            Self::NotImplemented => ("not_implemented", "Not possible yet"),
            Self::Unavailable => ("unavailable", "Not available now"),
            Self::Timeout => ("timeout", "No answer in time"),
        }
    }
}

/// An answer of `application/problem+json` (RFC 9457).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    kind: Kind,
    // A result is passed up through many hands: its error is one word.
    more: Box<More>,
}

#[derive(Clone, Debug, PartialEq)]
struct More {
    detail: String,
    members: Map<String, Value>,
    headers: HeaderMap,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let more = More { detail: detail.into(), members: Map::new(), headers: HeaderMap::new() };
        Self { kind, more: Box::new(more) }
    }

    /// Adds a member for programs.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.members.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.more.headers.insert(name, value);
        self
    }

    /// Says when to try again.
    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs().max(1);
        self.with("retry_after_ms", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
            .header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, detail)
    }

    /// Nobody can answer now; trying again is safe.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, detail).retry_after(Duration::from_secs(1))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether an orchestrator gave this reason.
    pub(crate) fn is_about(&self, reason: &str) -> bool {
        let found = self.more.members.get("reason").and_then(Value::as_str);
        found.is_some_and(|found| found.eq_ignore_ascii_case(reason))
    }

    /// The members as they stand in the body, and in an `error` event.
    pub(crate) fn json(&self) -> Value {
        let (name, title) = self.kind.words();
        let mut body = Map::new();
        body.insert("type".to_owned(), format!("urn:callboard:problem:{name}").into());
        body.insert("title".to_owned(), title.into());
        body.insert("status".to_owned(), self.kind.status().as_u16().into());
        body.insert("detail".to_owned(), self.more.detail.as_str().into());
        let trace_id = propagate::trace_id();
        if self.kind.status().is_server_error() && !trace_id.is_empty() {
            body.insert("trace_id".to_owned(), trace_id.into());
        }
        body.extend(self.more.members.clone());
        Value::Object(body)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.more.detail)
    }
}

impl std::error::Error for Problem {}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.kind.status(), Json(self.json())).into_response();
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media_type);
        headers.extend(self.more.headers);
        response
    }
}

impl From<Status> for Problem {
    /// An orchestrator's answer. Its text is written for people where the code says that somebody
    /// can act on it; elsewhere it is logged and replaced.
    fn from(status: Status) -> Self {
        let text = status.message().to_owned();
        let reason = status.get_details_error_info().map(|info| info.reason).unwrap_or_default();
        let problem = match status.code() {
            Code::InvalidArgument | Code::OutOfRange if reason == reason::TOO_LARGE => {
                Self::new(Kind::TooLarge, text)
            }
            Code::InvalidArgument | Code::OutOfRange => Self::bad_request(text),
            Code::NotFound => Self::not_found(text),
            Code::AlreadyExists if reason == reason::KEY_REUSED => Self::new(Kind::KeyReused, text),
            Code::AlreadyExists | Code::FailedPrecondition | Code::Aborted => {
                Self::new(Kind::Conflict, text)
            }
            Code::PermissionDenied => Self::new(Kind::Forbidden, text),
            Code::ResourceExhausted => {
                let wait = status.get_details_retry_info().and_then(|info| info.retry_delay);
                let wait = wait.unwrap_or(Duration::from_secs(1));
                Self::new(Kind::TooMany, text).retry_after(wait)
            }
            Code::Unimplemented => Self::new(Kind::NotImplemented, text),
            Code::DeadlineExceeded => {
                Self::new(Kind::Timeout, "The orchestrator did not answer in time. Try again.")
            }
            Code::Unavailable if reason == reason::STORAGE_AWAY => Self::unavailable(text),
            Code::Unavailable | Code::Cancelled => {
                warn!(error = %status, "orchestrator unavailable");
                Self::unavailable("The orchestrator cannot be reached now. Try again.")
            }
            Code::Unauthenticated => {
                error!(error = %status, "orchestrator refused our credentials");
                Self::new(Kind::Internal, "The gateway is not admitted by the orchestrator.")
            }
            Code::DataLoss if reason == reason::SESSION_DAMAGED => Self::new(Kind::Internal, text),
            Code::Ok | Code::Unknown | Code::Internal | Code::DataLoss => {
                error!(error = %status, "orchestrator failed");
                Self::new(Kind::Internal, "The orchestrator failed inside; its log says why.")
            }
        };
        if reason.is_empty() { problem } else { problem.with("reason", reason.to_lowercase()) }
    }
}
