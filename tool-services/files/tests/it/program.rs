//! The program as a process over one workspace and one store.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use callboard_tool::testing::Program;
use tempfile::TempDir;
use tokio::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_callboard-files");

/// A workspace `ws` and a store.
pub(crate) struct Place {
    folder: TempDir,
    started: AtomicU32,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        Self { folder, started: AtomicU32::new(0) }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("ws").join(path)
    }

    /// Names in the workspace, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) async fn serve(&self) -> Program {
        self.spawn(Command::new(PROGRAM)).await
    }

    /// Serves until the first system call of this name on the workspace's own folder, which kills
    /// the process as it begins.
    pub(crate) async fn serve_until(&self, name: &str) -> Program {
        let mut command = Command::new("strace");
        command
            .args(["-f", "-o", "/dev/null", "-e", &format!("trace={name}")])
            .args(["-e", &format!("inject={name}:signal=KILL:when=1"), "-P"])
            .arg(self.at("").canonicalize().unwrap())
            .arg(PROGRAM);
        self.spawn(command).await
    }

    async fn spawn(&self, mut command: Command) -> Program {
        // A directory of its own for each, so that the one instance in it is the new one.
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let directory = self.folder.path().join(number.to_string());
        command
            .env("CALLBOARD_STORE", self.folder.path().join("store"))
            .env("CALLBOARD_WORKSPACE", format!("work={}", self.at("").display()));
        Program::start(command, &directory).await.unwrap()
    }
}
