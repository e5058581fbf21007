//! A workspace with neighbours, and the service that works in it.

use std::path::PathBuf;
use std::time::Duration;

use callboard_proto::tool as wire;
use callboard_shell::{Config, Isolation};
use callboard_tool::testing::{self, Served};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The program under test, which dispatches on the launcher's argument.
pub(crate) const LAUNCHER: &str = env!("CARGO_BIN_EXE_callboard-shell");

/// All ways to make walls: what holds must hold for each.
pub(crate) const ALL: [Isolation; 2] = [Isolation::Namespaces, Isolation::Landlock];

/// A served shell. `ws` is its workspace; `out` lies beside it and is no command's business.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) served: Served,
}

/// What a command that ended by itself answered.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) content: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit_code: i64,
    pub(crate) structured: Value,
    pub(crate) output: wire::Output,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self::with(Isolation::Namespaces).await
    }

    pub(crate) async fn with(isolation: Isolation) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ws", "out"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let config = Config { launcher: LAUNCHER.into(), isolation: Some(isolation) };
        let service = callboard_shell::service_with(&config);
        let served = testing::start_in(service, &folder.path().join("ws")).await.unwrap();
        Self { folder, served }
    }

    pub(crate) fn ws(&self, name: &str) -> PathBuf {
        self.folder.path().join("ws").join(name)
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    /// Makes a file of the workspace, with the folders above it.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.ws(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs a command that a person agreed to.
    pub(crate) async fn run(&self, command: &str) -> Done {
        self.try_run(json!({ "command": command })).await.unwrap()
    }

    /// The same with all arguments, where it may fail.
    pub(crate) async fn try_run(&self, arguments: Value) -> Result<Done, wire::Failure> {
        let output = self.served.approve_and_invoke("run_command", arguments).await?;
        Ok(Done::from(output))
    }

    /// The same where the caller's deadline comes so soon.
    pub(crate) async fn run_within(
        &self,
        arguments: Value,
        deadline: Duration,
    ) -> Result<Done, wire::Failure> {
        let call = self.served.approved("run_command", &arguments).await.unwrap();
        let request =
            wire::InvokeRequest { call: Some(call), mode: wire::InvokeMode::Start.into() };
        let mut request = tonic::Request::new(request);
        request.set_timeout(deadline);
        let answer = self.served.client().invoke(request).await.unwrap();
        let (_, outcome) = testing::collect(answer.into_inner()).await.unwrap();
        match outcome.result.unwrap() {
            wire::outcome::Result::Output(output) => Ok(Done::from(output)),
            wire::outcome::Result::Failure(failure) => Err(failure),
        }
    }
}

impl From<wire::Output> for Done {
    fn from(output: wire::Output) -> Self {
        let structured: Value = serde_json::from_slice(&output.structured).unwrap();
        let text = |name: &str| structured[name].as_str().unwrap().to_owned();
        Self {
            content: output.content.clone(),
            stdout: text("stdout"),
            stderr: text("stderr"),
            exit_code: structured["exit_code"].as_i64().unwrap(),
            structured,
            output,
        }
    }
}

/// Processes of this machine whose command line holds `marker`.
pub(crate) fn processes_with(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // The shell that was given the marker as part of its command counts as well.
        if entry.file_name() != *std::process::id().to_string() && line.contains(marker) {
            found.push(line);
        }
    }
    found
}
