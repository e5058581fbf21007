//! Supervisors over real processes: scripts that behave as roles do, and a discovery that the test
//! fills in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use async_trait::async_trait;
use callboard_discovery::{Error, Held, Instance, Owners, Registration, Role};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixListener;
use tokio::time::timeout;

use super::*;
use crate::config::agreement::Agreement;
use crate::stack::hello::BYE;
use crate::stack::lock;

/// A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for its end as a role does.
const OBEDIENT: &str = "read order; cat >/dev/null";

/// A discovery that knows what the test tells it.
struct Told(watch::Sender<LiveSet>);

#[async_trait]
impl Discovery for Told {
    async fn register(&self, _: Instance) -> Result<Registration, Error> {
        Err(Error::Closed)
    }

    fn live(&self) -> watch::Receiver<LiveSet> {
        self.0.subscribe()
    }

    async fn claim(&self, _: &Registration, _: u32) -> Result<watch::Receiver<Held>, Error> {
        Err(Error::Closed)
    }

    fn owners(&self) -> watch::Receiver<Owners> {
        watch::channel(Owners::default()).1
    }

    async fn deployment(&self) -> Result<String, Error> {
        Err(Error::Closed)
    }

    fn is_confirmed(&self) -> bool {
        true
    }
}

/// A stack of scripts, and its first client.
struct Scene {
    folder: TempDir,
    told: Arc<Told>,
    stack: Supervisor,
    client: BufReader<UnixStream>,
    /// Ends with the scene.
    _gateway: JoinSet<()>,
}

/// A gateway that knows of every tool service that was told of.
async fn answer_for_gateway(listener: UnixListener, live: watch::Receiver<LiveSet>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = BufReader::new(&mut stream).lines();
        while request.next_line().await.unwrap().is_some_and(|line| !line.is_empty()) {}
        let ids: Vec<Value> = live.borrow().instances.keys().map(|id| json!({"id": id})).collect();
        let body = json!({"tools": [{"name": "any", "instances": ids}]}).to_string();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

impl Scene {
    /// Starts a stack whose roles run `script`, a shell script that finds its role in `$2`.
    async fn start(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let program = path.join("role");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(path.join("logs")).unwrap();
        let order = |role: RoleName| Order {
            settings: toml::Table::new(),
            listen: Address::Unix(path.join(format!("{role}.sock"))),
            advertise: None,
            http: None,
            directory: path.clone(),
            logs_to_stderr: false,
        };
        let (ours, theirs) = UnixStream::pair().unwrap();
        let plan = Plan {
            launcher: Launcher {
                program,
                workspace: path.clone(),
                state: path.clone(),
                environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
                inherit_stderr: false,
            },
            orders: RoleName::ALL.map(|role| (role, order(role))).into(),
            hello: hello(&path),
            sockets: path.clone(),
            ends_with_clients: true,
            first_client: Some(theirs),
            lock: lock::take(&path).unwrap().unwrap(),
            rules: None,
        };
        let told = Arc::new(Told(watch::channel(LiveSet::default()).0));
        // Tests of one process share the provider; the first one brings it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut gateway = JoinSet::new();
        let listener = UnixListener::bind(path.join("gateway.sock")).unwrap();
        gateway.spawn(answer_for_gateway(listener, told.live()));
        let discovery: Arc<dyn Discovery> = Arc::clone(&told) as _;
        let mut stack = Supervisor::start(plan, discovery, CancellationToken::new()).await.unwrap();
        stack.drain_limit = Duration::from_millis(300);
        Self { folder, told, stack, client: BufReader::new(ours), _gateway: gateway }
    }

    /// Says that every role serves, and waits until the stack knows.
    async fn ready(&mut self) {
        let serving = |(role, running): (&RoleName, &Running)| {
            instance(*role, running.pid, &self.stack.orders[role].listen)
        };
        let instances = self.stack.roles.iter().map(serving).map(|i| (i.id.clone(), i)).collect();
        self.told.0.send_replace(LiveSet { instances: Arc::new(instances), confirmed: true });
        let ready = timeout(PATIENCE, self.stack.until_ready()).await.unwrap().unwrap();
        assert!(ready.is_some());
    }

    /// The next answer to the first client.
    async fn answer(&mut self) -> Answer {
        let mut line = String::new();
        timeout(PATIENCE, self.client.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn pids(&self) -> Vec<u32> {
        self.stack.roles.values().map(|running| running.pid).collect()
    }

    async fn ends(&mut self) {
        timeout(PATIENCE, self.stack.until_end()).await.unwrap().unwrap();
        let pids = self.pids();
        self.stack.drain().await;
        assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
        assert!(!self.folder.path().join("control.sock").exists());
    }
}

fn hello(path: &Path) -> Hello {
    Hello {
        workspace: path.display().to_string(),
        workspace_digest: String::new(),
        config_digest: String::new(),
        agreement: Agreement::default(),
        gateway: path.join("gateway.sock"),
        directory: path.to_owned(),
        http: None,
        pid: std::process::id(),
        version: "0".into(),
    }
}

fn instance(role: RoleName, pid: u32, address: &Address) -> Instance {
    Instance {
        id: role.as_str().into(),
        role: Role::Tool,
        team: "default".into(),
        name: role.as_str().into(),
        address: address.clone(),
        version: "0".into(),
        zone: String::new(),
        capacity: 0,
        state: State::Serving,
        descriptors: String::new(),
        incarnation: "1".into(),
        store: String::new(),
        workspaces: Vec::new(),
        pid,
    }
}

/// A process that has ended and was waited for has no entry.
fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_stack_is_ready_when_all_roles_serve_and_ends_with_its_last_client() {
    let mut scene = Scene::start(OBEDIENT).await;
    let too_early = timeout(Duration::from_millis(50), scene.stack.until_ready()).await;
    assert!(too_early.is_err(), "nobody is registered yet");
    scene.ready().await;
    assert!(
        matches!(scene.answer().await, Answer::Ready(hello) if hello.pid == std::process::id())
    );
    scene.client.get_mut().write_all(BYE).await.unwrap();
    scene.ends().await;
}

#[tokio::test]
async fn a_client_that_was_killed_counts_as_gone() {
    let mut scene = Scene::start(OBEDIENT).await;
    scene.ready().await;
    let (ours, _) = UnixStream::pair().unwrap();
    drop(std::mem::replace(&mut scene.client, BufReader::new(ours)));
    scene.ends().await;
}

#[tokio::test]
async fn a_stack_goes_on_while_another_client_stays() {
    let mut scene = Scene::start(OBEDIENT).await;
    scene.ready().await;
    scene.answer().await;
    let path = scene.folder.path().join("control.sock");
    let mut second = BufReader::new(UnixStream::connect(&path).await.unwrap());
    let mut line = String::new();
    tokio::select! {
        ended = scene.stack.until_end() => panic!("{ended:?}"),
        heard = second.read_line(&mut line) => assert!(heard.unwrap() > 0),
    }
    assert!(line.contains("\"ready\""), "{line}");
    scene.client.get_mut().write_all(BYE).await.unwrap();
    let mut line = String::new();
    tokio::select! {
        ended = scene.stack.until_end() => panic!("{ended:?}"),
        heard = scene.client.read_line(&mut line) => assert!(heard.unwrap() > 0),
    }
    assert_eq!(line.trim(), "\"goes_on\"");
    drop(second);
    scene.ends().await;
}

#[tokio::test]
async fn a_role_that_cannot_start_ends_the_stack_with_its_reason() {
    let report = r#"{"failed":{"error":"port 8080 is in use","exit":2}}"#;
    let script = format!("read order; if [ $2 = gateway ]; then echo '{report}'; exit 2; fi; cat");
    let mut scene = Scene::start(&script).await;
    let pids = scene.pids();
    let error = timeout(PATIENCE, scene.stack.until_ready()).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "gateway: port 8080 is in use");
    assert_eq!(crate::exit::of(&error), crate::exit::Exit::Usage);
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    assert!(matches!(scene.answer().await, Answer::Failed(failed) if failed.exit == 2));
}

#[tokio::test]
async fn a_role_that_dies_is_started_again() {
    let mut scene = Scene::start(OBEDIENT).await;
    scene.ready().await;
    let before = scene.stack.roles[&RoleName::Files].pid;
    scene.stack.roles[&RoleName::Files].kill();
    let reborn = async {
        while scene.stack.roles.get(&RoleName::Files).is_none_or(|role| role.pid == before) {
            scene.stack.turn().await.unwrap();
        }
    };
    timeout(PATIENCE, reborn).await.unwrap();
    assert!(is_alive(scene.stack.roles[&RoleName::Files].pid));
    scene.client.get_mut().write_all(BYE).await.unwrap();
    scene.ends().await;
}

#[tokio::test]
async fn a_role_that_dies_again_and_again_ends_the_stack() {
    let marker = "ready";
    let script = format!("read order; if [ $2 = files -a -e {marker} ]; then exit 1; fi; cat");
    let mut scene = Scene::start(&script).await;
    scene.stack.restarts = Restarts::new(Duration::from_millis(1));
    scene.ready().await;
    fs::write(scene.folder.path().join(marker), "").unwrap();
    scene.stack.roles[&RoleName::Files].kill();
    let error = timeout(PATIENCE, scene.stack.until_end()).await.unwrap().unwrap_err();
    assert!(error.to_string().starts_with("files ended again after 5 restarts"), "{error}");
    assert!(scene.pids().is_empty());
}

#[tokio::test]
async fn a_role_that_does_not_end_is_killed() {
    let mut scene = Scene::start("read order; exec sleep 1000").await;
    scene.ready().await;
    scene.client.get_mut().write_all(BYE).await.unwrap();
    scene.ends().await;
}
