//! One role as a process of its own: started, listened to, and gone.
//!
//! Each runs in a process group of its own, so that Ctrl-C in a terminal reaches the supervisor
//! alone, with an environment of a few harmless variables. When to start it again is decided in
//! `restart`, when to end it in `supervisor`.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::order::{Change, Order, Report, RoleName};

/// Variables that every role gets where they are set.
const HARMLESS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables of the network, for roles that call other machines.
const PROXIES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// The standard error of a role that nobody watches starts anew above this size.
const STDERR_LIMIT: u64 = 1 << 20;

/// How long a role may take to read its order, if that is longer than a pipe.
const ORDER_LIMIT: Duration = Duration::from_secs(5);

/// How long to wait for what a dead role's pipe still holds.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What is the same for all starts of all roles.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    /// This program.
    pub(crate) program: PathBuf,
    /// The workspace, canonical.
    pub(crate) workspace: PathBuf,
    /// The state folder, canonical; also where the roles stand.
    pub(crate) state: PathBuf,
    /// The environment that the roles get their share of.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the roles write to the supervisor's own standard error.
    pub(crate) inherit_stderr: bool,
}

/// What happens to a role.
#[derive(Debug)]
pub(crate) enum RoleEvent {
    /// It said something.
    Reported(Report),
    /// Its process ended.
    Ended(std::process::ExitStatus),
}

/// A role's process, as long as the supervisor wants it.
#[derive(Debug)]
pub(crate) struct Running {
    /// Its process.
    pub(crate) pid: u32,
    /// Open as long as the role is to live.
    lifeline: Option<ChildStdin>,
    kill: CancellationToken,
}

impl Running {
    /// Tells the role of a change. One that does not listen, or is gone, gets it with its next order.
    pub(crate) async fn tell(&mut self, change: &Change) {
        let Some(stdin) = &mut self.lifeline else { return };
        if let Ok(mut line) = serde_json::to_string(change) {
            line.push('\n');
            let _ = timeout(ORDER_LIMIT, stdin.write_all(line.as_bytes())).await;
        }
    }

    /// Tells the role to drain and exit.
    pub(crate) fn drain(&mut self) {
        self.lifeline = None;
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        self.kill.cancel();
    }
}

/// A role that was started.
#[derive(Debug)]
pub(crate) struct Started {
    running: Running,
    child: Child,
}

impl Launcher {
    /// Starts a role and hands it its order.
    ///
    /// # Errors
    /// When no process can be made.
    pub(crate) async fn start(&self, role: RoleName, order: &Order) -> io::Result<Started> {
        let mut command = Command::new(&self.program);
        command
            .arg0("callboard")
            .arg("serve")
            .arg(role.as_str())
            .arg("--supervised")
            .arg("--workspace")
            .arg(&self.workspace)
            .arg("--state")
            .arg(&self.state)
            .current_dir(&self.state)
            .env_clear()
            .envs(self.share(role))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(self.stderr(role)?)
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("the role ended at once"))?;
        let mut lifeline = child.stdin.take();
        if let Some(stdin) = &mut lifeline {
            let mut line = serde_json::to_string(order)?;
            line.push('\n');
            // A role that died already, or hangs, is found out by its end or by its silence.
            let _ = timeout(ORDER_LIMIT, stdin.write_all(line.as_bytes())).await;
        }
        let running = Running { pid, lifeline, kill: CancellationToken::new() };
        Ok(Started { running, child })
    }

    /// The variables that a role gets.
    fn share(&self, role: RoleName) -> Vec<(OsString, OsString)> {
        let calls_out = matches!(role, RoleName::Orchestrator | RoleName::Search);
        let is_given = |name: &str| is_passed_on(name) && (calls_out || !PROXIES.contains(&name));
        let share = self.environment.iter().filter(|(name, _)| name.to_str().is_some_and(is_given));
        share.cloned().collect()
    }

    fn stderr(&self, role: RoleName) -> io::Result<Stdio> {
        if self.inherit_stderr {
            return Ok(Stdio::inherit());
        }
        let path = self.state.join("logs").join(format!("{role}.stderr"));
        stderr_file(&path).map(Stdio::from)
    }
}

impl Started {
    /// The supervisor's end, and the future that follows the role to its end and tells of it.
    /// Dropping the future kills the role.
    pub(crate) fn follow(
        self,
        role: RoleName,
        events: mpsc::Sender<(RoleName, RoleEvent)>,
    ) -> (Running, impl Future<Output = ()> + Send + use<>) {
        let following = follow(self.child, self.running.kill.clone(), role, events);
        (self.running, following)
    }
}

async fn follow(
    mut child: Child,
    kill: CancellationToken,
    role: RoleName,
    events: mpsc::Sender<(RoleName, RoleEvent)>,
) {
    let mut reports = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
    let status = loop {
        tokio::select! {
            biased;
            line = async { match &mut reports {
                Some(reports) => reports.next_line().await,
                None => std::future::pending().await,
            } } => match line {
                Ok(Some(line)) => tell(&events, role, &line).await,
                Ok(None) | Err(_) => reports = None,
            },
            status = child.wait() => break status,
            () = kill.cancelled() => {
                // It may have ended by itself in this moment.
                let _ = child.start_kill();
                break child.wait().await;
            }
        }
    };
    // What it said last is still in the pipe, and it is often the reason of its end.
    if let Some(reports) = &mut reports {
        while let Ok(Ok(Some(line))) = timeout(LAST_WORDS, reports.next_line()).await {
            tell(&events, role, &line).await;
        }
    }
    // A process that cannot be waited for is gone too; a supervisor that is gone needs no news.
    let _ = events.send((role, RoleEvent::Ended(status.unwrap_or_default()))).await;
}

async fn tell(events: &mpsc::Sender<(RoleName, RoleEvent)>, role: RoleName, line: &str) {
    if let Ok(report) = serde_json::from_str(line) {
        let _ = events.send((role, RoleEvent::Reported(report))).await;
    }
}

/// Whether a variable may reach the processes of a stack. Keys of providers are not among them:
/// they travel in the orchestrator's order.
pub(super) fn is_passed_on(name: &str) -> bool {
    HARMLESS.contains(&name)
        || PROXIES.contains(&name)
        || name.starts_with("LC_")
        || (name.starts_with("OTEL_") && !name.contains("HEADERS"))
}

/// A file for what a process writes where nobody watches; emptied when it has grown too large.
pub(crate) fn stderr_file(path: &Path) -> io::Result<std::fs::File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.len() > STDERR_LIMIT {
        file.set_len(0)?;
    }
    Ok(file)
}
