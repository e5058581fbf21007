//! Events to `callboard.journal.v1` and back, pair by pair in the files beside this one.
//!
//! What is stored is read for ever: fields are only added, and a kind or word that this version
//! does not know stops its session, never the process. Next: `convert/session.rs`.

mod attempt;
mod call;
mod end;
mod forget;
mod model;
mod rollback;
mod session;
pub(super) mod word;

use callboard_proto::journal as wire;
use callboard_proto::journal::event::Kind;
use prost::Message as _;

use crate::run::event::{Event, Recorded};

/// Version of the payload's meaning that this program writes, and the highest that it reads.
pub(super) const SCHEMA: u32 = 1;

/// Why a payload cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The bytes are no event at all.
    #[error("the payload is no event")]
    Malformed(#[from] prost::DecodeError),
    /// A newer version wrote it.
    #[error("its schema {0} is newer than this program")]
    NewerSchema(u32),
    /// A kind of event that this version does not know.
    #[error("its kind `{0}` is not known to this program")]
    UnknownKind(String),
    /// A word that this version does not know.
    #[error("its {field} `{word}` is not known to this program")]
    UnknownWord {
        /// Where the word stands.
        field: &'static str,
        /// The word.
        word: String,
    },
    /// Bytes that must be text are not.
    #[error("its {0} is no UTF-8 text")]
    NoText(&'static str),
}

/// The wire form of an event.
pub(super) fn to_wire(recorded: Recorded) -> wire::Event {
    wire::Event {
        elapsed_ms: recorded.elapsed_ms,
        trace_context: recorded.trace_context,
        kind: Some(kind_to_wire(recorded.event)),
    }
}

/// The wire form that `payload` holds.
pub(super) fn decode(payload: &[u8], schema: u32) -> Result<wire::Event, ConvertError> {
    if schema > SCHEMA {
        return Err(ConvertError::NewerSchema(schema));
    }
    Ok(wire::Event::decode(payload)?)
}

/// The event again; `kind` is what its row says that it is.
pub(super) fn from_wire(
    event: wire::Event,
    (seq, wall_ms): (u64, i64),
    kind: &str,
) -> Result<Recorded, ConvertError> {
    let what = event.kind.ok_or_else(|| ConvertError::UnknownKind(kind.to_owned()))?;
    Ok(Recorded {
        seq,
        wall_ms,
        elapsed_ms: event.elapsed_ms,
        trace_context: event.trace_context,
        event: kind_from_wire(what)?,
    })
}

fn kind_to_wire(event: Event) -> Kind {
    match event {
        Event::SessionOpened(event) => Kind::SessionOpened(event.into()),
        Event::OwnerTaken(event) => Kind::OwnerTaken(event.into()),
        Event::InputReceived(event) => Kind::InputReceived(event.into()),
        Event::RunStarted(event) => Kind::RunStarted(event.into()),
        Event::ModelRequested(event) => Kind::ModelRequested(event.into()),
        Event::ModelReplied(event) => Kind::ModelReplied(event.into()),
        Event::ModelFailed(event) => Kind::ModelFailed(event.into()),
        Event::CallPlanned(event) => Kind::CallPlanned(event.into()),
        Event::CallJudged(event) => Kind::CallJudged(event.into()),
        Event::ApprovalAsked(event) => Kind::ApprovalAsked(event.into()),
        Event::ApprovalDecided(event) => Kind::ApprovalDecided(event.into()),
        Event::AttemptStarted(event) => Kind::AttemptStarted(event.into()),
        Event::AttemptEnded(event) => Kind::AttemptEnded(event.into()),
        Event::CallSettled(event) => Kind::CallSettled(event.into()),
        Event::OutcomeChosen(event) => Kind::OutcomeChosen(event.into()),
        Event::RollbackAsked(event) => Kind::RollbackAsked(event.into()),
        Event::RollbackStarted(event) => Kind::RollbackStarted(event.into()),
        Event::RollbackEnded(event) => Kind::RollbackEnded(event.into()),
        Event::ForgetAsked(event) => Kind::ForgetAsked(event.into()),
        Event::ProgressMissed(event) => Kind::ProgressMissed(event.into()),
        Event::LimitHit(event) => Kind::LimitHit(event.into()),
        Event::CancelAsked(event) => Kind::CancelAsked(event.into()),
        Event::RunEnded(event) => Kind::RunEnded(event.into()),
    }
}

fn kind_from_wire(kind: Kind) -> Result<Event, ConvertError> {
    Ok(match kind {
        Kind::SessionOpened(event) => Event::SessionOpened(event.try_into()?),
        Kind::OwnerTaken(event) => Event::OwnerTaken(event.into()),
        Kind::InputReceived(event) => Event::InputReceived(event.try_into()?),
        Kind::RunStarted(event) => Event::RunStarted(event.into()),
        Kind::ModelRequested(event) => Event::ModelRequested(event.into()),
        Kind::ModelReplied(event) => Event::ModelReplied(event.try_into()?),
        Kind::ModelFailed(event) => Event::ModelFailed(event.into()),
        Kind::CallPlanned(event) => Event::CallPlanned(event.try_into()?),
        Kind::CallJudged(event) => Event::CallJudged(event.try_into()?),
        Kind::ApprovalAsked(event) => Event::ApprovalAsked(event.into()),
        Kind::ApprovalDecided(event) => Event::ApprovalDecided(event.into()),
        Kind::AttemptStarted(event) => Event::AttemptStarted(event.into()),
        Kind::AttemptEnded(event) => Event::AttemptEnded(event.try_into()?),
        Kind::CallSettled(event) => Event::CallSettled(event.try_into()?),
        Kind::OutcomeChosen(event) => Event::OutcomeChosen(event.try_into()?),
        Kind::RollbackAsked(event) => Event::RollbackAsked(event.into()),
        Kind::RollbackStarted(event) => Event::RollbackStarted(event.into()),
        Kind::RollbackEnded(event) => Event::RollbackEnded(event.try_into()?),
        Kind::ForgetAsked(event) => Event::ForgetAsked(event.into()),
        Kind::ProgressMissed(event) => Event::ProgressMissed(event.into()),
        Kind::LimitHit(event) => Event::LimitHit(event.try_into()?),
        Kind::CancelAsked(event) => Event::CancelAsked(event.into()),
        Kind::RunEnded(event) => Event::RunEnded(event.try_into()?),
    })
}

/// JSON and other text that travels as bytes.
fn text(bytes: Vec<u8>, field: &'static str) -> Result<String, ConvertError> {
    String::from_utf8(bytes).map_err(|_| ConvertError::NoText(field))
}

#[cfg(test)]
mod tests;
