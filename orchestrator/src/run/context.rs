//! What a model gets to see: messages for one model call, derived from the state of a session.
//!
//! The rules: the system prompt and the input of the current run are there word for word; a step is
//! one assistant message followed by one result per call, in the order of the calls; results take
//! at most half of the budget, the oldest shrink first; the whole fits the budget. `turns` turns
//! runs into messages, `size` measures and cuts. Next: `model` sends what comes out.

mod size;
mod turns;

use std::collections::HashSet;

pub use self::size::{cut, estimate};
use self::turns::{Bounds, Turn};
use super::{
    event::Input,
    state::{Run, Session},
};
use crate::digest::Digest;

/// Messages of earlier runs that are kept word for word; older runs become a summary.
pub const WINDOW_MESSAGES: usize = 20;
/// Characters of a result that was shrunk, its handle included.
pub const SHRUNK_CHARS: usize = 500;

/// One message of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The system prompt.
    System(String),
    /// A person's words, or a remark of ours.
    User(String),
    /// One reply of the model: its text and all of its calls.
    Assistant {
        /// The text, may be empty.
        text: String,
        /// Reasoning text for providers that want it back.
        reasoning: String,
        /// The calls, in order.
        calls: Vec<AssistantCall>,
    },
    /// The result of one call.
    Tool {
        /// Id of the call in the assistant message before it.
        id: String,
        /// The tool.
        name: String,
        /// The result as text.
        content: String,
    },
}

/// A call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantCall {
    /// Id, unique in the whole request.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Arguments, JSON text.
    pub arguments: String,
}

/// Tokens that the system prompt and an input take, whatever else is left out.
pub fn fixed_tokens(system_prompt: &str, input: &str) -> u32 {
    estimate(system_prompt) + estimate(input) + 2 * size::PER_MESSAGE
}

/// The messages for the next model call of the current run; empty if no run works.
///
/// `tool_tokens` is what the declarations of the offered tools take of the budget.
pub fn build(session: &Session, tool_tokens: u32) -> Vec<Message> {
    let Some(run) = &session.current else { return Vec::new() };
    let Input::Text(input) = &run.input.input else { return Vec::new() };
    let budget = run.started.context_tokens;
    let remarks = remarks(run);
    let taken = fixed_tokens(&run.started.system_prompt, input)
        + tool_tokens
        + remarks.iter().map(turns::tokens).sum::<u32>();
    let left = budget.saturating_sub(taken);

    let mut ids = HashSet::new();
    let mut earlier: Vec<Turn> =
        session.ended.iter().filter_map(|ended| Turn::of_ended(ended, &mut ids)).collect();
    let mut now = Turn::of_current(run, &mut ids);
    let summarised = turns::leave_window(&mut earlier, WINDOW_MESSAGES);
    // An eighth is kept for the summary of what does not fit.
    let bounds = Bounds { all: left - left / 8, results: (budget / 2).min(left) };
    turns::shrink_results(&mut earlier, &mut now, bounds.results);
    let dropped = turns::fit(&mut earlier, &mut now, bounds);
    let summary = summary(session, summarised + dropped, left / 8);

    let mut messages = vec![Message::System(run.started.system_prompt.clone())];
    messages.extend(summary);
    messages.extend(earlier.into_iter().flat_map(Turn::into_messages));
    messages.push(Message::User(input.clone()));
    messages.extend(now.into_messages());
    messages.extend(remarks);
    messages
}

/// What we tell the model besides its own conversation.
fn remarks(run: &Run) -> Vec<Message> {
    let mut remarks = Vec::new();
    if let Some(missed) = &run.missed {
        remarks.push(Message::User(format!("[Note] {}", missed.message)));
    }
    if let Some(hit) = &run.limit {
        remarks.push(Message::User(format!(
            "[Note] {} No more tools can be called. Sum up for the person what you found and \
             what is still open.",
            hit.message
        )));
    }
    remarks
}

/// A few lines in place of the `count` oldest runs.
fn summary(session: &Session, count: usize, tokens: u32) -> Option<Message> {
    let runs = session.ended.iter().filter(|run| !run.is_direct()).take(count);
    let mut lines = Vec::new();
    let mut left = tokens.saturating_sub(20);
    for run in runs.collect::<Vec<_>>().into_iter().rev() {
        let Input::Text(asked) = &run.input.input else { continue };
        let answer = run.ended.as_ref().map_or("", |ended| ended.answer.as_str());
        let line = format!("- Asked: {} Answered: {}", cut(asked, 160), cut(answer, 240));
        let Some(rest) = left.checked_sub(estimate(&line)) else { break };
        left = rest;
        lines.push(line);
    }
    lines.reverse();
    let text = format!("[Earlier in this conversation]\n{}", lines.join("\n"));
    (!lines.is_empty()).then_some(Message::User(text))
}

/// SHA-256 (lower-case hex) over the messages of a request.
pub fn digest(messages: &[Message]) -> String {
    let mut digest = Digest::default();
    let mut field = |text: &str| digest.field(text);
    for message in messages {
        match message {
            Message::System(text) => {
                field("system");
                field(text);
            }
            Message::User(text) => {
                field("user");
                field(text);
            }
            Message::Assistant { text, reasoning, calls } => {
                field("assistant");
                field(text);
                field(reasoning);
                for call in calls {
                    field(&call.id);
                    field(&call.name);
                    field(&call.arguments);
                }
            }
            Message::Tool { id, name, content } => {
                field("tool");
                field(id);
                field(name);
                field(content);
            }
        }
    }
    digest.finish()
}

#[cfg(test)]
mod tests;
