//! A real etcd as a child process on free loopback ports, stopped at the end; and a proxy before it
//! that stalls or cuts connections.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener as StdTcpListener},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    Login,
    etcd::{Settings, client::Client, cluster::Cluster},
    testing::DEADLINE,
};

/// Between two looks at whether something has come.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Server {
    folder: tempfile::TempDir,
    name: String,
    client: u16,
    peer: u16,
    /// All members, in the form that etcd wants.
    cluster: String,
    child: Option<Child>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_cluster(1).await.remove(0)
    }

    pub(crate) async fn start_cluster(members: u16) -> Vec<Self> {
        // A port that was free may be taken before etcd binds it.
        for _ in 0..5 {
            let mut cluster: Vec<Self> = (0..members).map(Self::new).collect();
            let name = |it: &Self| format!("{}=http://127.0.0.1:{}", it.name, it.peer);
            let names: Vec<String> = cluster.iter().map(name).collect();
            for member in &mut cluster {
                member.cluster = names.join(",");
                member.spawn();
            }
            let mut are_ready = true;
            for member in &mut cluster {
                are_ready &= member.is_ready().await;
            }
            if are_ready {
                return cluster;
            }
        }
        panic!("etcd does not start");
    }

    fn new(member: u16) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            name: format!("s{member}"),
            client: free_port(),
            peer: free_port(),
            cluster: String::new(),
            child: None,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.client)
    }

    pub(crate) fn settings(&self) -> Settings {
        settings(&self.url())
    }

    /// A client that asks the server itself, whatever the views say.
    pub(crate) fn client(&self) -> Client {
        Client::new(Arc::new(Cluster::new(&[self.url()], None).unwrap()))
    }

    /// Starts it on the data it had.
    pub(crate) async fn resume(&mut self) {
        self.spawn();
        assert!(self.is_ready().await, "etcd does not start again");
    }

    fn spawn(&mut self) {
        let (client, peer) = (self.url(), format!("http://127.0.0.1:{}", self.peer));
        let child = Command::new("etcd")
            .args(["--name", &self.name, "--log-level", "error", "--data-dir"])
            .arg(self.folder.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &self.cluster])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("etcd is installed (Debian: etcd-server)");
        self.child = Some(child);
    }

    /// Waits until it answers; false if it ended instead.
    async fn is_ready(&mut self) -> bool {
        let began = Instant::now();
        while began.elapsed() < DEADLINE {
            if self.answers().await {
                return true;
            }
            if self.child.as_mut().is_none_or(|it| !matches!(it.try_wait(), Ok(None))) {
                return false;
            }
            sleep(LOOK).await;
        }
        false
    }

    pub(crate) async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    /// Starts it with nothing.
    pub(crate) async fn resume_empty(&mut self) {
        std::fs::remove_dir_all(self.folder.path().join("data")).unwrap();
        self.resume().await;
    }

    async fn answers(&self) -> bool {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, self.client)).await {
            Ok(_) => self.post("/health", "").await.contains("\"true\""),
            Err(_) => false,
        }
    }

    /// Asks etcd's JSON door, which has what our part of the API leaves out.
    pub(crate) async fn post(&self, path: &str, body: &str) -> String {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: etcd\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.client)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

pub(crate) fn settings(url: &str) -> Settings {
    Settings {
        endpoints: vec![url.to_owned()],
        prefix: "/callboard".to_owned(),
        lease_ttl: Duration::from_secs(2),
        login: None::<Login>,
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// What the proxy does with connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Pass,
    /// Takes no new connection and closes those that are open.
    Cut,
}

pub(crate) struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
    /// Raised to hold up all connections that are open then, without closing them.
    stalls: watch::Sender<u64>,
    _task: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn before(server: &Server) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mode, stalls) = (watch::Sender::new(Mode::Pass), watch::Sender::new(0));
        let (modes, stall) = (mode.subscribe(), stalls.subscribe());
        let target = (Ipv4Addr::LOCALHOST, server.client);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(relay(stream, target, modes.clone(), stall.clone()));
            }
        });
        Self { address, mode, stalls, _task: task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    pub(crate) fn stall(&self) {
        self.stalls.send_modify(|stalls| *stalls += 1);
    }
}

async fn relay(
    mut stream: TcpStream,
    target: (Ipv4Addr, u16),
    mut mode: watch::Receiver<Mode>,
    mut stalls: watch::Receiver<u64>,
) {
    stalls.mark_unchanged();
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    tokio::select! {
        biased;
        () = async { let _ = mode.wait_for(|mode| *mode == Mode::Cut).await; } => {}
        _ = stalls.changed() => std::future::pending().await,
        _ = copy_bidirectional(&mut stream, &mut server) => {}
    }
}
