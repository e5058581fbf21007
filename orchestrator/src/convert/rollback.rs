//! What came of calls that were to be taken back, a step each.

use callboard_proto::agent::{RollbackResponse, RollbackStep};

use crate::{
    run::{event::UndoStatus, ids::CallId, rollback::Rollback},
    session::{Looked, TakenBack},
};

/// What would come of it.
pub(crate) fn looked(looked: Vec<Looked>) -> RollbackResponse {
    let status = |status: UndoStatus| match status {
        UndoStatus::Undone => "would_undo",
        UndoStatus::Conflict | UndoStatus::NotReversible | UndoStatus::Failed => status.as_str(),
    };
    let steps = looked.into_iter().map(|one| step(&one.call, status(one.status), one.message));
    RollbackResponse { steps: steps.collect(), goes_on: false }
}

/// What came of it.
pub(crate) fn taken_back(done: TakenBack) -> RollbackResponse {
    match done {
        TakenBack::Looked(plan) => looked(plan),
        TakenBack::Over(rollback) => {
            let rest = ("skipped", "the rollback stopped before this call");
            RollbackResponse { steps: steps(rollback, rest), goes_on: false }
        }
        TakenBack::GoesOn(rollback) => {
            let rest = ("waiting", "the rollback has not come to this call yet");
            RollbackResponse { steps: steps(rollback, rest), goes_on: true }
        }
    }
}

/// The steps that were made, and `rest` for all others.
fn steps(rollback: Rollback, rest: (&str, &str)) -> Vec<RollbackStep> {
    let made = rollback.steps.len();
    let ended = rollback.steps.into_iter();
    let ended = ended.map(|ended| step(&ended.call_id, ended.status.as_str(), ended.message));
    let (status, why) = rest;
    let others = rollback.asked.calls.iter().skip(made);
    ended.chain(others.map(|call| step(call, status, why.to_owned()))).collect()
}

fn step(call: &CallId, status: &str, message: String) -> RollbackStep {
    RollbackStep { call_id: call.to_string(), status: status.to_owned(), message }
}
