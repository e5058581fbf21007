//! A small world for tests of the path: scripted tool services on real sockets, a discovery that is
//! told what to say, artifacts in memory, and a recorder that keeps what it hears.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use callboard_discovery::transport::Credentials;
use callboard_discovery::{Address, InstanceId, Role, State};
use callboard_proto::tool::{self as wire, ToolDescriptor};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

mod discovery;
mod service;

pub(crate) use self::discovery::Told;
pub(crate) use self::service::{
    Act, Script, Scripted, digest_of, output, output_of, refusal, silent,
};

use super::policy::{self, Profile, Rulebook};
use super::record::Record;
use super::{CallContext, CallPath, Config, Progress, Recorder, Runnable};
use crate::artifacts::{ArtifactError, ArtifactId, Artifacts};
use crate::catalog::{self, Catalog};
use crate::journal::Epoch;
use crate::run::event::{CallPlanned, CallSettled, Event, WantedCall};
use crate::run::ids::SessionId;

/// A test that waits longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// The team of all calls here.
pub(crate) const TEAM: &str = "blue";
/// The call of all tests here.
pub(crate) const CALL: &str = "0190a0b0-0000-7000-8000-000000000001";

/// Everything around a call path.
pub(crate) struct World {
    pub(crate) path: Arc<CallPath>,
    pub(crate) told: Arc<Told>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) folder: TempDir,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

/// How a world is set up.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) config: Config,
    pub(crate) policy: policy::Config,
    pub(crate) profile: Profile,
}

impl World {
    pub(crate) fn new(setting: Setting) -> Self {
        let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
        let (told, kept) = (Arc::new(Told::default()), Arc::new(Kept::default()));
        let catalog = Catalog::spawn(
            catalog::Config::default(),
            Arc::clone(&told) as Arc<dyn callboard_discovery::Discovery>,
            Credentials::default(),
            &tasks,
            shutdown.clone(),
        );
        let rules = Arc::new(Rulebook::new(setting.policy, setting.profile).unwrap());
        let artifacts = Arc::clone(&kept) as Arc<dyn Artifacts>;
        let path = CallPath::new(setting.config, rules, catalog, artifacts, 7).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { path: Arc::new(path), told, kept, folder, tasks, shutdown }
    }

    /// Serves tools by a script, as `id`, and waits until the catalog knows them.
    pub(crate) async fn serve(
        &self,
        id: &str,
        tools: Vec<ToolDescriptor>,
        script: Script,
    ) -> Scripted {
        let socket = self.folder.path().join(format!("{id}.sock"));
        let service = Scripted::start(&socket, tools, script);
        self.told.add(record(id, &socket, service.digest()));
        self.until(|snapshot| {
            snapshot.instances_of(TEAM, "service").iter().any(|one| one.id.as_str() == id)
                && snapshot.ready()
        })
        .await;
        service
    }

    /// Waits until the catalog looks as it should.
    pub(crate) async fn until(&self, is_so: impl Fn(&catalog::Snapshot) -> bool) {
        let mut changes = self.path.catalog().changes();
        let waited = tokio::time::timeout(PATIENCE, changes.wait_for(|view| is_so(view)));
        waited.await.expect("the catalog never looked as it should").unwrap();
    }

    /// Judges a call, and gives what may run.
    pub(crate) async fn judge(
        &self,
        tool: &str,
        arguments: &str,
        context: &CallContext,
    ) -> Vec<Event> {
        let wanted = WantedCall {
            call_id: CALL.into(),
            model_id: "call_1".to_owned(),
            name: tool.to_owned(),
            arguments: arguments.to_owned(),
        };
        self.path.judge(&wanted, context).await
    }

    /// Plans a call that may run.
    pub(crate) async fn runnable(&self, tool: &str, arguments: &str) -> Runnable {
        let events = self.judge(tool, arguments, &context()).await;
        let planned = events.iter().find_map(|event| match event {
            Event::CallPlanned(planned) => Some(CallPlanned::clone(planned)),
            _ => None,
        });
        Runnable { planned: planned.expect("the call is planned"), ..Runnable::default() }
    }

    /// Runs a call and gives its outcome and the events of its attempts.
    pub(crate) async fn run(&self, call: &Runnable, context: &CallContext) -> Ran {
        let (mailbox, heard) = mpsc::channel(64);
        let (progress, mut shown) = mpsc::channel(1_000);
        let listening = tokio::spawn(listen(heard));
        let recorder = Recorder::new(mailbox);
        let run = self.path.run(call, context, &recorder, progress);
        let settled = tokio::time::timeout(PATIENCE, run).await.expect("the call has an end");
        drop(recorder);
        let mut pieces = Vec::new();
        while let Ok(piece) = shown.try_recv() {
            pieces.push(piece);
        }
        Ran { settled, events: listening.await.unwrap(), pieces }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.shutdown.cancel();
        self.tasks.close();
    }
}

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) settled: Result<CallSettled, super::Abandoned>,
    /// Events of attempts, each with whether the call waited for it.
    pub(crate) events: Vec<(Event, bool)>,
    pub(crate) pieces: Vec<Progress>,
}

impl Ran {
    pub(crate) fn settled(&self) -> &CallSettled {
        self.settled.as_ref().expect("the call was not abandoned")
    }

    /// The events as short lines: `1 started a`, `1 answered`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |event: &Event| match event {
            Event::AttemptStarted(started) => {
                format!("{} started {}", started.attempt, started.instance)
            }
            Event::AttemptEnded(ended) => {
                let status = serde_json::to_value(ended.status).unwrap();
                format!("{} {}", ended.attempt, status.as_str().unwrap())
            }
            other => other.kind().to_owned(),
        };
        self.events.iter().map(|(event, _)| line(event)).collect()
    }
}

/// Takes records as a session actor does, and makes each durable at once.
async fn listen(mut heard: mpsc::Receiver<Record>) -> Vec<(Event, bool)> {
    let mut events = Vec::new();
    while let Some(record) = heard.recv().await {
        events.push((*record.event, record.durable.is_some()));
        if let Some(durable) = record.durable {
            let _ = durable.send(());
        }
    }
    events
}

/// A call in a session with nobody attached.
pub(crate) fn context() -> CallContext {
    CallContext {
        deployment: "test".to_owned(),
        session: SessionId::from("0190a0b0-0000-7000-8000-0000000000aa"),
        run: "0190a0b0-0000-7000-8000-0000000000bb".into(),
        call_id: CALL.into(),
        partition: 7,
        epoch: Epoch { generation: 1, revision: 42 },
        team: TEAM.to_owned(),
        agent: "default".to_owned(),
        workspace: "w".to_owned(),
        approver_attached: false,
        approve: Vec::new(),
        remaining: Duration::from_mins(1),
        now_ms: 1_796_000_461_000,
    }
}

/// What discovery says of an instance that `Scripted` serves.
pub(crate) fn record(
    id: &str,
    socket: &std::path::Path,
    digest: &str,
) -> callboard_discovery::Instance {
    callboard_discovery::Instance {
        id: InstanceId::from(id),
        role: Role::Tool,
        team: TEAM.to_owned(),
        name: "service".to_owned(),
        address: Address::Unix(socket.to_owned()),
        version: "1.0.0".to_owned(),
        zone: String::new(),
        capacity: 0,
        state: State::Serving,
        descriptors: digest.to_owned(),
        incarnation: format!("incarnation-of-{id}"),
        store: String::new(),
        workspaces: Vec::new(),
        pid: 0,
    }
}

/// A tool of a class, without preflight.
pub(crate) fn tool(name: &str, read_only: bool, idempotent: bool) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        description: format!("Does {name}. Not for anything else."),
        input_schema: r#"{"type":"object","properties":{"x":{"type":"integer"}}}"#.to_owned(),
        annotations: Some(wire::Annotations { read_only, idempotent, ..Default::default() }),
        effects: vec![if read_only { wire::Effect::Read } else { wire::Effect::Write }.into()],
        preflight: wire::PreflightMode::None.into(),
        default_timeout_ms: 15_000,
        examples: vec![wire::Example {
            request: format!("{name}, please"),
            arguments: "{}".to_owned(),
        }],
        ..ToolDescriptor::default()
    }
}

/// The tools that most tests serve: `read`, `repeat` (idempotent) and `write`.
pub(crate) fn tools() -> Vec<ToolDescriptor> {
    vec![tool("read", true, true), tool("repeat", false, true), tool("write", false, false)]
}

/// Artifacts in memory.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) all: Mutex<BTreeMap<String, Bytes>>,
    pub(crate) is_full: Mutex<bool>,
}

#[async_trait]
impl Artifacts for Kept {
    async fn put(
        &self,
        team: &str,
        session: &SessionId,
        content: Bytes,
    ) -> Result<ArtifactId, ArtifactError> {
        if *self.is_full.lock().unwrap() {
            return Err(ArtifactError::Full);
        }
        let mut all = self.all.lock().unwrap();
        let id = format!("artifact{}", all.len() + 1);
        all.insert(format!("{team}/{session}/{id}"), content);
        Ok(ArtifactId::from(id))
    }

    async fn read(
        &self,
        team: &str,
        session: &SessionId,
        id: &ArtifactId,
        offset: u64,
        limit: usize,
    ) -> Result<(Bytes, u64), ArtifactError> {
        let all = self.all.lock().unwrap();
        let whole = all.get(&format!("{team}/{session}/{id}"));
        let whole = whole.ok_or_else(|| ArtifactError::NotFound(id.clone()))?;
        let start = usize::try_from(offset).unwrap().min(whole.len());
        let end = (start + limit).min(whole.len());
        Ok((whole.slice(start..end), whole.len() as u64))
    }

    async fn delete(&self, _: &str, _: &SessionId) -> Result<(), ArtifactError> {
        Ok(())
    }
}
