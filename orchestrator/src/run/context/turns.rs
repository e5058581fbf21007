//! Runs as messages, and the three ways of making them fit: shrink results, leave earlier runs
//! out, leave the oldest steps of the current run out.

use std::collections::HashSet;

use super::{
    AssistantCall, Message, SHRUNK_CHARS,
    size::{PER_MESSAGE, cut, estimate},
};
use crate::run::{
    call::Call,
    choice,
    event::Input,
    rollback,
    state::{Run, Step},
};

/// The messages of one run besides system prompt and, for the current run, its input.
pub(super) struct Turn {
    input: Option<String>,
    steps: Vec<StepMessages>,
    closing: Option<String>,
    left_out: usize,
}

struct StepMessages {
    assistant: Message,
    results: Vec<ResultMessage>,
}

struct ResultMessage {
    message: Message,
    artifact: String,
}

impl Turn {
    /// An earlier run with its input and its answer; `None` for one without a conversation.
    pub(super) fn of_ended(run: &Run, ids: &mut HashSet<String>) -> Option<Self> {
        let Input::Text(input) = &run.input.input else { return None };
        let mut turn = Self::of_current(run, ids);
        let answer = run.ended.as_ref().map_or("", |ended| ended.answer.as_str());
        let has_answer = run.steps.last().is_some_and(|step| {
            step.calls.is_empty() && step.reply.as_ref().is_some_and(|r| !r.text.trim().is_empty())
        });
        turn.input = Some(input.clone());
        turn.closing = (!has_answer).then(|| format!("[{answer}]"));
        Some(turn)
    }

    /// The current run after its input.
    pub(super) fn of_current(run: &Run, ids: &mut HashSet<String>) -> Self {
        let steps = run.steps.iter().filter_map(|step| StepMessages::of(step, ids)).collect();
        Self { input: None, steps, closing: None, left_out: 0 }
    }

    pub(super) fn into_messages(self) -> Vec<Message> {
        let mut messages: Vec<_> = self.input.map(Message::User).into_iter().collect();
        if self.left_out > 0 {
            let text = format!("[Note] {} earlier steps of this run are left out.", self.left_out);
            messages.push(Message::User(text));
        }
        for step in self.steps {
            messages.push(step.assistant);
            messages.extend(step.results.into_iter().map(|result| result.message));
        }
        messages.extend(self.closing.map(|text| Message::Assistant {
            text,
            reasoning: String::new(),
            calls: Vec::new(),
        }));
        messages
    }

    fn messages(&self) -> usize {
        let steps: usize = self.steps.iter().map(|step| 1 + step.results.len()).sum();
        usize::from(self.input.is_some()) + steps + usize::from(self.closing.is_some())
    }

    fn result_tokens(&self) -> u32 {
        let results = self.steps.iter().flat_map(|step| &step.results);
        results.map(|result| tokens(&result.message)).sum()
    }

    fn tokens(&self) -> u32 {
        let text =
            |text: &Option<String>| text.as_ref().map_or(0, |text| estimate(text) + PER_MESSAGE);
        let note = if self.left_out > 0 { 20 } else { 0 };
        let steps: u32 = self.steps.iter().map(StepMessages::tokens).sum();
        text(&self.input) + text(&self.closing) + note + steps
    }
}

impl StepMessages {
    fn of(step: &Step, ids: &mut HashSet<String>) -> Option<Self> {
        let reply = step.reply.as_ref()?;
        if step.calls.is_empty() && reply.text.trim().is_empty() {
            return None;
        }
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for call in &step.calls {
            let id = unique(&call.wanted.model_id, ids);
            results.push(ResultMessage::of(call, &id));
            calls.push(AssistantCall {
                id,
                name: call.wanted.name.clone(),
                arguments: arguments(call),
            });
        }
        let assistant = Message::Assistant {
            text: reply.text.clone(),
            reasoning: reply.reasoning.clone(),
            calls,
        };
        Some(Self { assistant, results })
    }

    fn tokens(&self) -> u32 {
        let results: u32 = self.results.iter().map(|result| tokens(&result.message)).sum();
        tokens(&self.assistant) + results
    }
}

impl ResultMessage {
    fn of(call: &Call, id: &str) -> Self {
        let settled = call.settled.as_ref();
        let content = settled.map_or_else(
            || "The result is unknown: the work was interrupted.".to_owned(),
            |settled| settled.content.clone(),
        );
        let remarks = [rollback::remark(call), choice::remark(call)];
        let lines: Vec<String> = remarks.into_iter().flatten().chain([content]).collect();
        let content = lines.join("\n");
        let message = Message::Tool { id: id.to_owned(), name: call.wanted.name.clone(), content };
        Self { message, artifact: settled.map_or(String::new(), |s| s.artifact.clone()) }
    }

    fn shrink(&mut self, max_chars: usize) {
        let Message::Tool { content, .. } = &mut self.message else { return };
        let count = content.chars().count();
        if count <= max_chars {
            return;
        }
        let handle = match self.artifact.as_str() {
            "" => format!(" [shortened from {count} characters]"),
            id => format!(" [shortened from {count} characters; artifact {id}]"),
        };
        let room = max_chars.saturating_sub(handle.chars().count());
        // Where not even the handle has room, the beginning says more than the handle would.
        *content = if room > 0 { cut(content, room) + &handle } else { cut(content, max_chars) };
    }
}

/// Tokens of one message.
pub(super) fn tokens(message: &Message) -> u32 {
    PER_MESSAGE
        + match message {
            Message::System(text) | Message::User(text) => estimate(text),
            Message::Assistant { text, reasoning, calls } => {
                let calls: u32 = calls
                    .iter()
                    .map(|call| estimate(&call.name) + estimate(&call.arguments) + PER_MESSAGE)
                    .sum();
                estimate(text) + estimate(reasoning) + calls
            }
            Message::Tool { content, .. } => estimate(content),
        }
}

/// Drops the oldest turns so that at most `max` messages stay; returns how many were dropped.
pub(super) fn leave_window(earlier: &mut Vec<Turn>, max: usize) -> usize {
    let mut messages = 0;
    let kept = earlier
        .iter()
        .rev()
        .take_while(|turn| {
            messages += turn.messages();
            messages <= max
        })
        .count();
    let dropped = earlier.len() - kept;
    earlier.drain(..dropped);
    dropped
}

/// Tokens that may be taken.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// By everything.
    pub(super) all: u32,
    /// By results alone.
    pub(super) results: u32,
}

impl Bounds {
    fn hold(self, earlier: &[Turn], now: &Turn) -> bool {
        let turns = || earlier.iter().chain(std::iter::once(now));
        turns().map(Turn::tokens).sum::<u32>() <= self.all
            && turns().map(Turn::result_tokens).sum::<u32>() <= self.results
    }
}

/// Shrinks results, oldest first, until all of them together take at most `max` tokens; those of
/// the newest step stay whole, for the model has not read them yet.
pub(super) fn shrink_results(earlier: &mut [Turn], now: &mut Turn, max: u32) {
    let mut taken: u32 = earlier.iter().map(Turn::result_tokens).sum();
    taken += now.result_tokens();
    let older = now.steps.len().saturating_sub(1);
    let oldest_first = earlier
        .iter_mut()
        .flat_map(|turn| &mut turn.steps)
        .chain(now.steps.iter_mut().take(older))
        .flat_map(|step| &mut step.results);
    for result in oldest_first {
        if taken <= max {
            return;
        }
        taken -= tokens(&result.message);
        result.shrink(SHRUNK_CHARS);
        taken += tokens(&result.message);
    }
}

/// Leaves out what is oldest until the bounds hold: earlier runs, then large arguments, then steps
/// of the current run. Returns how many earlier runs were left out.
pub(super) fn fit(earlier: &mut Vec<Turn>, now: &mut Turn, bounds: Bounds) -> usize {
    let mut dropped = 0;
    while !earlier.is_empty() && !bounds.hold(earlier, now) {
        earlier.remove(0);
        dropped += 1;
    }
    for nth in 0..now.steps.len() {
        if bounds.hold(earlier, now) {
            return dropped;
        }
        if let Some(step) = now.steps.get_mut(nth) {
            leave_arguments_out(&mut step.assistant);
        }
    }
    while now.steps.len() > 1 && !bounds.hold(earlier, now) {
        now.steps.remove(0);
        now.left_out += 1;
    }
    if !bounds.hold(earlier, now) {
        share_among_newest(now, bounds.results);
    }
    dropped
}

/// Cuts the results of the only step that is left to equal shares of what results may take.
fn share_among_newest(now: &mut Turn, max: u32) {
    let Some(step) = now.steps.last_mut() else { return };
    let share = max / u32::try_from(step.results.len().max(1)).unwrap_or(u32::MAX);
    // A character is at most one token.
    let chars = usize::try_from(share.saturating_sub(PER_MESSAGE)).unwrap_or(usize::MAX);
    for result in &mut step.results {
        result.shrink(chars);
    }
}

/// Replaces arguments that are larger than a shrunk result by a word about their size.
fn leave_arguments_out(assistant: &mut Message) {
    let Message::Assistant { calls, .. } = assistant else { return };
    for call in calls {
        let count = call.arguments.chars().count();
        if count > SHRUNK_CHARS {
            call.arguments = format!("{{\"left_out\":\"{count} characters\"}}");
        }
    }
}

/// The arguments as a provider accepts them: JSON text, also where the model wrote none.
fn arguments(call: &Call) -> String {
    if let Some(planned) = &call.planned {
        return planned.arguments.clone();
    }
    let raw = call.wanted.arguments.trim();
    let is_object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(raw).is_ok();
    if is_object {
        return raw.to_owned();
    }
    serde_json::json!({ "not_json": raw }).to_string()
}

/// An id that no other call of the request has.
fn unique(wanted: &str, ids: &mut HashSet<String>) -> String {
    let base = if wanted.is_empty() { "call" } else { wanted };
    let mut id = base.to_owned();
    let mut nth = 1;
    while !ids.insert(id.clone()) {
        nth += 1;
        id = format!("{base}_{nth}");
    }
    id
}
