//! One machine: roles as processes of their own over the directory of sockets and a journal in a file,
//! with the ledger as their tool service. So that one of them can be killed, or its disk can fail.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use callboard_discovery::{
    Config, Discovery,
    transport::{Credentials, DeploymentToken},
};
use reqwest::header::HeaderMap;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::{
    Callboard, Events, Finished, Ledger, ModelServer, cluster::reply, etcd::free_port, http_client,
    strace::failing, wait::within,
};

/// What the API wants to see.
const API_TOKEN: &str = "an-api-token-of-some-length";
/// What the roles want to see of one another.
const DEPLOYMENT_TOKEN: &str = "a-deployment-token-of-some-length";
/// Longest that a role may take to be there.
const READY: Duration = Duration::from_mins(1);

/// An installation on one machine; everything in it ends when it is dropped.
#[derive(Debug)]
pub struct OneMachine {
    /// The installation.
    pub callboard: Callboard,
    /// The oracle.
    pub ledger: Ledger,
    state: PathBuf,
    url: String,
    _model: ModelServer,
    _gateway: Child,
    started: Mutex<usize>,
}

impl OneMachine {
    /// A machine with its gateway and the ledger, and no orchestrator yet; its state is below
    /// `disk`, or in the installation's home.
    pub async fn start(disk: Option<&Path>) -> Self {
        let model = ModelServer::start(|_, body| reply(body)).await;
        let callboard = Callboard::new()
            .env("CALLBOARD__GATEWAY__TOKEN", API_TOKEN)
            .env("OPENAI_API_KEY", "sk-test-key-0123456789")
            .env("OPENAI_BASE_URL", &model.base_url());
        let home = callboard.home().to_owned();
        let state = disk.unwrap_or(&home).join("machine");
        let token = home.join("deployment-token");
        std::fs::write(&token, DEPLOYMENT_TOKEN).unwrap();
        let config = format!(
            "[discovery]\nbackend = \"directory\"\ntoken_file = \"{}\"\n\
             [orchestrator.agent]\nmodel = [\"openai:x\"]\n",
            token.display(),
        );
        std::fs::write(home.join("machine.toml"), config).unwrap();
        let http = format!("127.0.0.1:{}", free_port());
        let arguments = arguments(&home, &state, &["serve", "gateway", "--http", &http]);
        let gateway = spawn(callboard.command(&borrowed(&arguments)), &home.join("gateway.err"));
        within(READY, "the gateway listens", || std::net::TcpStream::connect(&http).ok()).await;
        let path = state.join("discovery");
        let discovery = callboard_discovery::connect(Config::Directory { path }).await.unwrap();
        let credentials = Credentials { token: Some(DeploymentToken::read(&token).unwrap()) };
        let discovery: Arc<dyn Discovery> = discovery;
        let ledger = Ledger::start(discovery, &credentials, &home).await;
        let (url, started) = (format!("http://{http}"), Mutex::default());
        Self { callboard, ledger, state, url, _model: model, _gateway: gateway, started }
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.state.join("journal.db")
    }

    /// Starts an orchestrator, with further variables of the environment.
    pub fn orchestrator(&self, environment: &[(&str, &str)]) -> Child {
        let arguments = arguments(self.callboard.home(), &self.state, &["serve", "orchestrator"]);
        let mut command = self.callboard.command(&borrowed(&arguments));
        command.envs(environment.iter().copied());
        spawn(command, &self.log())
    }

    /// Starts one for which system calls on the journal's log fail, as `inject` of strace says.
    pub fn failing_orchestrator(&self, inject: &str) -> Child {
        let arguments = arguments(self.callboard.home(), &self.state, &["serve", "orchestrator"]);
        let command = self.callboard.command(&borrowed(&arguments));
        let log = self.state.join("journal.db-wal");
        spawn(failing(command.as_std(), &log, inject), &self.log())
    }

    /// Runs a command of the program against this state.
    pub async fn run(&self, own: &[&str]) -> Finished {
        let arguments = arguments(self.callboard.home(), &self.state, own);
        self.callboard.run(&borrowed(&arguments)).await
    }

    /// What all orchestrators have said so far.
    pub fn said(&self) -> String {
        let count = *self.started.lock().unwrap();
        let files = (1..=count).map(|n| self.callboard.home().join(format!("orchestrator{n}.err")));
        files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
    }

    /// A request that begins a run in which the model calls `tool` once.
    pub fn request(&self, tool: &str) -> reqwest::RequestBuilder {
        let body = json!({"input": format!("{tool} 50"), "approve": ["*"]});
        client().post(format!("{}/v1/runs", self.url)).json(&body)
    }

    /// Begins a run; its stream.
    pub async fn begin(&self, tool: &str) -> Events {
        Events::of(self.request(tool)).await
    }

    /// Opens a session with a title; its id, if that was acknowledged.
    pub async fn open(&self, title: &str) -> Option<String> {
        let request = client().post(format!("{}/v1/sessions", self.url));
        let answer = request.json(&json!({"title": title})).send().await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        let session: serde_json::Value = answer.json().await.ok()?;
        session["id"].as_str().map(str::to_owned)
    }

    /// What the API answers: status and body.
    pub async fn get(&self, path: &str) -> (u16, serde_json::Value) {
        let answer = client().get(format!("{}{path}", self.url)).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Waits until the gateway knows the ledger.
    pub async fn offers_ledger(&self) {
        let deadline = std::time::Instant::now() + READY;
        loop {
            let answer = client().get(format!("{}/v1/tools", self.url)).send().await;
            let text = match answer {
                Ok(answer) => answer.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if text.contains("ledger_add") {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{text}: {}", self.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Calls of which the ledger was asked more than once to begin.
    pub fn twice(&self) -> HashMap<String, usize> {
        self.ledger.counts().into_iter().filter(|(_, count)| *count > 1).collect()
    }

    fn log(&self) -> PathBuf {
        let mut started = self.started.lock().unwrap();
        *started += 1;
        self.callboard.home().join(format!("orchestrator{started}.err"))
    }
}

fn arguments(home: &Path, state: &Path, own: &[&str]) -> Vec<String> {
    let config = home.join("machine.toml");
    let mut all: Vec<String> =
        ["--config", &config.display().to_string(), "--state"].map(str::to_owned).to_vec();
    all.push(state.display().to_string());
    all.extend(own.iter().map(|one| (*one).to_owned()));
    all
}

fn borrowed(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn spawn(mut command: Command, log: &Path) -> Child {
    let log = std::fs::File::create(log).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
    command.spawn().unwrap()
}

fn client() -> reqwest::Client {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {API_TOKEN}").parse().unwrap());
    http_client(headers)
}
