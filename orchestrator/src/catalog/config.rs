//! Settings of the catalog: the section `orchestrator.catalog`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Settings of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Services of this team are offered to every team. Default `shared`.
    pub shared_team: String,
    /// Globs over `TEAM/SERVICE`: only what these promise of their tools is believed. Default `*`.
    pub trusted: Vec<String>,
    /// Time that a service may take to describe itself, in milliseconds. Default 5,000.
    pub describe_timeout_ms: u64,
    /// How long the tools of a service without instances stay known, in milliseconds.
    /// Default 600,000.
    pub remember_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            shared_team: "shared".to_owned(),
            trusted: vec!["*".to_owned()],
            describe_timeout_ms: 5_000,
            remember_ms: 600_000,
        }
    }
}

impl Config {
    pub(super) fn describe_timeout(&self) -> Duration {
        Duration::from_millis(self.describe_timeout_ms)
    }

    pub(super) fn remember(&self) -> Duration {
        Duration::from_millis(self.remember_ms)
    }
}
