//! Facts about model calls.

use serde::{Deserialize, Serialize};

use crate::run::ids::{CallId, RunId};

/// A model is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequested {
    /// The run.
    pub run: RunId,
    /// Number of the request in the run, from 1.
    pub request: u32,
    /// The model that is asked first; what `auto` meant.
    pub model: String,
    /// Names of the tools offered, in order.
    pub offered: Vec<String>,
    /// SHA-256 (lower-case hex) of the offered descriptors.
    pub offered_digest: String,
    /// SHA-256 (lower-case hex) of the messages.
    pub prompt_digest: String,
    /// Tokens that the offered descriptors take, as estimated.
    #[serde(default)]
    pub tool_tokens: u32,
}

/// A model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReplied {
    /// The run.
    pub run: RunId,
    /// The request.
    pub request: u32,
    /// The whole text.
    pub text: String,
    /// Reasoning text, kept for providers that want it back.
    pub reasoning: String,
    /// The calls it asks for, in order.
    pub calls: Vec<WantedCall>,
    /// Input tokens as the provider counts them.
    pub input_tokens: u64,
    /// Output tokens as the provider counts them.
    pub output_tokens: u64,
    /// Why the model stopped.
    pub finish: Finish,
    /// The model that answered.
    pub model: String,
}

/// A call as the model asked for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WantedCall {
    /// Ours.
    pub call_id: CallId,
    /// The model's own id, unique within the reply.
    pub model_id: String,
    /// Name as the model wrote it.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    #[default]
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// Its output limit was reached.
    Length,
    /// The provider's filter stepped in.
    ContentFilter,
    /// The model says that it cannot do what was asked.
    GaveUp,
    /// Something that we do not know.
    Other,
}

/// A model call failed for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFailed {
    /// The run.
    pub run: RunId,
    /// The request.
    pub request: u32,
    /// Kind, such as `unavailable`.
    pub kind: String,
    /// A sentence for a person.
    pub message: String,
}
