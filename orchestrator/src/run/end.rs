//! Whether a run is over, and how it ended.

use super::{
    call::Call,
    event::{CallStatus, Finish, ModelReplied, RunEnded, RunStatus},
    state::{Run, Step},
};

/// Empty replies in a row after which the model is not asked again.
const EMPTY_REPLIES: usize = 2;

/// The end of a run with nothing left to do; `None` while there is.
pub fn of(run: &Run) -> Option<RunEnded> {
    if run.calls().any(|call| call.settled.is_none()) {
        return None;
    }
    if let Some(cancel) = &run.cancel {
        let answer = "The run was cancelled.".to_owned();
        return Some(ended(run, RunStatus::Cancelled, answer, &cancel.reason));
    }
    if run.is_direct() {
        return direct(run);
    }
    if let Some(failed) = &run.model_failed {
        return Some(match &run.limit {
            // The bound is the reason; that the last word failed too is not.
            Some(hit) => limit_reached(run, hit.message.clone()),
            None => ended(run, RunStatus::Failed, failed.message.clone(), &failed.kind),
        });
    }
    let step = run.steps.last()?;
    let reply = step.reply.as_ref()?;
    if run.is_asking || !step.calls.is_empty() {
        return None;
    }
    answered(run, step, reply)
}

fn direct(run: &Run) -> Option<RunEnded> {
    let call = run.calls().next_back()?;
    let settled = call.settled.as_ref()?;
    let (status, reason) = match settled.status {
        CallStatus::Ok => (RunStatus::Completed, ""),
        CallStatus::Failed => (RunStatus::Failed, "tool_failed"),
        CallStatus::Denied => (RunStatus::Denied, "denied"),
        CallStatus::Blocked => (RunStatus::Denied, "blocked"),
        CallStatus::Cancelled => (RunStatus::Cancelled, "cancelled"),
        CallStatus::OutcomeUnknown => (RunStatus::Failed, "outcome_unknown"),
    };
    Some(ended(run, status, settled.content.clone(), reason))
}

fn answered(run: &Run, step: &Step, reply: &ModelReplied) -> Option<RunEnded> {
    if let Some(hit) = &run.limit {
        // A reply from before the bound was hit is not the last word.
        return step.is_last_word.then(|| {
            let text = reply.text.trim();
            let answer = if text.is_empty() { hit.message.clone() } else { text.to_owned() };
            limit_reached(run, answer)
        });
    }
    if reply.text.trim().is_empty() {
        let trailing = run.steps.iter().rev().take_while(|step| is_empty(step)).count();
        let sentence = "The model gave an empty reply, twice. Ask again, or use another model.";
        return (trailing >= EMPTY_REPLIES)
            .then(|| ended(run, RunStatus::Failed, sentence.to_owned(), "empty_reply"));
    }
    let answer = reply.text.trim().to_owned();
    Some(match reply.finish {
        Finish::GaveUp if last_refusal(run).is_some() => {
            ended(run, RunStatus::Denied, answer, last_refusal(run).unwrap_or_default())
        }
        Finish::GaveUp => ended(run, RunStatus::Failed, answer, "gave_up"),
        Finish::ContentFilter => ended(run, RunStatus::Failed, answer, "content_filter"),
        Finish::Stop | Finish::ToolCalls | Finish::Length | Finish::Other => {
            match last_refusal(run) {
                Some(reason) => ended(run, RunStatus::Denied, answer, reason),
                None if reply.finish == Finish::Length => {
                    ended(run, RunStatus::Completed, answer, "length")
                }
                None => ended(run, RunStatus::Completed, answer, ""),
            }
        }
    })
}

/// `denied` or `blocked` if a call was refused and none succeeded after it.
fn last_refusal(run: &Run) -> Option<&'static str> {
    run.calls().rev().filter_map(status).find_map(|status| match status {
        CallStatus::Ok => Some(None),
        CallStatus::Denied => Some(Some("denied")),
        CallStatus::Blocked => Some(Some("blocked")),
        CallStatus::Failed | CallStatus::Cancelled | CallStatus::OutcomeUnknown => None,
    })?
}

fn status(call: &Call) -> Option<CallStatus> {
    call.settled.as_ref().map(|settled| settled.status)
}

fn is_empty(step: &Step) -> bool {
    let is_mute = step.reply.as_ref().is_some_and(|reply| reply.text.trim().is_empty());
    is_mute && step.calls.is_empty()
}

fn limit_reached(run: &Run, answer: String) -> RunEnded {
    let reason = run.limit.as_ref().map_or("", |hit| hit.limit.as_str());
    ended(run, RunStatus::LimitReached, answer, reason)
}

fn ended(run: &Run, status: RunStatus, answer: String, reason: &str) -> RunEnded {
    RunEnded { run: run.input.run.clone(), status, answer, reason: reason.to_owned() }
}
