//! The program as a process, and its folder.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use callboard_tool::testing::Program;
use tempfile::TempDir;
use tokio::process::Command;

use crate::ledger::FILE;

/// The disk has few pages: SQLite's index of its log alone takes eight.
const SMALL: &str = "size=512k,mode=0700";

/// Where a ledger and a store lie.
pub(crate) struct Place {
    folder: TempDir,
    has_small_disk: bool,
    started: AtomicU32,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), has_small_disk: false, started: AtomicU32::new(0) }
    }

    /// The store lies on a disk of half a MiB, which only the program sees.
    pub(crate) fn with_small_disk() -> Self {
        let place = Self { has_small_disk: true, ..Self::new() };
        fs::create_dir(place.path("store")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has the next call, or rollback, that comes so far kill its process.
    pub(crate) fn die(&self, when: &str) {
        fs::write(self.path("ledger.die"), when).unwrap();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("ledger.txt")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    pub(crate) async fn serve(&self) -> Program {
        // A directory of its own for each, so that the one instance in it is the new one.
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let directory = self.path(&number.to_string());
        let own = std::env::current_exe().unwrap();
        let mut command = if self.has_small_disk {
            let mut command = Command::new("unshare");
            let mount = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";
            command.args(["-m", "sh", "-c", mount, "sh", SMALL]).arg(self.path("store")).arg(own);
            command
        } else {
            Command::new(own)
        };
        command
            .args(["--exact", "crash::serves_where_the_environment_says_so"])
            .env("CALLBOARD_STORE", self.path("store"))
            .env(FILE, self.path("ledger.txt"));
        Program::start(command, &directory).await.unwrap()
    }

    /// Fills the small disk; the file to remove again is what it gives.
    pub(crate) fn fill(&self, program: &Program) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", program.instance.pid));
        let store = self.path("store");
        let fill = root.join(store.strip_prefix("/").unwrap()).join("fill");
        let error = fs::write(&fill, vec![0; 1024 * 1024]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        fill
    }
}
