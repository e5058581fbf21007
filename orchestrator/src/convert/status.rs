//! Errors to gRPC statuses: the only place where a code is chosen for this protocol.

use callboard_discovery::Owner;
use callboard_proto::{agent, reason};
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use tracing::{error, warn};

use crate::{
    journal::JournalError,
    run::{ids::SessionId, rollback::Nothing},
    session::{Refusal, SessionError},
};

/// Type of the detail that names an owner.
const OWNER_TYPE: &str = "type.googleapis.com/callboard.agent.v1.Owner";
/// Type of the detail that names a reason.
const ERROR_INFO_TYPE: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// An error of a session. `owner` is who owns it as discovery knows it.
pub(crate) fn of_session(error: &SessionError, id: &SessionId, owner: Option<Owner>) -> Status {
    let text = error.to_string();
    match error {
        SessionError::NotFound => Status::not_found(text),
        SessionError::Refused(refusal) => of_refusal(refusal, text),
        SessionError::NotOwner => not_owner(owner),
        SessionError::Closed => Status::unavailable(text),
        SessionError::Unwritten(_) => {
            with_reason(Code::ResourceExhausted, text, reason::STORAGE_FULL)
        }
        SessionError::Away | SessionError::Unconfirmed => {
            with_reason(Code::Unavailable, text, reason::STORAGE_AWAY)
        }
        SessionError::Damaged(what) => {
            warn!(session = %id, what, "session refused");
            let text = format!(
                "session {id} is refused, others are not: {what}. `callboard sessions export {id}` \
                 saves what can be read of it; `callboard doctor` checks the whole journal"
            );
            with_reason(Code::DataLoss, text, reason::SESSION_DAMAGED)
        }
        SessionError::Journal(source) => of_journal(source),
    }
}

fn of_refusal(refusal: &Refusal, text: String) -> Status {
    let (code, reason) = match refusal {
        Refusal::Full { .. } => (Code::ResourceExhausted, reason::QUEUE_FULL),
        Refusal::KeyReused => (Code::AlreadyExists, reason::KEY_REUSED),
        Refusal::WrongKind { .. } => (Code::FailedPrecondition, reason::WRONG_KIND),
        Refusal::TooLarge { .. } => (Code::InvalidArgument, reason::TOO_LARGE),
        Refusal::NotAsked => (Code::FailedPrecondition, reason::NOT_ASKED),
        Refusal::NotUnknown => (Code::FailedPrecondition, reason::NOT_UNKNOWN),
        Refusal::Busy => (Code::FailedPrecondition, reason::SESSION_BUSY),
        Refusal::Nothing(Nothing::NoCall | Nothing::NoStep { .. }) => {
            (Code::NotFound, reason::NOTHING_TO_TAKE_BACK)
        }
        Refusal::Nothing(Nothing::Unchanged | Nothing::TakenBack(_)) => {
            (Code::FailedPrecondition, reason::NOTHING_TO_TAKE_BACK)
        }
        Refusal::OtherPreview => (Code::FailedPrecondition, reason::PREVIEW_CHANGED),
    };
    with_reason(code, text, reason)
}

/// A request that cannot be right.
pub(crate) fn invalid(text: impl Into<String>, reason: &str) -> Status {
    with_reason(Code::InvalidArgument, text.into(), reason)
}

/// The journal's error: the outer text is chosen, the inner one is logged.
pub(crate) fn of_journal(source: &JournalError) -> Status {
    if let JournalError::Unreachable(_) = source {
        // That it is away is said once.
        return with_reason(
            Code::Unavailable,
            SessionError::Away.to_string(),
            reason::STORAGE_AWAY,
        );
    }
    error!(error = %source, "journal unavailable");
    Status::unavailable("the journal does not answer; try again")
}

fn with_reason(code: Code, text: String, reason: &str) -> Status {
    let details = ErrorDetails::with_error_info(reason, reason::DOMAIN, []);
    Status::with_error_details(code, text, details)
}

fn not_owner(owner: Option<Owner>) -> Status {
    let text = "another orchestrator owns the session".to_owned();
    let info = tonic_types::pb::ErrorInfo {
        reason: reason::NOT_OWNER.to_owned(),
        domain: reason::DOMAIN.to_owned(),
        ..Default::default()
    };
    let owner = owner.map_or_else(agent::Owner::default, |owner| agent::Owner {
        instance: owner.instance.to_string(),
        epoch_generation: 0,
        epoch_revision: owner.revision,
    });
    let any =
        |type_url: &str, value: Vec<u8>| prost_types::Any { type_url: type_url.to_owned(), value };
    let status = tonic_types::pb::Status {
        code: Code::FailedPrecondition.into(),
        message: text.clone(),
        details: vec![
            any(ERROR_INFO_TYPE, info.encode_to_vec()),
            any(OWNER_TYPE, owner.encode_to_vec()),
        ],
    };
    Status::with_details(Code::FailedPrecondition, text, status.encode_to_vec().into())
}
