//! What a model gets to see: messages for one model call, derived from the state of a session.
//!
//! Pure, and always within the budget. Next: `model` sends them.

/// One message of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The system prompt.
    System(String),
    /// A person's words.
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
