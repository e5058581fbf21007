//! What is going on: the inputs of a conversation, and the results that came after each.

use std::collections::VecDeque;

use crate::run::context::Message;

/// Beginnings of what is told to a model besides the conversation.
const REMARKS: [&str; 2] = ["[Note] ", "[Earlier in this conversation]"];

/// One run as its messages show it.
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
    /// The runs that the messages of a request show, the current one last.
    pub(super) fn all(messages: &[Message]) -> Vec<Self> {
        let mut turns: Vec<Self> = Vec::new();
        for message in messages {
            match message {
                Message::User(text) if !REMARKS.iter().any(|remark| text.starts_with(remark)) => {
                    turns.push(Self { input: text.clone(), done: VecDeque::new() });
                }
                Message::Tool { name, content, .. } => {
                    if let Some(turn) = turns.last_mut() {
                        turn.done.push_back(Done { tool: name.clone(), content: content.clone() });
                    }
                }
                Message::System(_) | Message::User(_) | Message::Assistant { .. } => {}
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_belong_to_the_input_before_them() {
        let tool = |content: &str| Message::Tool {
            id: "c".into(),
            name: "t".into(),
            content: content.into(),
        };
        let turns = Turn::all(&[
            Message::System("s".into()),
            Message::User("[Earlier in this conversation]\n- Asked: x".into()),
            Message::User("one".into()),
            tool("a"),
            tool("b"),
            Message::User("two".into()),
            Message::User("[Note] You repeat yourself.".into()),
        ]);
        let short: Vec<_> = turns
            .iter()
            .map(|turn| {
                (turn.input.as_str(), turn.done.iter().map(|done| &*done.content).collect())
            })
            .collect();
        assert_eq!(short, [("one", vec!["a", "b"]), ("two", vec![])]);
    }
}
