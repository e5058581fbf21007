//! What should be running now, from the state alone. Asked twice it answers the same.
//!
//! At most one [`Effect::Record`] or [`Effect::StartRun`] comes back, alone: do it and ask again.
//! Everything else is a set of effects that take time. How a run ends is decided in `end`.

use super::{
    call::{Call, Phase},
    effect::Effect,
    end,
    event::{CallSettled, CallStatus, Event, FailureInfo, Limit},
    limits,
    state::{Run, Session},
};

impl Session {
    /// True if nothing is left to do.
    pub fn is_idle(&self) -> bool {
        self.current.is_none()
            && self.waiting.is_empty()
            && self.undoing().is_none()
            && self.forget.is_none()
    }

    /// The effects that should be running now.
    pub fn next(&self) -> Vec<Effect> {
        if let Some(undo) = self.next_of_rollback() {
            return vec![undo];
        }
        if self.forget.is_some() {
            return vec![Effect::Forget];
        }
        match (&self.current, self.waiting.front()) {
            (Some(run), _) => next_of_run(run),
            (None, Some(waiting)) => vec![Effect::StartRun(waiting.input.run.clone())],
            (None, None) => Vec::new(),
        }
    }
}

fn next_of_run(run: &Run) -> Vec<Effect> {
    if let Some(settled) = settle_what_will_not_run(run) {
        return vec![Effect::Record(Event::CallSettled(settled))];
    }
    if run.cancel.is_some() || is_cut_short(run) {
        let stops = stops(run);
        if !stops.is_empty() {
            return stops;
        }
    }
    if let Some(ended) = end::of(run) {
        return vec![Effect::Record(Event::RunEnded(ended))];
    }
    let open: Vec<&Call> = run.calls().filter(|call| call.settled.is_none()).collect();
    if open.is_empty() { next_of_model(run) } else { next_of_calls(run, &open) }
}

/// A bound that ends what is running, not only what would come next.
fn is_cut_short(run: &Run) -> bool {
    run.limit.as_ref().is_some_and(|hit| hit.limit == Limit::Time)
}

/// A call that has no attempt to wait for and will get none.
fn settle_what_will_not_run(run: &Run) -> Option<CallSettled> {
    let is_over = run.cancel.is_some() || is_cut_short(run);
    run.calls().enumerate().filter(|(_, call)| call.settled.is_none()).find_map(|(nth, call)| {
        if call.phase() == Phase::Denied {
            return Some(denied(run, call));
        }
        if is_over && call.attempts.is_empty() {
            return Some(cancelled(run, call));
        }
        let is_over_count = nth >= usize_of(run.started.limits.max_calls);
        (is_over_count && call.planned.is_none()).then(|| over_count(run, call))
    })
}

fn stops(run: &Run) -> Vec<Effect> {
    let open = run.calls().filter(|call| call.settled.is_none());
    open.filter_map(|call| {
        // Also one that was answered: only its service can say what the call did before.
        let attempt = call.attempts.last()?.started.clone();
        Some(Effect::Stop { call: call.wanted.call_id.clone(), attempt })
    })
    .collect()
}

fn next_of_calls(run: &Run, open: &[&Call]) -> Vec<Effect> {
    let mut effects = Vec::with_capacity(open.len() + 1);
    let mut free = usize_of(run.started.limits.max_parallel);
    for call in open {
        let id = call.wanted.call_id.clone();
        match call.phase() {
            Phase::Asked => {
                let at_ms = call.asked.as_ref().map_or(0, |asked| asked.expires_ms);
                effects.push(Effect::Lapse { call: id, at_ms });
            }
            Phase::Wanted if free > 0 => {
                free -= 1;
                effects.push(Effect::Judge(id));
            }
            Phase::Runnable if free > 0 => {
                free -= 1;
                effects.push(Effect::Invoke(id));
            }
            Phase::Wanted | Phase::Runnable | Phase::Denied | Phase::Settled => {}
        }
    }
    if !run.is_waiting() {
        effects.push(expire(run));
    }
    effects
}

fn next_of_model(run: &Run) -> Vec<Effect> {
    // What was asked already was within the bounds.
    if run.limit.is_none() && !run.is_asking {
        if let Some(hit) = limits::hit(run) {
            return vec![Effect::Record(Event::LimitHit(hit))];
        }
        if let Some(missed) = limits::missed(run) {
            return vec![Effect::Record(Event::ProgressMissed(missed))];
        }
    }
    let request = if run.is_asking { run.requests } else { run.requests + 1 };
    let ask = Effect::CallModel { request, with_tools: run.limit.is_none() };
    if run.limit.is_some() { vec![ask] } else { vec![ask, expire(run)] }
}

fn expire(run: &Run) -> Effect {
    Effect::Expire { at_elapsed_ms: run.started.limits.max_time_ms }
}

fn denied(run: &Run, call: &Call) -> CallSettled {
    let decided = call.decided.as_ref();
    let note = decided.map_or("", |decided| decided.note.trim());
    let tool = call.planned.as_ref().map_or(&call.wanted.name, |planned| &planned.tool);
    let end = if note.ends_with(['.', '!', '?', '。', '！', '？']) { "" } else { "." };
    let message = match decided.map_or("", |decided| decided.by.as_str()) {
        "timeout" => format!("`{tool}` was not run: nobody decided in time."),
        "nobody" => format!("{note}{end}"),
        _ if note.is_empty() => format!(
            "`{tool}` was not run: a person denied it. Do not try the same again; ask what they want."
        ),
        _ => format!("`{tool}` was not run: a person denied it and said: {note}{end}"),
    };
    settled(run, call, CallStatus::Denied, "permission_denied", message)
}

fn cancelled(run: &Run, call: &Call) -> CallSettled {
    let message = "Not made: the run was ended first.".to_owned();
    settled(run, call, CallStatus::Cancelled, "cancelled", message)
}

fn over_count(run: &Run, call: &Call) -> CallSettled {
    let max = run.started.limits.max_calls;
    let message = format!("Not made: the run may make at most {max} tool calls.");
    settled(run, call, CallStatus::Failed, "rate_limited", message)
}

fn settled(run: &Run, call: &Call, status: CallStatus, kind: &str, message: String) -> CallSettled {
    CallSettled {
        call_id: call.wanted.call_id.clone(),
        status,
        content: message.clone(),
        failure: Some(FailureInfo { kind: kind.to_owned(), message, violations: Vec::new() }),
        duration_ms: run.elapsed_ms.saturating_sub(call.planned_at_ms),
        ..CallSettled::default()
    }
}

fn usize_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
