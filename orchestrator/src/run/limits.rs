//! When a run must stop: bounds of steps and tokens, and a lack of progress.
//!
//! Being stuck is not a count of calls: it is a row of steps in which every call, with its
//! arguments and its result, has been seen before. That covers identical calls and cycles of any
//! length, and spares the run that asks the same question and gets new answers.

use std::collections::HashSet;

use super::{
    call::Call,
    event::{Limit, LimitHit, ProgressMissed},
    state::Run,
};

/// Steps in a row without anything new after which the model is told.
pub const STALE_STEPS_TOLD: usize = 2;
/// Further steps without anything new after which the run is stopped.
pub const STALE_STEPS_STOPPED: usize = 2;

/// The bound that the run has reached, looked at when a model would be asked again.
pub fn hit(run: &Run) -> Option<LimitHit> {
    let limits = run.started.limits;
    let hit = |limit, message| Some(LimitHit { run: run.input.run.clone(), limit, message });
    if run.replies() >= limits.max_steps {
        let text = format!(
            "The limit of {} steps per run was reached (`max_steps`; `--max-steps` raises it).",
            limits.max_steps
        );
        return hit(Limit::Steps, text);
    }
    if run.calls().count() > usize::try_from(limits.max_calls).unwrap_or(usize::MAX) {
        let text = format!(
            "The limit of {} tool calls per run was reached (`max_calls`).",
            limits.max_calls
        );
        return hit(Limit::Calls, text);
    }
    let (input, output) = run.tokens();
    if limits.max_tokens > 0 && input + output >= limits.max_tokens {
        let text = format!(
            "The limit of {} tokens per run was reached (`max_tokens`).",
            limits.max_tokens
        );
        return hit(Limit::Tokens, text);
    }
    let is_stuck = run.missed.is_some()
        && run.steps.len() >= run.missed_at + STALE_STEPS_STOPPED
        && stale_steps(run) >= STALE_STEPS_TOLD + STALE_STEPS_STOPPED;
    if is_stuck {
        let text = "The run made no progress: its calls and their results repeated themselves.";
        return hit(Limit::Progress, text.to_owned());
    }
    None
}

/// What the model is told when it starts to repeat itself; once in a run.
pub fn missed(run: &Run) -> Option<ProgressMissed> {
    let is_due = run.missed.is_none() && stale_steps(run) >= STALE_STEPS_TOLD;
    is_due.then(|| ProgressMissed {
        run: run.input.run.clone(),
        message: "Your last calls brought nothing new: you made them before and got the same \
                  results. Use what you have, try another way, or say what is missing."
            .to_owned(),
    })
}

/// The working time is used up.
pub fn expired(run: &Run) -> LimitHit {
    let seconds = run.started.limits.max_time_ms / 1000;
    LimitHit {
        run: run.input.run.clone(),
        limit: Limit::Time,
        message: format!(
            "The limit of {seconds} s of working time per run was reached (`max_time_ms`)."
        ),
    }
}

/// Steps at the end of the run whose calls all were seen before with the same results.
fn stale_steps(run: &Run) -> usize {
    let mut seen = HashSet::new();
    let mut stale = 0;
    for step in run.steps.iter().filter(|step| !step.calls.is_empty()) {
        // Looked at against earlier steps only: twins within one step are one piece of news.
        let fresh: Vec<_> =
            step.calls.iter().map(signature).filter(|sign| !seen.contains(sign)).collect();
        stale = if fresh.is_empty() { stale + 1 } else { 0 };
        seen.extend(fresh);
    }
    stale
}

/// What makes a call the same as another one.
fn signature(call: &Call) -> (&str, &str, &str) {
    let (tool, arguments) = match &call.planned {
        Some(planned) => (planned.tool.as_str(), planned.arguments.as_str()),
        None => (call.wanted.name.as_str(), call.wanted.arguments.as_str()),
    };
    (tool, arguments, call.settled.as_ref().map_or("", |settled| settled.content.as_str()))
}
