//! What a gateway says about runs and calls, so far as commands act on it.
//!
//! Every field has a default, so that an older or newer gateway is no error; what is printed as JSON
//! is the gateway's own document, not one of these. Next: `commands`.

use serde::Deserialize;
use serde_json::Value;

use crate::exit::Exit;

/// A run that ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "named as in the gateway's document")]
pub(crate) struct Run {
    /// Its session.
    pub(crate) session: String,
    /// Its id.
    pub(crate) run: String,
    /// How it ended.
    pub(crate) status: String,
    /// The answer, or the sentence that says why there is none.
    pub(crate) answer: String,
    /// The model that gave the last reply.
    pub(crate) model: String,
    /// Model replies.
    pub(crate) steps: u64,
    /// Its calls.
    pub(crate) tool_calls: Vec<Call>,
    /// Tokens.
    pub(crate) usage: Usage,
    /// Machine-readable reason of an end that is not `completed`.
    pub(crate) reason: String,
    /// What the person said.
    pub(crate) input: String,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: u64,
}

/// Tokens of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    /// Read by models.
    pub(crate) input_tokens: u64,
    /// Written by models.
    pub(crate) output_tokens: u64,
}

/// A tool call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "named as in the gateway's document")]
pub(crate) struct Call {
    /// Its id.
    pub(crate) call_id: String,
    /// Its tool.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// How it ended.
    pub(crate) status: String,
    /// `allow`, `ask` or `block`.
    pub(crate) verdict: String,
    /// Text of the result.
    pub(crate) content: String,
    /// What went wrong.
    pub(crate) failure: Option<CallFailure>,
    /// Where it ran last.
    pub(crate) instance: String,
    /// How often it was tried.
    pub(crate) attempts: u64,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: u64,
    /// Number of the model reply that asked for it, from 1; 0 for a direct call.
    pub(crate) step: u64,
    /// What was restored, where it was taken back.
    pub(crate) undone: String,
    /// The rule that gave the verdict.
    pub(crate) rule: String,
    /// Who answered, once a person was asked.
    pub(crate) decided_by: String,
    /// What it waited for a place or its rate, in milliseconds.
    pub(crate) waited_ms: u64,
}

/// What went wrong with a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallFailure {
    /// Kind, such as `not_found`.
    pub(crate) kind: String,
    /// What happened and a way out.
    pub(crate) message: String,
    /// Everything wrong with the arguments.
    pub(crate) violations: Vec<Violation>,
}

/// One thing wrong with arguments.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Violation {
    /// JSON pointer.
    pub(crate) pointer: String,
    /// What is wrong and what would be right.
    pub(crate) message: String,
}

/// A durable event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Fact {
    /// Its number in the session.
    pub(crate) seq: u64,
    /// What kind of event.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The run that it belongs to.
    pub(crate) run: String,
    /// Its fields.
    pub(crate) data: Value,
}

impl Fact {
    /// A text field of the event; empty if it has none of that name.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.data.get(field).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Text or progress while it comes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Glimpse {
    /// The run.
    pub(crate) run: String,
    /// Number of the model request; 0 for what is no part of a reply.
    pub(crate) request: u32,
    /// The call, for a tool's progress.
    pub(crate) call_id: String,
    /// Offset in the reply, in bytes.
    pub(crate) offset: u64,
    /// The piece.
    pub(crate) text: String,
    /// The reply starts again.
    pub(crate) restarted: bool,
}

/// How the program ends for a run, or a direct call, that ended with `status`.
pub(crate) fn exit(status: &str) -> Exit {
    match status {
        "completed" | "ok" => Exit::Done,
        "denied" | "blocked" => Exit::Denied,
        "limit_reached" => Exit::Limit,
        "cancelled" => Exit::Cancelled,
        _ => Exit::Failed,
    }
}

/// Reads a document of the gateway into one of these shapes.
///
/// # Errors
/// When a field has another type.
pub(crate) fn read<T: serde::de::DeserializeOwned>(document: &Value) -> anyhow::Result<T> {
    T::deserialize(document)
        .map_err(|error| anyhow::anyhow!("the gateway's answer has another shape: {error}"))
}

/// One call of a rollback, as a person reads what came of it, or would.
pub(crate) fn taken_back(step: &Value) -> String {
    let text = |key: &str| step[key].as_str().unwrap_or_default();
    format!("{}  {}: {}", text("call_id"), text("status").replace('_', " "), text("message"))
}
