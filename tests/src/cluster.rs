//! A cluster on one machine: as many orchestrators and gateways as a test wants, over a real etcd and a
//! real PostgreSQL, with the ledger as their tool service and a played model that calls it.

use std::{
    collections::BTreeMap,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use callboard_discovery::{
    Config, Discovery, Owner, Role,
    transport::{Credentials, DeploymentToken},
};
use reqwest::header::HeaderMap;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::{
    Callboard, Etcd, Events, Ledger, ModelServer, Postgres, Proxy, Reply, alive, etcd::free_port,
    http_client, ledger::Place, send, wait::within,
};

/// What its roles want to see of one another.
const DEPLOYMENT_TOKEN: &str = "a-deployment-token-of-some-length";
/// Longest that a role may take to be there.
const READY: Duration = Duration::from_mins(1);
/// The lease that its processes take in etcd.
pub const LEASE: Duration = Duration::from_secs(3);

/// A cluster; everything in it ends when it is dropped.
pub struct Cluster {
    /// The installation.
    pub callboard: Callboard,
    /// The oracle.
    pub ledger: Ledger,
    /// Who is alive and who owns what, as this process sees it.
    pub discovery: Arc<dyn Discovery>,
    /// Its journal.
    pub database: String,
    /// The members of its etcd, and where its keys are.
    etcd: (Vec<String>, String),
    /// What its roles prove themselves with.
    pub credentials: Credentials,
    model: ModelServer,
    started: Mutex<usize>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("database", &self.database).finish_non_exhaustive()
    }
}

/// A process of the cluster; killed when dropped.
#[derive(Debug)]
pub struct Member {
    child: Child,
    /// Its process id.
    pub pid: u32,
    /// Where it answers requests, for a gateway.
    pub url: String,
}

impl Member {
    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.pid, signal);
    }

    /// Whether it is there and runs.
    pub fn runs(&self) -> bool {
        alive(self.pid) && !self.is_stopped()
    }

    /// Whether it was stopped by a signal.
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        state == Some('T')
    }

    /// Waits for its end; its exit code, or none if a signal ended it.
    pub async fn ended(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(READY, self.child.wait()).await;
        ended.expect("it ends").unwrap().code()
    }
}

impl Cluster {
    /// What the API of its gateways wants to see.
    pub const API_TOKEN: &'static str = "an-api-token-of-some-length";

    /// A cluster without orchestrators and gateways. `settings` are lines of the section
    /// `[orchestrator]`.
    pub async fn start(etcd: &Etcd, postgres: &Postgres, settings: &str) -> Self {
        Self::with_ledger(etcd, postgres, settings, Ledger::start).await
    }

    /// The same with the ledger on the kit.
    pub async fn on_kit(etcd: &Etcd, postgres: &Postgres, settings: &str) -> Self {
        let on_kit =
            async |discovery: Arc<dyn Discovery>, credentials: &Credentials, folder: &Path| {
                Ledger::on_kit(discovery, credentials, folder)
            };
        Self::with_ledger(etcd, postgres, settings, on_kit).await
    }

    /// The same with ledgers that are processes of their own: none yet.
    pub async fn of_processes(etcd: &Etcd, postgres: &Postgres, settings: &str) -> Self {
        let none = async |discovery: Arc<dyn Discovery>, _: &Credentials, folder: &Path| {
            Ledger::of_processes(discovery, folder)
        };
        Self::with_ledger(etcd, postgres, settings, none).await
    }

    /// The same with a proxy between the orchestrators and the ledger.
    pub async fn behind_proxy(etcd: &Etcd, postgres: &Postgres, settings: &str) -> Self {
        Self::with_ledger(etcd, postgres, settings, Ledger::behind_proxy).await
    }

    async fn with_ledger(
        etcd: &Etcd,
        postgres: &Postgres,
        settings: &str,
        ledger: impl AsyncFnOnce(Arc<dyn Discovery>, &Credentials, &Path) -> Ledger,
    ) -> Self {
        let database = postgres.database().await;
        let model = ModelServer::start(|_, body| reply(body)).await;
        let callboard = Callboard::new()
            .env("CALLBOARD__ORCHESTRATOR__JOURNAL__URL", &database)
            .env("CALLBOARD__GATEWAY__TOKEN", Self::API_TOKEN)
            .env("OPENAI_API_KEY", "sk-test-key-0123456789")
            .env("OPENAI_BASE_URL", &model.base_url());
        let token = callboard.home().join("deployment-token");
        std::fs::write(&token, DEPLOYMENT_TOKEN).unwrap();
        let prefix = format!("/{}", uuid::Uuid::new_v4().simple());
        let config = format!(
            "[discovery]\nbackend = \"etcd\"\nendpoints = {:?}\nprefix = \"{prefix}\"\n\
             token_file = \"{}\"\nlease_ttl_ms = {}\n[orchestrator]\n{settings}\n\
             [orchestrator.agent]\nmodel = [\"openai:x\"]\n",
            etcd.urls(),
            token.display(),
            LEASE.as_millis(),
        );
        std::fs::write(callboard.home().join("cluster.toml"), config).unwrap();
        let discovery = callboard_discovery::connect(Config::Etcd {
            endpoints: etcd.urls(),
            prefix: prefix.clone(),
            lease_ttl: LEASE,
            login: None,
        })
        .await
        .unwrap();
        let credentials = Credentials { token: Some(DeploymentToken::read(&token).unwrap()) };
        let ledger = ledger(Arc::clone(&discovery), &credentials, callboard.home()).await;
        let (etcd, started) = ((etcd.urls(), prefix), Mutex::default());
        Self { callboard, ledger, discovery, database, etcd, credentials, model, started }
    }

    /// Starts an orchestrator, with further variables of the environment.
    pub fn orchestrator(&self, environment: &[(&str, &str)]) -> Member {
        self.serve("orchestrator", &["--listen", "tcp:127.0.0.1:0"], environment)
    }

    /// Starts an orchestrator that others reach through a proxy alone.
    pub async fn orchestrator_behind_proxy(&self) -> (Member, Proxy) {
        let port = free_port();
        let proxy = Proxy::start(port).await;
        let listen = format!("tcp:127.0.0.1:{port}");
        let advertise = format!("tcp:127.0.0.1:{}", proxy.port());
        let own = ["--listen", &listen, "--advertise", &advertise];
        (self.serve("orchestrator", &own, &[]), proxy)
    }

    /// Starts a ledger as a process of its own, which runs `test`: the one that calls
    /// [`ledger_if_asked`](crate::ledger_if_asked). Those with the same `store` share what the kit
    /// keeps.
    pub fn ledger_process(&self, test: &str, store: &str) -> Member {
        let place = Place {
            etcd: (self.etcd.0.join(","), &self.etcd.1),
            token: self.callboard.home().join("deployment-token"),
            book: self.ledger.path(),
            store: self.callboard.home().join(store),
        };
        let mut command = Command::new("/proc/self/exe");
        command.args([test, "--exact", "--nocapture"]).envs(place.environment());
        // Its end is the sign that this process is gone.
        command.stdin(Stdio::piped()).kill_on_drop(true);
        self.spawn("ledger", command)
    }

    /// What the processes of a role have said on standard error so far.
    pub fn said(&self, role: &str) -> String {
        let number = *self.started.lock().unwrap();
        let files = (1..=number).map(|n| self.callboard.home().join(format!("{role}{n}.err")));
        files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
    }

    /// Where the settings of its roles are.
    pub fn config(&self) -> String {
        self.callboard.home().join("cluster.toml").display().to_string()
    }

    /// Starts a gateway and waits until it answers.
    pub async fn gateway(&self) -> Member {
        self.gateway_with(&[]).await
    }

    /// The same with further variables of the environment.
    pub async fn gateway_with(&self, environment: &[(&str, &str)]) -> Member {
        let number = *self.started.lock().unwrap();
        let socket = self.callboard.home().join(format!("run/gateway{number}.sock"));
        let (socket, http) =
            (format!("unix:{}", socket.display()), format!("127.0.0.1:{}", free_port()));
        let own = ["--listen", &socket, "--http", &http];
        let mut gateway = self.serve("gateway", &own, environment);
        gateway.url = format!("http://{http}");
        within(READY, "the gateway listens", || std::net::TcpStream::connect(&http).ok()).await;
        gateway
    }

    fn serve(&self, role: &str, own: &[&str], environment: &[(&str, &str)]) -> Member {
        let config = self.config();
        let arguments = [&["serve", role, "--config", &config][..], own].concat();
        let mut command = self.callboard.command(&arguments);
        command.envs(environment.iter().copied());
        self.spawn(role, command)
    }

    fn spawn(&self, role: &str, mut command: Command) -> Member {
        let number = {
            let mut started = self.started.lock().unwrap();
            *started += 1;
            *started
        };
        let said = self.callboard.home().join(format!("{role}{number}.err"));
        let said = std::fs::File::create(said).unwrap();
        let child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let pid = child.id().unwrap();
        Member { child, pid, url: String::new() }
    }

    /// Who owns which partition.
    pub fn owners(&self) -> BTreeMap<u32, Owner> {
        BTreeMap::clone(&self.discovery.owners().borrow())
    }

    /// How many partitions the process `pid` owns.
    pub fn owned_by(&self, pid: u32) -> usize {
        let live = self.discovery.live().borrow().clone();
        let is_its = |owner: &&Owner| {
            live.instances.get(&owner.instance).is_some_and(|instance| instance.pid == pid)
        };
        self.owners().values().filter(is_its).count()
    }

    /// The process that owns a session, if one does.
    pub fn owner_of(&self, session: &str) -> Option<u32> {
        let partition = callboard_proto::partition_of(session, callboard_proto::PARTITIONS);
        let owner = self.owners().remove(&partition)?;
        let live = self.discovery.live();
        live.borrow().instances.get(&owner.instance).map(|instance| instance.pid)
    }

    /// How many sessions are awake in all orchestrators, as their metrics say.
    pub async fn awake(&self) -> u64 {
        let live = self.discovery.live().borrow().clone();
        let mut awake = 0;
        for one in live.instances.values().filter(|one| one.role == Role::Orchestrator) {
            let address = one.address.to_string();
            let url = format!("http://{}/metrics", address.trim_start_matches("tcp:"));
            let request = http_client(HeaderMap::new()).get(url).bearer_auth(DEPLOYMENT_TOKEN);
            let text = request.send().await.unwrap().text().await.unwrap();
            // Missing until the first one was awake.
            let gauge = text.lines().find_map(|it| it.strip_prefix("callboard_sessions_resident "));
            awake += gauge.map_or(0, |count| count.trim().parse::<u64>().unwrap());
        }
        awake
    }

    /// Waits until `count` orchestrators are there and own all partitions between them.
    pub async fn settled(&self, count: usize) {
        let is_settled = || {
            let live = self.discovery.live().borrow().clone();
            let is_one =
                |instance: &&callboard_discovery::Instance| instance.role == Role::Orchestrator;
            let owners = self.owners();
            let all = usize::try_from(callboard_proto::PARTITIONS).unwrap();
            let known = owners.values().all(|o| live.instances.contains_key(&o.instance));
            let is_all = owners.len() == all && known;
            (is_all && live.instances.values().filter(is_one).count() == count).then_some(())
        };
        within(READY, "every partition has an owner", is_settled).await;
    }

    /// Waits until a gateway knows the ledger.
    pub async fn offers_ledger(&self, gateway: &Member) {
        let deadline = std::time::Instant::now() + READY;
        loop {
            let answer = self.client().get(format!("{}/v1/tools", gateway.url)).send().await;
            let text = match answer {
                Ok(answer) => answer.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if text.contains("ledger_add") {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "no ledger: {text}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A client that shows the API token.
    pub fn client(&self) -> reqwest::Client {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {}", Self::API_TOKEN).parse().unwrap());
        http_client(headers)
    }

    /// Begins a run in a new session in which the model calls `tool` once, which works for `work`;
    /// its stream.
    pub async fn begin(&self, gateway: &Member, tool: &str, work: Duration) -> Events {
        Events::of(self.request(gateway, tool, work)).await
    }

    /// The request of [`Cluster::begin`].
    pub fn request(&self, gateway: &Member, tool: &str, work: Duration) -> reqwest::RequestBuilder {
        let input = format!("{tool} {}", work.as_millis());
        let body = json!({"input": input, "approve": ["*"]});
        self.client().post(format!("{}/v1/runs", gateway.url)).json(&body)
    }

    /// How often the model was asked.
    pub fn asked(&self) -> usize {
        self.model.requests().len()
    }
}

/// The model calls the tool that the input names, once, and then says so.
pub(crate) fn reply(body: &Value) -> Reply {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    if last["role"] == "tool" {
        return Reply::text("It is noted.");
    }
    let input = last["content"].as_str().unwrap_or_default();
    let (tool, work) = input.split_once(' ').unwrap_or((input, "0"));
    let work_ms: u64 = work.parse().unwrap_or(0);
    Reply::call(tool, &json!({"note": "a line", "work_ms": work_ms}))
}
