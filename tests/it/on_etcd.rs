//! The same main job in a cluster's shape: roles started one by one, found through a real etcd, over
//! TCP, with the deployment token.

use std::time::Duration;

use callboard_tests::{Callboard, Collector, Etcd, Span, within};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::process::Child;

const ROLES: [&str; 6] = ["gateway", "orchestrator", "calculator", "files", "search", "shell"];
const API_TOKEN: &str = "an-api-token-of-some-length";

/// A cluster of one process a role.
struct Cluster {
    callboard: Callboard,
    roles: Vec<(&'static str, Child)>,
    url: String,
    _etcd: Etcd,
}

impl Cluster {
    async fn start(callboard: Callboard) -> Self {
        let etcd = Etcd::start().await;
        let token = callboard.home().join("deployment-token");
        std::fs::write(&token, "a-deployment-token-of-some-length\n").unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "[discovery]\nbackend = \"etcd\"\nendpoints = [\"{}\"]\ntoken_file = \"{}\"\n\
             lease_ttl_ms = 3000\n",
            etcd.url(),
            token.display(),
        );
        std::fs::write(callboard.home().join("cluster.toml"), config).unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let callboard = callboard.env("CALLBOARD__GATEWAY__TOKEN", API_TOKEN);
        let mut cluster = Self { callboard, roles: Vec::new(), url, _etcd: etcd };
        for role in ROLES {
            cluster.serve(role, port);
        }
        cluster.ready().await;
        cluster
    }

    fn serve(&mut self, role: &'static str, port: u16) {
        let config = self.callboard.home().join("cluster.toml").display().to_string();
        let socket = format!("unix:{}", self.callboard.home().join("run/gateway.sock").display());
        let (listen, http) = (["--listen", "tcp:127.0.0.1:0"], format!("127.0.0.1:{port}"));
        let own: Vec<&str> = match role {
            "gateway" => vec!["--listen", &socket, "--http", &http],
            _ => listen.to_vec(),
        };
        let log = std::fs::File::create(self.callboard.home().join(format!("{role}.err"))).unwrap();
        let arguments = [&["serve", role, "--config", &config][..], &own].concat();
        let mut command = self.callboard.command(&arguments);
        self.roles
            .push((role, command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()));
    }

    async fn ready(&self) {
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        loop {
            let tools = self.get("/v1/tools").await;
            let count = tools["tools"].as_array().map_or(0, |tools| {
                let is_ours = |tool: &&Value| tool["service"] != "callboard";
                tools.iter().filter(is_ours).count()
            });
            if count >= 7 {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "not ready: {tools}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn get(&self, path: &str) -> Value {
        let request = callboard_tests::http_client(HeaderMap::new())
            .get(format!("{}{path}", self.url))
            .bearer_auth(API_TOKEN);
        match request.send().await {
            Ok(answer) => answer.json().await.unwrap_or(Value::Null),
            Err(_) => Value::Null,
        }
    }

    async fn ask(&self, prompt: &str) -> Value {
        let run = callboard_tests::http_client(HeaderMap::new())
            .post(format!("{}/v1/runs", self.url))
            .bearer_auth(API_TOKEN)
            .json(&json!({"input": prompt, "wait": true}))
            .send()
            .await
            .unwrap();
        run.json().await.unwrap()
    }

    /// A direct call, and how long it took.
    async fn call(&self, tool: &str, arguments: &Value) -> (Value, Duration) {
        let begun = std::time::Instant::now();
        let call = callboard_tests::http_client(HeaderMap::new())
            .post(format!("{}/v1/tools/{tool}/invoke", self.url))
            .bearer_auth(API_TOKEN)
            .json(&json!({ "arguments": arguments }))
            .send()
            .await
            .unwrap();
        (call.json().await.unwrap(), begun.elapsed())
    }

    /// SIGTERM to one role; its exit code.
    async fn stop(&mut self, role: &str) -> Option<i32> {
        let at = self.roles.iter().position(|(name, _)| *name == role).unwrap();
        let (_, mut child) = self.roles.remove(at);
        let pid = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(15), child.wait()).await;
        ended.expect("a drain ends").unwrap().code()
    }

    async fn stop_all(mut self) {
        while let Some((role, _)) = self.roles.first() {
            let role = *role;
            assert_eq!(self.stop(role).await, Some(0), "{role} drains and exits 0");
        }
        self.callboard.nothing_is_left().await;
    }
}

#[tokio::test]
async fn the_main_job_runs_on_etcd_and_is_one_trace() {
    let collector = Collector::start().await;
    let callboard = Callboard::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    callboard.file("meetings/one.md", "# First\n# Second\n");
    let cluster = Cluster::start(callboard).await;
    let run = cluster.ask("What is 6 * 7?").await;
    assert!(run["answer"].as_str().unwrap().contains("42"), "{run}");
    assert!(run["tool_calls"][0]["instance"].as_str().unwrap().starts_with("calculator-"), "{run}");
    let headings = cluster.ask("What are the section headings of meetings/one.md?").await;
    let answer = headings["answer"].as_str().unwrap();
    assert!(answer.contains("First") && answer.contains("Second"), "{headings}");
    cluster.stop_all().await;
    let trace = run["trace_id"].as_str().unwrap();
    let spans: Vec<Span> =
        collector.spans().into_iter().filter(|span| span.trace == trace).collect();
    super::trace::check(&spans, &run);
}

#[tokio::test]
async fn a_stopped_calculator_gives_no_number_and_a_new_one_is_found() {
    let mut cluster = Cluster::start(Callboard::new()).await;
    assert_eq!(cluster.stop("calculator").await, Some(0));
    let run = cluster.ask("What is 6 * 7?").await;
    assert_eq!(run["status"], "failed", "{run}");
    let answer = run["answer"].as_str().unwrap();
    assert!(!answer.chars().any(|c| c.is_ascii_digit()), "a number from nowhere: {answer}");
    cluster.serve("calculator", 0);
    cluster.ready().await;
    let run = cluster.ask("What is 6 * 7?").await;
    assert!(run["answer"].as_str().unwrap().contains("42"), "{run}");
    cluster.stop_all().await;
}

/// On its path a call comes by several places that could each wait for a service.
#[tokio::test]
async fn a_call_waits_once_for_a_service_that_is_away() {
    let patience = Duration::from_secs(3);
    let mut cluster = Cluster::start(Callboard::new()).await;
    for service in ["calculator", "files"] {
        assert_eq!(cluster.stop(service).await, Some(0));
    }
    // One that is judged by its service before it is sent, and one that is not.
    let (sum, file) = (json!({"expression": "6 * 7"}), json!({"path": "notes.md"}));
    let calls = [cluster.call("calculate", &sum), cluster.call("read_file", &file)];
    for (call, took) in futures_util::future::join_all(calls).await {
        let told = (&call["status"], &call["failure"]["kind"], &call["attempts"]);
        assert_eq!(told, (&json!("failed"), &json!("unavailable"), &json!(0)), "{call}");
        assert!(took >= patience && took < 2 * patience, "{took:?}: {call}");
    }
    // What nobody ever offered is not waited for.
    let (call, took) = cluster.call("calculat", &sum).await;
    assert_eq!(call["failure"]["kind"], "not_found", "{call}");
    assert!(took < patience, "{took:?}");
    cluster.stop_all().await;
}

#[tokio::test]
async fn without_the_token_nobody_is_let_in() {
    use callboard_proto::tool::{DescribeRequest, tool_service_client::ToolServiceClient};
    let cluster = Cluster::start(Callboard::new()).await;
    let shell = &cluster.roles.iter().find(|(role, _)| *role == "shell").unwrap().1;
    let port = listening_port(shell.id().unwrap()).await;
    let mut stranger =
        ToolServiceClient::connect(format!("http://127.0.0.1:{port}")).await.unwrap();
    let refused = stranger.describe(DescribeRequest {}).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unauthenticated, "{refused}");
    cluster.stop_all().await;
}

#[tokio::test]
async fn a_role_with_neither_token_nor_tls_refuses_tcp() {
    let callboard = Callboard::new();
    let finished =
        callboard.run(&["serve", "shell", "--listen", "tcp:127.0.0.1:0"]).await.expect(2);
    assert!(finished.stderr.contains("token"), "{finished:?}");
    callboard.nothing_is_left().await;
}

/// The port that a process listens on, as the kernel says.
async fn listening_port(pid: u32) -> u16 {
    within(Duration::from_secs(30), "it listens", || {
        let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .ok()?
            .flatten()
            .filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .filter_map(|to| {
                let text = to.display().to_string();
                Some(text.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
            })
            .collect();
        let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).ok()?;
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // State 0A is LISTEN; field 9 is the inode (proc(5), `/proc/net/tcp`).
            let is_ours = fields[3] == "0A" && sockets.iter().any(|inode| inode == fields[9]);
            let port = fields[1].rsplit(':').next()?;
            is_ours.then(|| u16::from_str_radix(port, 16).ok()).flatten()
        })
    })
    .await
}
