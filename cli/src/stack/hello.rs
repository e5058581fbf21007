//! What a supervisor tells each client on its control connection: one line of JSON.
//!
//! A client holds the connection for as long as it needs the stack. It may say [`BYE`] before it
//! leaves; a client that was killed says nothing, and the kernel closes its connection.
//! Next: `role`.

use std::path::PathBuf;

use callboard_orchestrator::call::policy;
use serde::{Deserialize, Serialize};

use crate::config::agreement::Agreement;

/// What a client says when it leaves and wants to know that the stack has ended if it was the last.
pub(crate) const BYE: &[u8] = b"bye\n";

/// The answer to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The stack is ready.
    Ready(Box<Hello>),
    /// It cannot start; it ends now.
    Failed(Failed),
    /// Another stack holds the lock of the state folder: join that one.
    Taken,
    /// To a client that said bye: others stay, the stack goes on.
    GoesOn,
}

/// A stack that is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Its workspace, for people.
    pub(crate) workspace: String,
    /// SHA-256 of the workspace's path, which need not be UTF-8.
    pub(crate) workspace_digest: String,
    /// Digest of the settings that clients must agree with.
    pub(crate) config_digest: String,
    /// These settings.
    pub(crate) agreement: Agreement,
    /// The gateway's Unix socket.
    pub(crate) gateway: PathBuf,
    /// The folder of the discovery, where that needs no server.
    pub(crate) directory: PathBuf,
    /// The gateway's address for browsers, where it has one: `http://127.0.0.1:8080`.
    pub(crate) http: Option<String>,
    /// The supervisor's process.
    pub(crate) pid: u32,
    /// Version of the program that runs the stack.
    pub(crate) version: String,
}

impl Hello {
    /// Clients must agree with the rules that are in force now.
    pub(crate) fn agree_on_rules(&mut self, rules: &policy::Config) {
        self.agreement.set_rules(rules);
        self.config_digest = self.agreement.digest();
    }
}

/// Why a stack cannot start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// What is wrong and a way out.
    pub(crate) error: String,
    /// The exit code that a client ends with.
    pub(crate) exit: u8,
}

impl Failed {
    /// From the error that stopped it.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        Self { error: format!("{error:#}"), exit: crate::exit::of(error).code() }
    }
}

impl From<Failed> for anyhow::Error {
    fn from(failed: Failed) -> Self {
        let exit = crate::exit::Exit::from_code(i64::from(failed.exit));
        crate::exit::Refused { exit, message: failed.error }.into()
    }
}
