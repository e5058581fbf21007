//! What is going on: the input of the current run, and the results that came since.

use std::collections::VecDeque;

use crate::run::context::Message;

/// Beginning of remarks that are made to a model besides the conversation.
const REMARK: &str = "[Note] ";

/// The current run as its messages show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// What the person wants.
    pub(super) input: String,
    /// Results of calls, oldest first.
    pub(super) done: VecDeque<Done>,
}

/// One call with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// The tool.
    pub(super) tool: String,
    /// The result as text.
    pub(super) content: String,
}

impl Turn {
    /// Reads the messages of a request. Only the current run counts: what was said before is over.
    pub(super) fn of(messages: &[Message]) -> Self {
        let is_input =
            |message: &Message| matches!(message, Message::User(text) if !text.starts_with(REMARK));
        let Some(at) = messages.iter().rposition(is_input) else { return Self::default() };
        let Message::User(input) = &messages[at] else { return Self::default() };
        let done = messages[at..].iter().filter_map(|message| match message {
            Message::Tool { name, content, .. } => {
                Some(Done { tool: name.clone(), content: content.clone() })
            }
            Message::System(_) | Message::User(_) | Message::Assistant { .. } => None,
        });
        Self { input: input.clone(), done: done.collect() }
    }
}
