//! What a supervisor tells a role that it starts, and what the role tells it.
//!
//! The order is one line of JSON on the role's standard input, which then stays open for what changes: its
//! end is the sign to drain and exit, also when the supervisor was killed. So settings, secrets among them,
//! appear in no file, no argument and no environment. Reports are lines on standard output, on
//! which a role writes nothing else. Next: `role`.

use std::fmt;
use std::path::PathBuf;

use callboard_discovery::Address;
use callboard_orchestrator::call::policy::RulesRead;
use serde::{Deserialize, Serialize};

use super::hello::Failed;

/// The roles that make a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RoleName {
    /// The doors.
    Gateway,
    /// Hosts sessions.
    Orchestrator,
    /// Arithmetic.
    Calculator,
    /// Files of the workspace.
    Files,
    /// Search in the workspace.
    Search,
    /// Commands.
    Shell,
}

impl RoleName {
    /// All of them, those that take longest to start first.
    pub(crate) const ALL: [Self; 6] = [
        Self::Orchestrator,
        Self::Gateway,
        Self::Shell,
        Self::Files,
        Self::Search,
        Self::Calculator,
    ];

    /// Its name, on the command line too.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Orchestrator => "orchestrator",
            Self::Calculator => "calculator",
            Self::Files => "files",
            Self::Search => "search",
            Self::Shell => "shell",
        }
    }

    /// Whether it offers tools.
    pub(crate) fn is_tool(self) -> bool {
        match self {
            Self::Gateway | Self::Orchestrator => false,
            Self::Calculator | Self::Files | Self::Search | Self::Shell => true,
        }
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a role is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The settings that it may know: those that were set, without defaults.
    pub(crate) settings: toml::Table,
    /// Where it listens for the other roles; the gateway also for clients of the same user.
    pub(crate) listen: Address,
    /// Where the others reach it, if that is not where it listens.
    pub(crate) advertise: Option<Address>,
    /// Where the gateway listens for browsers and programs: `host:port`.
    pub(crate) http: Option<String>,
    /// Folder of the directory discovery.
    pub(crate) directory: PathBuf,
    /// Whether its logs go to standard error too.
    pub(crate) logs_to_stderr: bool,
}

/// What a role is told while it runs: one line of JSON each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// The rules were read again.
    Rules(RulesRead),
}

/// What a role tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The gateway listens for browsers here: `host:port` with the real port.
    Http(String),
    /// It has nothing to offer on this machine, and this is why; the others go on without.
    Withheld(String),
    /// It cannot go on.
    Failed(Failed),
}
