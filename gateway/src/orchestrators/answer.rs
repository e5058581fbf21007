//! What an orchestrator's answer means for the question whether to ask again. The retry table of
//! tool calls is not here: this is about requests of clients, and a repeat meets the same run.

use std::error::Error as _;

use callboard_proto::{agent::Owner, reason};
use prost::Message as _;
use tonic::{Code, ConnectError, Response, Status};
use tonic_types::StatusExt as _;

/// End of the type of the detail that names an owner.
const OWNER_TYPE: &str = "/callboard.agent.v1.Owner";

/// One request's fate.
#[derive(Debug)]
pub(super) enum Answer<T> {
    /// It was answered.
    Given(Response<T>),
    /// Another orchestrator owns the session.
    Moved(Owner),
    /// It never arrived, or nothing was started.
    NotSent(Status),
    /// It may have arrived.
    Lost(Status),
    /// The answer is no.
    Refused(Status),
}

pub(super) fn read<T>(sent: Result<Response<T>, Status>) -> Answer<T> {
    let status = match sent {
        Ok(response) => return Answer::Given(response),
        Err(status) => status,
    };
    if let Some(owner) = owner(&status) {
        return Answer::Moved(owner);
    }
    if is_not_sent(&status) {
        return Answer::NotSent(status);
    }
    if is_lost(&status) { Answer::Lost(status) } else { Answer::Refused(status) }
}

/// Whether the connection, rather than the orchestrator, gave this status, or the orchestrator
/// cannot answer for a while.
pub(super) fn is_lost(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Cancelled | Code::Unknown => true,
        // What the other end said has no source; what broke on the way has.
        _ => status.source().is_some(),
    }
}

/// Whether an orchestrator says that its journal does not answer.
pub(super) fn is_storage_away(status: &Status) -> bool {
    let info = status.get_details_error_info();
    info.is_some_and(|info| info.reason == reason::STORAGE_AWAY)
}

/// The owner that a refusal names, with an empty instance where nobody owns the session.
pub(super) fn owner(status: &Status) -> Option<Owner> {
    if status.code() != Code::FailedPrecondition {
        return None;
    }
    let details = tonic_types::pb::Status::decode(status.details()).ok()?.details;
    let owner = details.iter().find(|detail| detail.type_url.ends_with(OWNER_TYPE))?;
    Owner::decode(owner.value.as_slice()).ok()
}

fn is_not_sent(status: &Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    let info = status.get_details_error_info();
    info.is_some_and(|info| info.reason == reason::NOT_ADMITTED)
}
