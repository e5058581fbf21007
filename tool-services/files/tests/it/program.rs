//! The program as a process over one workspace and one store, and a caller of it.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use callboard_discovery::{Config, Instance, transport};
use callboard_proto::tool::{self as wire, tool_service_client::ToolServiceClient};
use callboard_tool::testing::collect;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::timeout,
};
use tonic::Status;

const PROGRAM: &str = env!("CARGO_BIN_EXE_callboard-files");
const PATIENCE: Duration = Duration::from_secs(30);

/// A workspace `ws` and a store.
pub(crate) struct Place {
    folder: TempDir,
    started: AtomicU32,
}

pub(crate) struct Program {
    child: Child,
    instance: Instance,
    client: ToolServiceClient<transport::Channel>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        Self { folder, started: AtomicU32::new(0) }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("ws").join(path)
    }

    /// Names in the workspace, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) async fn serve(&self) -> Program {
        self.spawn(Command::new(PROGRAM)).await
    }

    /// Serves until the first system call of this name on the workspace's own folder, which kills
    /// the process as it begins.
    pub(crate) async fn serve_until(&self, name: &str) -> Program {
        let mut command = Command::new("strace");
        command
            .args(["-f", "-o", "/dev/null", "-e", &format!("trace={name}")])
            .args(["-e", &format!("inject={name}:signal=KILL:when=1"), "-P"])
            .arg(self.at("").canonicalize().unwrap())
            .arg(PROGRAM);
        self.spawn(command).await
    }

    async fn spawn(&self, mut command: Command) -> Program {
        // A directory of its own for each, so that the one instance in it is the new one.
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let directory = self.folder.path().join(number.to_string());
        let child = command
            .env("CALLBOARD_DIRECTORY", &directory)
            .env("CALLBOARD_STORE", self.folder.path().join("store"))
            .env("CALLBOARD_WORKSPACE", format!("work={}", self.at("").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let config = Config::Directory { path: directory };
        let discovery = callboard_discovery::connect(config).await.unwrap();
        let mut live = discovery.live();
        let found = live.wait_for(|live| !live.instances.is_empty());
        let found = timeout(PATIENCE, found).await.unwrap().unwrap();
        let instance = found.instances.values().next().unwrap().clone();
        drop(found);
        let channel = transport::channel(&instance.address, &transport::Credentials::default());
        Program { child, instance, client: ToolServiceClient::new(channel.unwrap()) }
    }
}

impl Program {
    /// A call that a person approved as it is now.
    pub(crate) async fn approved(&self, tool: &str, arguments: &Value) -> wire::ToolCall {
        let mut call = wire::ToolCall {
            deployment: "test".to_owned(),
            call_id: "call".to_owned(),
            attempt: 1,
            session: "session".to_owned(),
            epoch: Some(wire::Epoch { generation: 1, revision: 10 }),
            incarnation: self.instance.incarnation.clone(),
            team: "default".to_owned(),
            workspace: "work".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_string().into(),
            ..wire::ToolCall::default()
        };
        let request = wire::PreflightRequest { call: Some(call.clone()) };
        let verdict = self.client.clone().preflight(request).await.unwrap().into_inner().verdict;
        let Some(wire::preflight_response::Verdict::Ask(ask)) = verdict else {
            panic!("{verdict:?}")
        };
        call.approved_preview = ask.preview_digest;
        call
    }

    pub(crate) async fn send(
        &self,
        call: &wire::ToolCall,
        mode: wire::InvokeMode,
    ) -> Result<wire::Outcome, Status> {
        let request = wire::InvokeRequest { call: Some(call.clone()), mode: mode.into() };
        let stream = self.client.clone().invoke(request).await?.into_inner();
        collect(stream).await.map(|(_, outcome)| outcome)
    }

    pub(crate) async fn undo(
        &self,
        call: &wire::ToolCall,
    ) -> Result<wire::rollback_response::Result, Status> {
        let call = wire::ToolCall { arguments: Vec::new().into(), ..call.clone() };
        let request = wire::RollbackRequest {
            call: Some(call),
            rollback_id: "wish".to_owned(),
            ..wire::RollbackRequest::default()
        };
        let response = self.client.clone().rollback(request).await?.into_inner();
        Ok(response.result.unwrap())
    }

    pub(crate) async fn kill(mut self) {
        self.child.start_kill().unwrap();
        assert!(self.is_killed().await);
    }

    /// Waits for the end, and says whether it came by SIGKILL.
    pub(crate) async fn is_killed(&mut self) -> bool {
        let status = timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        status.signal() == Some(9)
    }
}
