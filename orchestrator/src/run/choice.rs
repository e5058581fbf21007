//! What a person says of a call whose outcome is unknown, and what the model is told of it.
//!
//! The outcome itself stays what it was: a choice is a fact beside it. A call that is repeated is one
//! of another run, and walks the whole path again.

use super::{
    call::Call,
    event::{CallStatus, Choice, OutcomeChosen},
    ids::CallId,
    state::{Run, Session},
};

impl Session {
    /// Folds a choice in.
    pub(super) fn choose(&mut self, chosen: &OutcomeChosen) -> Result<(), &'static str> {
        let runs = self.current.as_deref_mut().into_iter().chain(self.ended.iter_mut().rev());
        let mut calls = runs.flat_map(|run| &mut run.steps).flat_map(|step| &mut step.calls);
        let call = calls.find(|call| call.wanted.call_id == chosen.call_id);
        let call = call.ok_or("nobody asked for the call")?;
        if !is_unknown(call) {
            return Err("the outcome is known");
        }
        if call.chosen.is_some() {
            return Err("another choice stands");
        }
        call.chosen = Some(chosen.clone());
        if !chosen.repeat_run.is_empty() {
            self.repeats.insert(chosen.repeat_run.clone(), chosen.call_id.clone());
        }
        Ok(())
    }

    /// Notes at the call that was repeated what came of it, if this run repeats one.
    pub(super) fn note_repetition(&mut self, run: &Run) {
        let Some(id) = self.repeats.remove(&run.input.run) else { return };
        let settled = run.calls().next_back().and_then(|call| call.settled.as_ref());
        let content = settled.map_or(String::new(), |settled| settled.content.clone());
        let mut calls = self.ended.iter_mut().rev().flat_map(|run| &mut run.steps);
        let found = calls.find_map(|step| step.calls.iter_mut().find(|c| c.wanted.call_id == id));
        if let Some(call) = found {
            call.repeated = Some(content);
        }
    }

    /// The run and the call with this id.
    pub fn call_in_run(&self, id: &CallId) -> Option<(&Run, &Call)> {
        let mut runs = self.current.as_deref().into_iter().chain(self.ended.iter().rev());
        runs.find_map(|run| Some((run, run.call(id)?)))
    }
}

/// True if nobody knows whether the call took effect.
pub fn is_unknown(call: &Call) -> bool {
    call.settled.as_ref().is_some_and(|settled| settled.status == CallStatus::OutcomeUnknown)
}

/// What the model is told of a choice, before the result as it was.
pub(super) fn remark(call: &Call) -> Option<String> {
    let chosen = call.chosen.as_ref()?;
    let said = match (chosen.choice, &call.repeated) {
        (Choice::Done, _) => "A person checked: it took effect. Do not repeat it.".to_owned(),
        (Choice::NotDone, _) => "A person checked: it did not take effect.".to_owned(),
        (Choice::Repeat, None) => "A person has it repeated; do not repeat it.".to_owned(),
        (Choice::Repeat, Some(result)) => {
            format!("A person had it repeated; do not repeat it. The result: {result}")
        }
    };
    let note = chosen.note.trim();
    Some(if note.is_empty() { format!("[{said}]") } else { format!("[{said} They say: {note}]") })
}
