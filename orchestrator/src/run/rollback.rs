//! Taking calls back: which, in which order, and how far it has come. A session that does nothing else
//! takes its calls back one by one, the latest first, and stops at the first that cannot be.
//!
//! Whether a call can be is for its service to say; who asks it, and when, is left to the session.

use thiserror::Error;

use super::{
    call::Call,
    effect::Effect,
    event::{CallStatus, Choice, Class, RollbackAsked, RollbackEnded, RollbackStarted, UndoStatus},
    ids::CallId,
    state::Session,
};

/// A rollback after the events so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollback {
    /// What was asked.
    pub asked: RollbackAsked,
    /// The calls that are done with, in the order of undoing.
    pub steps: Vec<RollbackEnded>,
    /// The next call was begun; whether its service did it, only the service knows.
    pub is_begun: bool,
}

/// What is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// One call.
    Call(CallId),
    /// All calls after a step of the session, counted from 1 over all of its runs.
    ToStep(usize),
}

/// Why there is nothing to take back.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Nothing {
    /// The session has no such call.
    #[error("no call of this session has this id")]
    NoCall,
    /// The session has fewer steps.
    #[error("the session has no step {wanted}: its last one is {last}")]
    NoStep {
        /// The step that was named.
        wanted: usize,
        /// The number of steps there are.
        last: usize,
    },
    /// The call cannot have changed anything.
    #[error("this call changed nothing, so there is nothing to take back")]
    Unchanged,
    /// It is done.
    #[error("this call was taken back already: {0}")]
    TakenBack(String),
}

impl Rollback {
    /// The call to take back next; `None` if the rollback is over.
    pub fn next(&self) -> Option<&CallId> {
        let is_stopped = self.steps.last().is_some_and(|last| last.status != UndoStatus::Undone);
        if is_stopped { None } else { self.asked.calls.get(self.steps.len()) }
    }
}

impl Session {
    /// The calls of ended runs that a rollback would take back, the latest first: those that may
    /// have changed something and were not taken back already. After a step there may be none.
    ///
    /// # Errors
    /// [`Nothing`]: there is no such step, or nothing of that call to take back.
    pub fn targets(&self, what: &What) -> Result<Vec<&Call>, Nothing> {
        let steps: Vec<_> = self.ended.iter().flat_map(|run| &run.steps).collect();
        match what {
            What::ToStep(wanted) => {
                let (wanted, last) = (*wanted, steps.len());
                let after = steps.get(wanted..).ok_or(Nothing::NoStep { wanted, last })?;
                let calls = after.iter().flat_map(|step| &step.calls).rev();
                Ok(calls.filter(|call| call.undone.is_none() && may_have_changed(call)).collect())
            }
            What::Call(id) => {
                let mut calls = steps.iter().flat_map(|step| &step.calls);
                let call = calls.find(|call| call.wanted.call_id == *id).ok_or(Nothing::NoCall)?;
                match &call.undone {
                    Some(restored) => Err(Nothing::TakenBack(restored.clone())),
                    None if may_have_changed(call) => Ok(vec![call]),
                    None => Err(Nothing::Unchanged),
                }
            }
        }
    }

    /// The rollback that somebody asked for under a key.
    pub fn rollback_under(&self, key: &str, by: &str) -> Option<&Rollback> {
        let is_it = |it: &&Rollback| !key.is_empty() && it.asked.key == key && it.asked.by == by;
        self.rollbacks.iter().rev().find(is_it)
    }

    /// The rollback that is under way.
    pub fn undoing(&self) -> Option<&Rollback> {
        self.rollbacks.last().filter(|last| last.next().is_some())
    }

    pub(super) fn next_of_rollback(&self) -> Option<Effect> {
        let rollback = self.undoing()?;
        let (id, call) = (rollback.asked.rollback.clone(), rollback.next()?.clone());
        Some(Effect::Undo { rollback: id, call })
    }

    pub(super) fn ask_rollback(&mut self, asked: &RollbackAsked) -> Result<(), &'static str> {
        if self.current.is_some() || self.undoing().is_some() {
            return Err("the session works");
        }
        let is_known = |id| self.call_in_run(id).is_some_and(|(_, call)| call.settled.is_some());
        if !asked.calls.iter().all(is_known) {
            return Err("it names a call that is not settled");
        }
        let asked = asked.clone();
        self.rollbacks.push(Rollback { asked, steps: Vec::new(), is_begun: false });
        Ok(())
    }

    pub(super) fn begin_undo(&mut self, started: &RollbackStarted) -> Result<(), &'static str> {
        let rollback = self.rollbacks.last_mut().filter(|last| {
            last.asked.rollback == started.rollback && last.next() == Some(&started.call_id)
        });
        rollback.ok_or("the call is not the next to take back")?.is_begun = true;
        Ok(())
    }

    pub(super) fn end_undo(&mut self, ended: &RollbackEnded) -> Result<(), &'static str> {
        let rollback = self.rollbacks.last_mut().filter(|last| {
            last.asked.rollback == ended.rollback && last.next() == Some(&ended.call_id)
        });
        let rollback = rollback.filter(|last| last.is_begun).ok_or("nothing was begun")?;
        rollback.is_begun = false;
        rollback.steps.push(ended.clone());
        if ended.status == UndoStatus::Undone {
            let steps = self.ended.iter_mut().rev().flat_map(|run| &mut run.steps);
            let mut calls = steps.flat_map(|step| &mut step.calls);
            if let Some(call) = calls.find(|call| call.wanted.call_id == ended.call_id) {
                call.undone = Some(ended.message.clone());
            }
        }
        Ok(())
    }
}

/// Whether a call may have left something behind: it was sent, to a tool that does more than read, and
/// neither its service nor a person says that nothing came of it.
fn may_have_changed(call: &Call) -> bool {
    let changes = call.planned.as_ref().is_some_and(|planned| planned.class != Class::Read);
    if !changes || call.attempts.is_empty() {
        return false;
    }
    let Some(settled) = &call.settled else { return false };
    match settled.status {
        CallStatus::Ok | CallStatus::Cancelled => true,
        CallStatus::OutcomeUnknown => {
            call.chosen.as_ref().is_none_or(|chosen| chosen.choice != Choice::NotDone)
        }
        // What took too long was stopped in the middle.
        CallStatus::Failed => {
            settled.failure.as_ref().is_some_and(|failure| failure.kind == "timeout")
        }
        CallStatus::Denied | CallStatus::Blocked => false,
    }
}

/// What the model is told of a call that was taken back, before the result as it was.
pub(super) fn remark(call: &Call) -> Option<String> {
    let restored = call.undone.as_ref()?;
    Some(format!("[A person had this taken back; its effect is gone: {restored}]"))
}

#[cfg(test)]
mod tests;
