//! What came of calls that were to be taken back, a step each.

use callboard_proto::agent::RollbackStep;

use crate::{
    run::{event::UndoStatus, ids::CallId, rollback::Rollback},
    session::{Looked, TakenBack},
};

/// What would come of it.
pub(crate) fn looked(looked: Vec<Looked>) -> Vec<RollbackStep> {
    let status = |status: UndoStatus| match status {
        UndoStatus::Undone => "would_undo",
        UndoStatus::Conflict | UndoStatus::NotReversible | UndoStatus::Failed => status.as_str(),
    };
    looked.into_iter().map(|one| step(&one.call, status(one.status), one.message)).collect()
}

/// What came of it.
pub(crate) fn taken_back(done: TakenBack) -> Vec<RollbackStep> {
    match done {
        TakenBack::Looked(plan) => looked(plan),
        TakenBack::Over(rollback) => over(rollback),
    }
}

fn over(rollback: Rollback) -> Vec<RollbackStep> {
    let made = rollback.steps.len();
    let ended = rollback.steps.into_iter();
    let ended = ended.map(|ended| step(&ended.call_id, ended.status.as_str(), ended.message));
    let skipped = rollback.asked.calls.iter().skip(made);
    let why = "the rollback stopped before this call";
    ended.chain(skipped.map(|call| step(call, "skipped", why.to_owned()))).collect()
}

fn step(call: &CallId, status: &str, message: String) -> RollbackStep {
    RollbackStep { call_id: call.to_string(), status: status.to_owned(), message }
}
