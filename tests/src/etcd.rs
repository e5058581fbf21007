//! A real etcd server on free ports of the loopback interface.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use tempfile::TempDir;

use crate::wait::within;

/// A real etcd; stopped and removed when dropped.
#[derive(Debug)]
pub struct Etcd {
    child: Child,
    url: String,
    _data: TempDir,
}

impl Etcd {
    /// Starts an empty etcd and waits until it answers.
    pub async fn start() -> Self {
        let data = TempDir::new().unwrap();
        let (client, peer) = (free_port(), free_port());
        let (url, peer) =
            (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let child = Command::new("etcd")
            .args(["--name", "test", "--data-dir"])
            .arg(data.path())
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("test={peer}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd is installed: see tests/run.sh");
        let etcd = Self { child, url, _data: data };
        let address = format!("127.0.0.1:{client}");
        within(Duration::from_secs(20), "etcd listens", || {
            std::net::TcpStream::connect(&address).ok()
        })
        .await;
        etcd
    }

    /// Where clients reach it.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
