//! Facts about a session and the start of its runs.

use serde::{Deserialize, Serialize};

use crate::run::ids::RunId;

/// A session begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Team that it belongs to.
    pub team: String,
    /// What kind of session.
    pub kind: SessionKind,
    /// Name of the agent.
    pub agent: String,
    /// Title; may be empty.
    pub title: String,
    /// Idempotency key of the request that opened it.
    pub key: String,
    /// Models chosen for the session instead of the agent's.
    pub models: Vec<String>,
    /// SHA-256 (lower-case hex) of the body of the request that opened it; empty where a run's did.
    #[serde(default)]
    pub body_digest: String,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A conversation.
    #[default]
    Chat,
    /// Tool calls without a model.
    Direct,
}

/// Another incarnation of an orchestrator took the session over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnerTaken {
    /// Incarnation of the owner.
    pub owner: String,
}

/// Somebody wants something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputReceived {
    /// The run that will work on it.
    pub run: RunId,
    /// What is wanted.
    pub input: Input,
    /// Idempotency key of the request.
    pub key: String,
    /// SHA-256 (lower-case hex) of the request's body.
    pub body_digest: String,
    /// Whether somebody can be asked for approvals.
    pub approver_attached: bool,
    /// Globs of tools approved beforehand.
    pub approve: Vec<String>,
    /// Bounds asked for; 0 means the agent's own.
    pub limits: Limits,
    /// Who said it.
    pub principal: String,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A person's words, for the model.
    Text(String),
    /// One tool call, without a model.
    Direct {
        /// The tool's name as it was given.
        tool: String,
        /// Arguments as they came.
        arguments: String,
    },
}

impl Default for Input {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Bounds of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model replies.
    pub max_steps: u32,
    /// Tool calls of the run.
    pub max_calls: u32,
    /// Tool calls at once.
    pub max_parallel: u32,
    /// Working time in milliseconds.
    pub max_time_ms: u64,
    /// Input and output tokens together; 0 = no bound.
    pub max_tokens: u64,
}

/// Work on an input begins: the agent's snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// Name of the agent.
    pub agent: String,
    /// Models in order of preference.
    pub models: Vec<String>,
    /// Bounds of the run, every one set.
    pub limits: Limits,
    /// System prompt, word for word.
    pub system_prompt: String,
    /// Budget for the context of one model call, in tokens as estimated.
    pub context_tokens: u32,
}
