//! Why there is no outcome: the only place where refusals become gRPC statuses. Callers decide by
//! the reason in `google.rpc.ErrorInfo`, so each refusal that they must tell apart has one.

use std::{collections::HashMap, time::Duration};

use callboard_proto::reason;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::{Failure, calls::Refusal, fence::Fenced, store::Fault};

/// When a full instance may be asked again.
const FULL_RETRY: Duration = Duration::from_millis(250);

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let (code, reason, message) = match refusal {
            Refusal::Fenced(Fenced::Stale { seen }) => {
                return stale(seen.generation, seen.revision);
            }
            Refusal::Fenced(Fenced::TooMany) => {
                (Code::ResourceExhausted, reason::NOT_ADMITTED, "too many partitions")
            }
            Refusal::OtherIncarnation => (
                Code::Unavailable,
                reason::NOT_ADMITTED,
                "this is another incarnation than the one that was meant",
            ),
            Refusal::Draining => {
                (Code::Unavailable, reason::NOT_ADMITTED, "the instance is shutting down")
            }
            Refusal::Full => {
                (Code::ResourceExhausted, reason::NOT_ADMITTED, "the instance is full")
            }
            Refusal::UnknownCall => {
                (Code::NotFound, reason::UNKNOWN_CALL, "this call was never started here")
            }
            Refusal::OutcomeGone => (
                Code::DataLoss,
                reason::OUTCOME_GONE,
                "the call was started; how it ended is not known here",
            ),
            Refusal::Store(Fault::Full) => (
                Code::ResourceExhausted,
                reason::NOT_ADMITTED,
                "the disk that keeps the records of calls is full; nothing was started",
            ),
            Refusal::Store(Fault::Busy | Fault::Broken | Fault::Other(_)) => (
                Code::Unavailable,
                reason::NOT_ADMITTED,
                "the records of calls cannot be kept; nothing was started",
            ),
            Refusal::Busy => {
                return Self::aborted("the call is at work or is being taken back");
            }
            Refusal::OtherArguments => {
                return Self::already_exists("another call has this id");
            }
        };
        let mut details = details(reason, HashMap::new());
        if code == Code::ResourceExhausted {
            details.set_retry_info(Some(FULL_RETRY));
        }
        Self::with_error_details(code, message, details)
    }
}

/// This instance does not serve the workspace; another may.
pub(crate) fn other_workspace() -> Status {
    let details = details(reason::NOT_ADMITTED, HashMap::new());
    let message = "this instance does not serve the workspace";
    Status::with_error_details(Code::Unavailable, message, details)
}

/// The service does not offer the tool; the caller's catalog is out of date.
pub(crate) fn unknown_tool() -> Status {
    let details = details(reason::UNKNOWN_TOOL, HashMap::new());
    Status::with_error_details(Code::Unimplemented, "the service does not offer this tool", details)
}

/// Arguments that cannot even be judged.
pub(crate) fn invalid(failure: &Failure) -> Status {
    let violations: Vec<FieldViolation> = failure
        .violations
        .iter()
        .map(|violation| FieldViolation::new(&violation.pointer, &violation.message))
        .collect();
    let details = ErrorDetails::with_bad_request(violations);
    Status::with_error_details(Code::InvalidArgument, &failure.message, details)
}

fn stale(generation: u64, revision: u64) -> Status {
    let seen = HashMap::from([
        ("generation".to_owned(), generation.to_string()),
        ("revision".to_owned(), revision.to_string()),
    ]);
    let details = details(reason::STALE_OWNER, seen);
    Status::with_error_details(Code::FailedPrecondition, "a newer owner was seen", details)
}

fn details(reason: &str, metadata: HashMap<String, String>) -> ErrorDetails {
    ErrorDetails::with_error_info(reason, reason::DOMAIN, metadata)
}
