//! A disk of a few hundred KiB that can be filled, emptied and made read only: a tmpfs in a mount
//! namespace of its own, reached through the process that holds it, or from inside.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;
use tokio::task::spawn_blocking;

use crate::postgres::Unprivileged;

/// Mounts, and becomes another command.
const MOUNT: &str = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";

/// Says that the disk is there, and keeps it for as long as standard input is open.
const HOLD: &str = "echo ready && exec cat";

/// Set in a test that runs inside: where the disk is.
const INSIDE: &str = "CALLBOARD_TEST_SMALL_DISK";

/// A small disk; gone when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    /// Who keeps it, and the folder that it is mounted on there.
    holder: Option<(Child, TempDir)>,
    path: PathBuf,
}

impl SmallDisk {
    /// A disk of `kib` KiB. Who runs servers that want no root may use it, too. It cannot be used
    /// by programs that follow links by hand.
    pub fn new(kib: u32) -> Self {
        let mount = TempDir::new().unwrap();
        let user = Unprivileged::find();
        let mut options = format!("size={kib}k,mode=0700");
        let mut command = match user.ids {
            Some((uid, gid)) => {
                options = format!("{options},uid={uid},gid={gid}");
                let mut command = unshare(&options, mount.path());
                command
                    .arg("setpriv")
                    .arg(format!("--reuid={uid}"))
                    .arg(format!("--regid={gid}"))
                    .arg("--clear-groups");
                command
            }
            None => unshare(&options, mount.path()),
        };
        command.args(["sh", "-c", HOLD]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "a tmpfs can be mounted in a namespace");
        let root = PathBuf::from(format!("/proc/{}/root", holder.id()));
        let path = root.join(mount.path().strip_prefix("/").unwrap());
        Self { holder: Some((holder, mount)), path }
    }

    /// Runs the test called `name` once more where a disk of `kib` KiB is mounted, and fails if
    /// that fails. There, and only there, it gives the disk.
    pub async fn inside(kib: u32, name: &str) -> Option<Self> {
        if let Some(path) = std::env::var_os(INSIDE) {
            return Some(Self { holder: None, path: path.into() });
        }
        let mount = TempDir::new().unwrap();
        let mut command = unshare(&format!("size={kib}k,mode=0700"), mount.path());
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", name]).env(INSIDE, mount.path());
        let done = spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{done:?}");
        None
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves no byte free.
    pub fn fill(&self) {
        use std::io::Write as _;
        let mut ballast =
            fs::File::options().create(true).append(true).open(self.ballast()).unwrap();
        let mut size = 1 << 16;
        while size > 0 {
            // As much as there is room for is written, down to the last byte.
            if ballast.write(&vec![1; size]).is_err() {
                size /= 2;
            }
        }
    }

    /// Gives back what [`SmallDisk::fill`] took.
    pub fn empty(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    /// Lets nobody write any more, or again; only from inside.
    pub fn set_read_only(&self, is_read_only: bool) {
        let mode = if is_read_only { "remount,ro" } else { "remount,rw" };
        let done = Command::new("mount").args(["-o", mode]).arg(self.path()).status().unwrap();
        assert!(done.success());
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Some((mut holder, _)) = self.holder.take() {
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}

/// A command that mounts a disk where nobody else sees it, and then runs what is added to it.
fn unshare(options: &str, mount: &Path) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", MOUNT, "sh", options]).arg(mount);
    command
}
