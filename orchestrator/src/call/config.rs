//! Settings of the call path: the section `orchestrator.calls`.
//!
//! Rules are in `policy`; what a pattern matches is decided where it is used.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A pattern cannot be read.
    #[error("`{key}`: `{pattern}` is no pattern: {reason}")]
    Pattern {
        /// The key that holds it.
        key: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value is outside its bounds.
    #[error("`{key}`: {reason}")]
    Value {
        /// The key.
        key: String,
        /// What would be right.
        reason: String,
    },
}

/// Settings of the call path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time that one attempt may take where a tool names none, in milliseconds. Default 30,000.
    pub timeout_ms: u64,
    /// Time that a tool may take to judge a call, in milliseconds. Default 5,000.
    pub preflight_timeout_ms: u64,
    /// How long a question to a person stands, in milliseconds. Default 600,000.
    pub approval_timeout_ms: u64,
    /// Attempts of one call. Default 3.
    pub max_attempts: u32,
    /// Calls at once per team and tool that only reads. Default 256.
    pub concurrency: u32,
    /// Calls at once per team and tool that can change something. Default 16.
    pub concurrency_changing: u32,
    /// Characters of a result that a model sees. Default 2,000.
    pub result_limit: usize,
    /// The same for tools whose name matches a glob; the longest glob counts.
    pub result_limits: BTreeMap<String, usize>,
    /// Texts that never leave: configured secrets, taken from the environment by the composition
    /// root.
    #[serde(skip)]
    pub secrets: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            timeout_ms: 30_000,
            preflight_timeout_ms: 5_000,
            approval_timeout_ms: 600_000,
            max_attempts: 3,
            concurrency: 256,
            concurrency_changing: 16,
            result_limit: 2_000,
            result_limits: BTreeMap::new(),
            secrets: Vec::new(),
        }
    }
}

impl Config {
    /// How long a question to a person stands.
    pub fn approval_timeout(&self) -> Duration {
        Duration::from_millis(self.approval_timeout_ms)
    }
}
