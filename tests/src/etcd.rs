//! A real etcd, of one or three members, on free ports of the loopback interface.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::{http_client, memory, send};

/// What a member keeps: two log files, which it makes in full, and its database.
const KEEPS: u64 = 192 << 20;
/// Longest that members may take to answer and to agree on a leader.
const AGREED: Duration = Duration::from_mins(1);

/// A real etcd of one or three members; stopped and removed when dropped.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    cluster: String,
}

/// One of its servers.
#[derive(Debug)]
struct Member {
    name: String,
    url: String,
    peer: String,
    data: TempDir,
    /// Making one takes longer than what it asks for.
    client: reqwest::Client,
    running: Mutex<Option<Child>>,
}

impl Etcd {
    /// Starts an empty etcd and waits until it answers.
    pub async fn start() -> Self {
        Self::of(1).await
    }

    /// The same with three members.
    pub async fn of_three() -> Self {
        Self::of(3).await
    }

    async fn of(count: usize) -> Self {
        let url = || format!("http://127.0.0.1:{}", free_port());
        let members: Vec<Member> = (0..count)
            .map(|n| Member {
                name: format!("test{n}"),
                url: url(),
                peer: url(),
                data: memory::folder(KEEPS),
                client: http_client(reqwest::header::HeaderMap::new()),
                running: Mutex::default(),
            })
            .collect();
        let peers: Vec<String> =
            members.iter().map(|one| format!("{}={}", one.name, one.peer)).collect();
        let etcd = Self { members, cluster: peers.join(",") };
        etcd.start_again().await;
        etcd
    }

    /// Where clients reach its first member.
    pub fn url(&self) -> &str {
        &self.members[0].url
    }

    /// Where clients reach its members.
    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(|one| one.url.clone()).collect()
    }

    /// Kills a member.
    pub fn kill(&self, member: usize) {
        if let Some(mut child) = self.members[member].running.lock().unwrap().take() {
            // It may be gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Kills all members.
    pub fn kill_all(&self) {
        (0..self.members.len()).for_each(|member| self.kill(member));
    }

    /// Sends a signal to a member.
    pub fn signal(&self, member: usize, signal: Signal) {
        let pid = self.members[member].running.lock().unwrap().as_ref().unwrap().id();
        send(pid, signal);
    }

    /// Starts what was killed, with the data that it has, and waits until all of it answers.
    pub async fn start_again(&self) {
        for one in &self.members {
            let mut running = one.running.lock().unwrap();
            if running.is_none() {
                *running = Some(one.spawn(&self.cluster));
            }
        }
        self.leader().await;
    }

    /// The member that leads, once all that run agree and answer.
    pub async fn leader(&self) -> usize {
        let deadline = std::time::Instant::now() + AGREED;
        loop {
            if let Some(leader) = self.agreed_leader().await {
                return leader;
            }
            assert!(std::time::Instant::now() < deadline, "etcd answers");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn agreed_leader(&self) -> Option<usize> {
        let mut leader = None;
        for (n, one) in self.members.iter().enumerate() {
            if one.running.lock().unwrap().is_none() {
                continue;
            }
            let status = one.post("maintenance/status", "{}").await?;
            if status["leader"].as_str()? == "0" {
                return None;
            }
            if status["leader"] == status["header"]["member_id"] {
                leader = Some(n);
            }
        }
        leader
    }

    /// Ends every lease at once, as an operator may and a leader with a slow disk did.
    pub async fn revoke_all_leases(&self) {
        let first = &self.members[0];
        let leases = first.post("lease/leases", "{}").await.unwrap();
        for lease in leases["leases"].as_array().unwrap() {
            let body = format!(r#"{{"ID":{}}}"#, lease["ID"]);
            first.post("lease/revoke", &body).await.unwrap();
        }
    }

    /// Forgets every revision but the last.
    pub async fn compact(&self) {
        let first = &self.members[0];
        let now = first.post("kv/range", r#"{"key":"AA=="}"#).await.unwrap();
        let body = format!(r#"{{"revision":{}}}"#, now["header"]["revision"]);
        first.post("kv/compaction", &body).await.unwrap();
    }

    /// Makes `count` changes that mean nothing, so that its revision is higher by as many.
    pub async fn change(&self, count: usize) {
        let put = |_| self.members[0].post("kv/put", r#"{"key":"eA==","value":"eA=="}"#);
        let puts = stream::iter(0..count).map(put).buffer_unordered(16);
        let done = puts.filter(|answer| std::future::ready(answer.is_some())).count().await;
        assert_eq!(done, count);
    }

    /// A backup of its only member, which is stopped for it.
    pub async fn back_up(&self) -> TempDir {
        let backup = TempDir::new().unwrap();
        self.kill_all();
        copy(self.members[0].data.path(), backup.path());
        self.start_again().await;
        backup
    }

    /// Goes back to a backup.
    pub async fn restore(&self, backup: &TempDir) {
        self.kill_all();
        let data = self.members[0].data.path();
        std::fs::remove_dir_all(data.join("member")).unwrap();
        copy(backup.path(), data);
        self.start_again().await;
    }
}

impl Member {
    fn spawn(&self, cluster: &str) -> Child {
        Command::new("etcd")
            .args(["--name", &self.name, "--data-dir"])
            .arg(self.data.path())
            .args(["--listen-client-urls", &self.url, "--advertise-client-urls", &self.url])
            .args(["--listen-peer-urls", &self.peer, "--initial-advertise-peer-urls", &self.peer])
            .args(["--initial-cluster", cluster])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd is installed: see tests/run.sh")
    }

    /// Asks through its JSON gateway.
    async fn post(&self, what: &str, body: &str) -> Option<Value> {
        let request = self.client.post(format!("{}/v3/{what}", self.url)).body(body.to_owned());
        let answer = request.timeout(Duration::from_secs(2)).send().await.ok()?;
        answer.json().await.ok()
    }
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from.join("member")).arg(to).status().unwrap();
    assert!(done.success());
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// A port that nobody listens on at the moment, and that nobody else in this process was given.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}
