//! The installed binary, run as a person would: in a folder, with a home of its own.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
};

use crate::{
    processes::processes_of,
    wait::{eventually, within},
};

/// Time after which a command counts as hanging.
const LIMIT: Duration = Duration::from_mins(2);

/// The binary with a workspace, a state and a home of its own, all removed when dropped.
#[derive(Debug)]
pub struct Callboard {
    home: TempDir,
    workspace: PathBuf,
    environment: BTreeMap<String, String>,
}

/// A command that ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; 128 + signal where one ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Standard output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Fails the test unless the exit code is `code`.
    #[must_use]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

impl Default for Callboard {
    fn default() -> Self {
        Self::new()
    }
}

impl Callboard {
    /// An empty workspace and the environment of somebody without any provider's key.
    pub fn new() -> Self {
        let home = tempfile::Builder::new().prefix("cb").tempdir().unwrap();
        let workspace = home.path().join("ws");
        std::fs::create_dir(&workspace).unwrap();
        let mut environment = BTreeMap::new();
        for (name, folder) in
            [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_RUNTIME_DIR", "run")]
        {
            let path = home.path().join(folder);
            std::fs::create_dir(&path).unwrap();
            set_mode(&path, 0o700);
            environment.insert(name.to_owned(), path.display().to_string());
        }
        environment.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
        // Nothing of the machine may answer as a model.
        let closed = "http://127.0.0.1:9";
        environment.insert(
            "CALLBOARD__ORCHESTRATOR__MODELS__OLLAMA__BASE_URL".to_owned(),
            closed.to_owned(),
        );
        Self { home, workspace, environment }
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The workspace.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Everything of this installation is below this folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file of the workspace, with the folders above it.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The command in the workspace; what a person would type after `callboard`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(path());
        command
            .args(arguments)
            .current_dir(&self.workspace)
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end.
    pub async fn run(&self, arguments: &[&str]) -> Finished {
        finish(self.command(arguments).spawn().unwrap(), arguments).await
    }

    /// Runs a command that reads `input` from standard input.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Finished {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        finish(child, arguments).await
    }

    /// Runs a line of shell in which `$CALLBOARD` is the binary.
    pub async fn run_in_shell(&self, line: &str) -> Finished {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(&self.workspace)
            .env_clear()
            .envs(&self.environment)
            .env("CALLBOARD", path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        finish(command.spawn().unwrap(), &[line]).await
    }

    /// Runs a command on a terminal (a pseudo-terminal made by `script`), typing `keys` when
    /// `prompt` has appeared. Gives the exit code and everything on the screen.
    pub async fn run_on_terminal(
        &self,
        arguments: &[&str],
        prompt: &str,
        keys: &str,
    ) -> (i32, String) {
        let quoted: Vec<String> =
            arguments.iter().map(|a| format!("'{}'", a.replace('\'', r"'\''"))).collect();
        let line = format!("{} {}", path().display(), quoted.join(" "));
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"])
            .current_dir(&self.workspace)
            .env_clear()
            .envs(&self.environment)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = tokio::time::timeout(LIMIT, async {
            use tokio::io::AsyncReadExt as _;
            let (mut screen, mut buffer, mut typed) = (Vec::new(), [0_u8; 4096], false);
            loop {
                let count = stdout.read(&mut buffer).await.unwrap_or(0);
                if count == 0 {
                    break String::from_utf8_lossy(&screen).into_owned();
                }
                screen.extend_from_slice(&buffer[..count]);
                if !typed && String::from_utf8_lossy(&screen).contains(prompt) {
                    typed = true;
                    stdin.write_all(keys.as_bytes()).await.unwrap();
                }
            }
        });
        let screen = screen.await.unwrap_or_else(|_| panic!("{arguments:?} hangs"));
        let status = child.wait().await.unwrap();
        (status.code().unwrap_or(-1), screen)
    }

    /// Starts `callboard up` on a free port and waits until it is ready.
    pub async fn up(&self, arguments: &[&str]) -> Stack {
        let port = crate::etcd::free_port();
        let listen = format!("127.0.0.1:{port}");
        let child = self
            .command(&[&["up"], arguments].concat())
            .env("CALLBOARD__GATEWAY__LISTEN", &listen)
            .stdout(std::fs::File::create(self.home.path().join("up.out")).unwrap())
            .stderr(std::fs::File::create(self.home.path().join("up.err")).unwrap())
            .spawn()
            .unwrap();
        let mut stack = Stack { child, url: format!("http://{listen}"), token: String::new() };
        let output = self.home.path().join("up.out");
        let marker = "token=";
        stack.token = within(Duration::from_secs(30), "`up` prints its URL", || {
            let text = std::fs::read_to_string(&output).ok()?;
            let rest = &text[text.find(marker)? + marker.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')?;
            Some(rest[..end].to_owned())
        })
        .await;
        stack
    }

    /// Fails the test unless every process of this installation ends soon.
    pub async fn nothing_is_left(&self) {
        eventually("every process ends", || processes_of(self.home.path()).is_empty()).await;
    }
}

/// A running `callboard up`.
#[derive(Debug)]
pub struct Stack {
    /// The process.
    pub child: Child,
    /// Where its gateway is.
    pub url: String,
    /// What its API wants to see.
    pub token: String,
}

impl Stack {
    /// Stops it as Ctrl-C in a terminal would, and waits for its end.
    pub async fn stop(mut self) -> i32 {
        let pid = rustix::process::Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status =
            tokio::time::timeout(LIMIT, self.child.wait()).await.expect("`up` ends").unwrap();
        status.code().unwrap_or(-1)
    }

    /// A client that shows the token.
    pub fn client(&self) -> reqwest::Client {
        let mut headers = reqwest::header::HeaderMap::new();
        let value = format!("Bearer {}", self.token);
        headers.insert("authorization", value.parse().unwrap());
        http_client(headers)
    }
}

/// An HTTP client that shows these headers with every request.
pub fn http_client(headers: reqwest::header::HeaderMap) -> reqwest::Client {
    // The client wants a provider even for plain HTTP; a second installation changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().default_headers(headers).tcp_nodelay(true).build().unwrap()
}

/// The binary that was built with the tests.
fn path() -> PathBuf {
    if let Some(path) = std::env::var_os("CALLBOARD_BIN") {
        return path.into();
    }
    // The test runs from `<target>/<profile>/deps`.
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("callboard");
    assert!(path.exists(), "{} is not built: cargo build --workspace", path.display());
    path
}

async fn finish(child: Child, arguments: &[&str]) -> Finished {
    use std::os::unix::process::ExitStatusExt as _;
    let output = tokio::time::timeout(LIMIT, child.wait_with_output())
        .await
        .unwrap_or_else(|_| panic!("{arguments:?} hangs"))
        .unwrap();
    let status = output.status;
    Finished {
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
