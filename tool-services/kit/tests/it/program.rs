//! The program as a process, its folder, and a caller of it.

use std::{
    fs,
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

use crate::ledger::FILE;

const PATIENCE: Duration = Duration::from_secs(30);
/// The disk has few pages: SQLite's index of its log alone takes eight.
const SMALL: &str = "size=512k,mode=0700";

/// Where a ledger and a store lie.
pub(crate) struct Place {
    folder: TempDir,
    has_small_disk: bool,
    started: AtomicU32,
}

pub(crate) struct Program {
    child: Child,
    pub(crate) instance: Instance,
    client: ToolServiceClient<transport::Channel>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), has_small_disk: false, started: AtomicU32::new(0) }
    }

    /// The store lies on a disk of half a MiB, which only the program sees.
    pub(crate) fn with_small_disk() -> Self {
        let place = Self { has_small_disk: true, ..Self::new() };
        fs::create_dir(place.path("store")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has the next call, or rollback, that comes so far kill its process.
    pub(crate) fn die(&self, when: &str) {
        fs::write(self.path("ledger.die"), when).unwrap();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("ledger.txt")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    pub(crate) async fn serve(&self) -> Program {
        // A directory of its own for each, so that the one instance in it is the new one.
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let directory = self.path(&number.to_string());
        let own = std::env::current_exe().unwrap();
        let mut command = if self.has_small_disk {
            let mut command = Command::new("unshare");
            let mount = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";
            command.args(["-m", "sh", "-c", mount, "sh", SMALL]).arg(self.path("store")).arg(own);
            command
        } else {
            Command::new(own)
        };
        let child = command
            .args(["--exact", "crash::serves_where_the_environment_says_so"])
            .env("CALLBOARD_DIRECTORY", &directory)
            .env("CALLBOARD_STORE", self.path("store"))
            .env(FILE, self.path("ledger.txt"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let discovery =
            callboard_discovery::connect(Config::Directory { path: directory }).await.unwrap();
        let mut live = discovery.live();
        let found = live.wait_for(|live| !live.instances.is_empty());
        let found = timeout(PATIENCE, found).await.unwrap().unwrap();
        let instance = found.instances.values().next().unwrap().clone();
        drop(found);
        let channel = transport::channel(&instance.address, &transport::Credentials::default());
        Program { child, instance, client: ToolServiceClient::new(channel.unwrap()) }
    }

    /// Fills the small disk; the file to remove again is what it gives.
    pub(crate) fn fill(&self, program: &Program) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", program.instance.pid));
        let store = self.path("store");
        let fill = root.join(store.strip_prefix("/").unwrap()).join("fill");
        let error = fs::write(&fill, vec![0; 1024 * 1024]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        fill
    }
}

impl Program {
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> wire::ToolCall {
        wire::ToolCall {
            deployment: "test".to_owned(),
            call_id: uuid::Uuid::now_v7().to_string(),
            attempt: 1,
            session: "session".to_owned(),
            partition: 1,
            epoch: Some(wire::Epoch { generation: 1, revision: 10 }),
            incarnation: self.instance.incarnation.clone(),
            team: "default".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_string().into(),
            ..wire::ToolCall::default()
        }
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
        rollback_id: &str,
    ) -> Result<wire::rollback_response::Result, Status> {
        let call = wire::ToolCall { arguments: Vec::new().into(), ..call.clone() };
        let request = wire::RollbackRequest {
            call: Some(call),
            rollback_id: rollback_id.to_owned(),
            ..wire::RollbackRequest::default()
        };
        let response = self.client.clone().rollback(request).await?.into_inner();
        Ok(response.result.unwrap())
    }

    /// Waits for the end, and says whether it came by SIGKILL.
    pub(crate) async fn is_killed(&mut self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        let status = timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        status.signal() == Some(9)
    }

    pub(crate) async fn kill(mut self) {
        self.child.start_kill().unwrap();
        assert!(self.is_killed().await);
    }
}
