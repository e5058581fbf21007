//! From a gRPC status to what happened. The only place that knows what transports say.
//!
//! "Not sent" must be proven: by the connection that failed, by a frame that says so (`RST_STREAM`
//! with `REFUSED_STREAM`, `GOAWAY` below our stream), or by the service (`NOT_ADMITTED`). Sources of
//! errors are types of h2 and hyper; a test on real frames pins them.

use std::error::Error;
use std::time::Duration;

use callboard_proto::reason;
use tonic::{Code, ConnectError, Status, TimeoutExpired};
use tonic_types::StatusExt as _;

use crate::call::failure::{Failure, Kind};
use crate::call::retry::{AttemptError, Lost};
use crate::run::event::Violation;

/// Violations of a refusal that are kept, and characters of one.
const MAX_VIOLATIONS: usize = 32;
const MAX_WORDS: usize = 500;
/// Longest time to wait that is believed.
const MAX_WAIT: Duration = Duration::from_hours(1);

/// How far an attempt had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::call) enum Phase {
    /// The answer had not begun.
    Opening,
    /// The answer had begun.
    Answering,
}

/// What happened, as far as it can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::call) struct Classified {
    pub(in crate::call) error: AttemptError,
    pub(in crate::call) pushback: Pushback,
    /// For people who debug; holds no address.
    pub(in crate::call) detail: String,
}

impl Classified {
    /// Whether nobody was there: no connection came to be. A service that says that it admits no
    /// more was reached.
    pub(super) fn is_unreachable(&self) -> bool {
        self.error == AttemptError::NotSent && !self.detail.ends_with(reason::NOT_ADMITTED)
    }
}

/// When the service wants to be asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::call) enum Pushback {
    /// It does not say.
    #[default]
    None,
    /// Not before this time has passed.
    After(Duration),
    /// Not at all.
    Never,
}

/// Says what a status means.
pub(in crate::call) fn classify(status: &Status, phase: Phase) -> Classified {
    if let Some((error, cause)) = of_transport(status, phase) {
        let detail = format!("{}: {cause}", name(status.code()));
        return Classified { error, pushback: Pushback::None, detail };
    }
    let details = status.get_error_details();
    let reason = details
        .error_info()
        .filter(|info| info.domain == reason::DOMAIN)
        .map(|info| info.reason.as_str());
    let error = match reason {
        Some(reason::STALE_OWNER) => AttemptError::Fenced,
        Some(reason::NOT_ADMITTED) => AttemptError::NotSent,
        Some(reason::UNKNOWN_CALL) => AttemptError::UnknownCall,
        Some(reason::OUTCOME_GONE) => AttemptError::OutcomeGone,
        Some(reason::UNKNOWN_TOOL) => AttemptError::Refused(Failure::new(
            Kind::NotFound,
            "its service does not offer this tool any more",
        )),
        Some(_) | None => of_code(status, phase),
    };
    let error = match error {
        AttemptError::Refused(mut failure) if failure.kind == Kind::InvalidArguments => {
            let fields = details.bad_request().map(|request| &request.field_violations);
            let fields = fields.into_iter().flatten().take(MAX_VIOLATIONS);
            failure.violations = fields
                .map(|field| Violation {
                    pointer: clip(&field.field),
                    message: clip(&field.description),
                })
                .collect();
            AttemptError::Refused(failure)
        }
        other => other,
    };
    let detail = match reason {
        Some(reason) => format!("{}: {}", name(status.code()), clip(reason)),
        None => name(status.code()).to_owned(),
    };
    let retry_info = details.retry_info().and_then(|info| info.retry_delay);
    Classified { error, pushback: pushback(status, retry_info), detail }
}

/// What a status that the other side sent means by its code alone.
fn of_code(status: &Status, phase: Phase) -> AttemptError {
    let refused = |kind, words| AttemptError::Refused(Failure::new(kind, words));
    match status.code() {
        // No service says this once it has begun to answer: it is our own limit for a message.
        Code::OutOfRange if phase == Phase::Answering => AttemptError::Unanswered(Lost::Broken),
        Code::InvalidArgument | Code::OutOfRange => {
            refused(Kind::InvalidArguments, "the service refused the arguments")
        }
        Code::NotFound => refused(Kind::NotFound, "the service does not know what was asked for"),
        Code::AlreadyExists => refused(Kind::Conflict, "what should be made is there already"),
        Code::PermissionDenied => refused(Kind::PermissionDenied, "the service may not do this"),
        Code::FailedPrecondition => {
            refused(Kind::Conflict, "something must be different first; look at the state again")
        }
        Code::Unauthenticated => AttemptError::Unauthenticated,
        Code::Aborted => AttemptError::Aborted,
        Code::ResourceExhausted => AttemptError::Exhausted,
        Code::Unavailable => AttemptError::Unanswered(Lost::Gone),
        Code::DeadlineExceeded => AttemptError::Unanswered(Lost::TimedOut),
        Code::Cancelled => AttemptError::Unanswered(Lost::Cancelled),
        Code::Unknown | Code::Internal | Code::Ok => AttemptError::Unanswered(Lost::Broken),
        Code::DataLoss | Code::Unimplemented => {
            AttemptError::Unusable { answered: phase == Phase::Answering }
        }
    }
}

/// What our own end of the connection saw; `None` for a status that the other side sent.
fn of_transport(status: &Status, phase: Phase) -> Option<(AttemptError, String)> {
    let mut source = status.source();
    source?;
    let is_opening = phase == Phase::Opening;
    let mut found = None;
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return Some((AttemptError::NotSent, cause(error)));
        }
        if error.is::<TimeoutExpired>() {
            found = Some((Lost::TimedOut, "time is over".to_owned()));
        }
        if let Some(hyper) = error.downcast_ref::<hyper::Error>()
            && hyper.is_canceled()
            && is_opening
        {
            // The connection closed while the request was still in the queue.
            return Some((AttemptError::NotSent, "closed before it was sent".to_owned()));
        }
        if let Some(h2) = error.downcast_ref::<h2::Error>() {
            let is_refused = h2.is_reset() && h2.reason() == Some(h2::Reason::REFUSED_STREAM);
            let is_left_out = h2.is_go_away();
            if is_opening && h2.is_remote() && (is_refused || is_left_out) {
                return Some((AttemptError::NotSent, frame(h2)));
            }
            found = Some((lost(h2), frame(h2)));
        }
        source = error.source();
    }
    let (lost, cause) = found.unwrap_or_else(|| {
        let cause = status.source().map(cause).unwrap_or_default();
        (Lost::Gone, cause)
    });
    Some((AttemptError::Unanswered(lost), cause))
}

fn lost(error: &h2::Error) -> Lost {
    match error.reason() {
        None | Some(h2::Reason::REFUSED_STREAM) => Lost::Gone,
        Some(h2::Reason::CANCEL) => Lost::Cancelled,
        Some(_) if error.is_go_away() && error.is_remote() => Lost::Gone,
        Some(_) => Lost::Broken,
    }
}

fn frame(error: &h2::Error) -> String {
    let kind = if error.is_go_away() { "GOAWAY" } else { "RST_STREAM" };
    match (error.reason(), error.get_io()) {
        (Some(reason), _) => format!("{kind} {}", reason.description()),
        (None, Some(io)) => io.kind().to_string(),
        (None, None) => "connection lost".to_owned(),
    }
}

/// The kind of the innermost error of the operating system, which names no address.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut kind = None;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            kind = Some(io.kind());
        }
        next = error.source();
    }
    kind.map_or_else(|| "connection lost".to_owned(), |kind| kind.to_string())
}

fn pushback(status: &Status, retry_info: Option<Duration>) -> Pushback {
    let asked = status.metadata().get("grpc-retry-pushback-ms");
    match asked.and_then(|value| value.to_str().ok()).map(str::parse::<i64>) {
        Some(Ok(ms)) => u64::try_from(ms)
            .map_or(Pushback::Never, |ms| Pushback::After(Duration::from_millis(ms).min(MAX_WAIT))),
        // What cannot be read means "never", as gRPC has it.
        Some(Err(_)) => Pushback::Never,
        None => retry_info.map_or(Pushback::None, |wait| Pushback::After(wait.min(MAX_WAIT))),
    }
}

/// A code as gRPC's documents write it.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

fn clip(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests;
