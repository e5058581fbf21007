//! A running gateway with its orchestrator, each found through the directory.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, LazyLock},
};

use callboard_discovery::{Discovery, transport::Credentials};
use callboard_telemetry::{MetricsHandle, Telemetry};
use http::{Method, Request, header};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    agent::{Agent, Script},
    client::{self, Door, Events, Reply},
};
use crate::{Config, Error, Listeners, Node, Secret, run};

/// The token of every gateway here.
pub(super) const TOKEN: &str = "a-token-of-twenty-one";

/// Everything of one test. The folder goes last.
pub(super) struct Stage {
    pub(super) script: Script,
    pub(super) agent: Option<Agent>,
    pub(super) discovery: Arc<dyn Discovery>,
    pub(super) tcp: Door,
    pub(super) socket: Door,
    pub(super) shutdown: CancellationToken,
    pub(super) gateway: JoinHandle<Result<(), Error>>,
    pub(super) folder: TempDir,
}

/// A private folder that is removed at the end.
pub(super) fn folder() -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

pub(super) async fn discovery(folder: &TempDir) -> Arc<dyn Discovery> {
    let path = folder.path().join("d");
    callboard_discovery::connect(callboard_discovery::Config::Directory { path }).await.unwrap()
}

/// Set up before the first request, as in a process: whoever asks for a span while it is being set
/// up may never get one.
static TELEMETRY: LazyLock<Telemetry> = LazyLock::new(|| {
    let config = callboard_telemetry::Config { stderr: false, ..Default::default() };
    callboard_telemetry::init("gateway", "gateway-1", &config).unwrap()
});

impl Stage {
    /// With one orchestrator that owns everything.
    pub(super) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    /// The same, with other settings.
    pub(super) async fn with(config: Config) -> Self {
        let mut stage = Self::without_agent(config).await;
        stage.agent = Some(stage.another("orchestrator").await);
        stage
    }

    pub(super) async fn without_agent(config: Config) -> Self {
        LazyLock::force(&TELEMETRY);
        let folder = folder();
        // Each role has its own view, as each process has.
        let discovery = discovery(&folder).await;
        let config = Config { token: Some(TOKEN.to_owned()), ..config };
        let socket = folder.path().join("gateway.sock");
        let listeners = Listeners::bind(Some(&socket), Some("127.0.0.1:0")).await.unwrap();
        let tcp = Door::Tcp(listeners.tcp_address().unwrap());
        let node = Node {
            instance: None,
            zone: String::new(),
            discovery: self::discovery(&folder).await,
            credentials: Credentials::default(),
            metrics: MetricsHandle::default(),
            secret: Secret::new("the secret of this deployment"),
        };
        let shutdown = CancellationToken::new();
        let gateway = tokio::spawn(run(config, listeners, node, shutdown.clone()));
        let script = Script::default();
        let socket = Door::Socket(socket);
        Self { script, agent: None, discovery, tcp, socket, shutdown, gateway, folder }
    }

    /// One more orchestrator over the same journal.
    pub(super) async fn another(&self, name: &str) -> Agent {
        Agent::start(name, &self.script, &self.discovery, self.folder.path()).await
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        client::send(&self.socket, request(Method::GET, path, None)).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Reply {
        client::send(&self.socket, request(Method::POST, path, Some(body))).await
    }

    pub(super) async fn send(&self, request: Request<Vec<u8>>) -> Reply {
        client::send(&self.socket, request).await
    }

    /// A stream of what a POST begins.
    pub(super) async fn stream(&self, path: &str, body: Value) -> Events {
        Events::open(&self.socket, request(Method::POST, path, Some(body))).await
    }

    /// A stream of a session's events.
    pub(super) async fn events(&self, session: &str, query: &str) -> Events {
        let path = format!("/v1/sessions/{session}/events{query}");
        Events::open(&self.socket, request(Method::GET, &path, None)).await
    }

    /// A session that has played one run.
    pub(super) async fn played(&self) -> String {
        let body = serde_json::json!({ "input": "40+5?", "wait": true });
        let reply = self.post("/v1/runs", body).await;
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        reply.json()["session"].as_str().unwrap().to_owned()
    }
}

pub(super) fn request(method: Method, path: &str, body: Option<Value>) -> Request<Vec<u8>> {
    let builder = Request::builder().method(method).uri(path);
    match body {
        Some(body) => builder
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())
            .unwrap(),
        None => builder.body(Vec::new()).unwrap(),
    }
}
