//! The facts of a session. What is stored is `callboard.journal.v1`; this is how we think about it.
//!
//! Events are past tense and hold everything that the fold needs. Next: `state`.

use serde::{Deserialize, Serialize};

mod attempt;
mod call;
mod end;
mod forget;
mod model;
mod rollback;
mod session;

pub use self::{attempt::*, call::*, end::*, forget::*, model::*, rollback::*, session::*};

/// An event with what every event carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its number in the session, from 1, without gaps.
    pub seq: u64,
    /// When it was recorded, Unix time in milliseconds; orders nothing.
    pub wall_ms: i64,
    /// Working time of the run so far in milliseconds; waiting for a person does not count.
    pub elapsed_ms: u64,
    /// W3C `traceparent` of the run where the event starts one; else empty.
    pub trace_context: String,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// A session begins.
    #[serde(rename = "session.opened")]
    SessionOpened(SessionOpened),
    /// Another incarnation of an orchestrator took the session over.
    #[serde(rename = "owner.taken")]
    OwnerTaken(OwnerTaken),
    /// Somebody wants something.
    #[serde(rename = "input.received")]
    InputReceived(InputReceived),
    /// Work on an input begins.
    #[serde(rename = "run.started")]
    RunStarted(RunStarted),
    /// A model is asked.
    #[serde(rename = "model.requested")]
    ModelRequested(ModelRequested),
    /// A model answered.
    #[serde(rename = "model.replied")]
    ModelReplied(ModelReplied),
    /// A model call failed for good.
    #[serde(rename = "model.failed")]
    ModelFailed(ModelFailed),
    /// A call has a tool and arguments that fit its schema.
    #[serde(rename = "call.planned")]
    CallPlanned(CallPlanned),
    /// The verdict on a call.
    #[serde(rename = "call.judged")]
    CallJudged(CallJudged),
    /// A person is asked.
    #[serde(rename = "approval.asked")]
    ApprovalAsked(ApprovalAsked),
    /// The question is answered.
    #[serde(rename = "approval.decided")]
    ApprovalDecided(ApprovalDecided),
    /// A call is sent to an instance.
    #[serde(rename = "attempt.started")]
    AttemptStarted(AttemptStarted),
    /// An attempt is over.
    #[serde(rename = "attempt.ended")]
    AttemptEnded(AttemptEnded),
    /// A call has its one outcome.
    #[serde(rename = "call.settled")]
    CallSettled(CallSettled),
    /// A person says what holds of a call whose outcome is unknown.
    #[serde(rename = "outcome.chosen")]
    OutcomeChosen(OutcomeChosen),
    /// A person wants calls taken back.
    #[serde(rename = "rollback.asked")]
    RollbackAsked(RollbackAsked),
    /// One call of a rollback is being taken back.
    #[serde(rename = "rollback.started")]
    RollbackStarted(RollbackStarted),
    /// One call of a rollback is done with.
    #[serde(rename = "rollback.ended")]
    RollbackEnded(RollbackEnded),
    /// A session was removed, and whoever kept something of its calls is to forget it.
    #[serde(rename = "forget.asked")]
    ForgetAsked(ForgetAsked),
    /// The run makes no progress; the model is told once.
    #[serde(rename = "progress.missed")]
    ProgressMissed(ProgressMissed),
    /// A bound of the run is reached.
    #[serde(rename = "limit.hit")]
    LimitHit(LimitHit),
    /// Somebody wants the run to end.
    #[serde(rename = "cancel.asked")]
    CancelAsked(CancelAsked),
    /// The run is over.
    #[serde(rename = "run.ended")]
    RunEnded(RunEnded),
}

impl Event {
    /// The event's type as clients and the journal name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionOpened(_) => "session.opened",
            Self::OwnerTaken(_) => "owner.taken",
            Self::InputReceived(_) => "input.received",
            Self::RunStarted(_) => "run.started",
            Self::ModelRequested(_) => "model.requested",
            Self::ModelReplied(_) => "model.replied",
            Self::ModelFailed(_) => "model.failed",
            Self::CallPlanned(_) => "call.planned",
            Self::CallJudged(_) => "call.judged",
            Self::ApprovalAsked(_) => "approval.asked",
            Self::ApprovalDecided(_) => "approval.decided",
            Self::AttemptStarted(_) => "attempt.started",
            Self::AttemptEnded(_) => "attempt.ended",
            Self::CallSettled(_) => "call.settled",
            Self::OutcomeChosen(_) => "outcome.chosen",
            Self::RollbackAsked(_) => "rollback.asked",
            Self::RollbackStarted(_) => "rollback.started",
            Self::RollbackEnded(_) => "rollback.ended",
            Self::ForgetAsked(_) => "forget.asked",
            Self::ProgressMissed(_) => "progress.missed",
            Self::LimitHit(_) => "limit.hit",
            Self::CancelAsked(_) => "cancel.asked",
            Self::RunEnded(_) => "run.ended",
        }
    }
}
