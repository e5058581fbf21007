//! Settings of the call path: the section `orchestrator.calls`.
//!
//! Rules are in `policy`; what a pattern matches is decided where it is used.

use std::collections::BTreeMap;
use std::fmt;
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

impl Error {
    /// The key, and what is wrong with its value.
    pub fn parts(&self) -> (&str, String) {
        match self {
            Self::Pattern { key, pattern, reason } => {
                (key, format!("`{pattern}` is no pattern: {reason}"))
            }
            Self::Value { key, reason } => (key, reason.clone()),
        }
    }
}

/// Settings of the call path.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
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
    /// Calls at once of a tool that only reads, of all teams together. Default 512.
    pub concurrency_total: u32,
    /// Calls at once of a tool that can change something, of all teams together. Default 64.
    pub concurrency_changing_total: u32,
    /// Calls a minute per team and tool that only reads; 0 for any number. Default 0.
    pub rate: u32,
    /// Calls a minute per team and tool that can change something; 0 for any number. Default 600.
    pub rate_changing: u32,
    /// Calls a minute per team and tool for tools whose name matches a glob, in place of what the tool
    /// or the keys above say; 0 for any number; the longest glob counts.
    pub rates: BTreeMap<String, u32>,
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
            concurrency_total: 512,
            concurrency_changing_total: 64,
            rate: 0,
            rate_changing: 600,
            rates: BTreeMap::new(),
            result_limit: 2_000,
            result_limits: BTreeMap::new(),
            secrets: Vec::new(),
        }
    }
}

impl Config {
    /// # Errors
    /// A number with which no call could ever be made.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (key, number) in [
            ("timeout_ms", self.timeout_ms),
            ("preflight_timeout_ms", self.preflight_timeout_ms),
            ("approval_timeout_ms", self.approval_timeout_ms),
            ("max_attempts", self.max_attempts.into()),
            ("concurrency", self.concurrency.into()),
            ("concurrency_changing", self.concurrency_changing.into()),
            ("concurrency_total", self.concurrency_total.into()),
            ("concurrency_changing_total", self.concurrency_changing_total.into()),
        ] {
            if number == 0 {
                return Err(Error::Value {
                    key: format!("orchestrator.calls.{key}"),
                    reason: "must be at least 1".to_owned(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    pub(super) fn preflight_timeout(&self) -> Duration {
        Duration::from_millis(self.preflight_timeout_ms)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("timeout_ms", &self.timeout_ms)
            .field("preflight_timeout_ms", &self.preflight_timeout_ms)
            .field("approval_timeout_ms", &self.approval_timeout_ms)
            .field("max_attempts", &self.max_attempts)
            .field("concurrency", &self.concurrency)
            .field("concurrency_changing", &self.concurrency_changing)
            .field("concurrency_total", &self.concurrency_total)
            .field("concurrency_changing_total", &self.concurrency_changing_total)
            .field("rate", &self.rate)
            .field("rate_changing", &self.rate_changing)
            .field("rates", &self.rates)
            .field("result_limit", &self.result_limit)
            .field("result_limits", &self.result_limits)
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_which_nothing_can_run_are_refused_by_their_key() {
        assert!(Config::default().check().is_ok());
        let error = Config { max_attempts: 0, ..Config::default() }.check().unwrap_err();
        assert_eq!(error.to_string(), "`orchestrator.calls.max_attempts`: must be at least 1");
    }

    #[test]
    fn secrets_are_neither_printed_nor_written() {
        let config = Config { secrets: vec!["s3cr3t".to_owned()], ..Config::default() };
        let written = serde_json::to_string(&config).unwrap();
        assert!(!format!("{config:?}{written}").contains("s3cr3t"));
        assert!(serde_json::from_str::<Config>(r#"{"secrets": ["x"]}"#).is_err());
        assert!(serde_json::from_str::<Config>(r#"{"timeout": 5}"#).is_err());
    }
}
