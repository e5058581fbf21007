//! A real PostgreSQL server on a free port of the loopback interface, run by an unprivileged user,
//! as it insists. It ends with the process that started it, however that ends.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::{etcd::free_port, memory, strace::slow_syncs, wait::eventually};

/// The password of both roles.
pub const PASSWORD: &str = "p@ss:word/é";
/// The same in a URL.
pub const PASSWORD_IN_URL: &str = "p%40ss%3Aword%2F%C3%A9";

/// Runs a command until standard input ends, and then ends it at once; then removes what it was
/// told to.
const UNTIL_STDIN_ENDS: &str = "exec 3<&0; \"$@\" </dev/null 3<&- & pid=$!
    (cat <&3 >/dev/null; kill -QUIT $pid 2>/dev/null) & exec 3<&-; wait $pid
    [ -z \"$REMOVE\" ] || rm -rf \"$REMOVE\"";

/// What the server keeps that all tests share: a database for each cluster, and its log.
const SHARED_KEEPS: u64 = 2 << 30;

/// How a server is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// In order.
    Fast,
    /// As in a crash: what is not in the log is lost, and recovered from it at the next start.
    Immediate,
}

/// A real PostgreSQL; stopped and removed when dropped.
#[derive(Debug)]
pub struct Postgres {
    folder: TempDir,
    port: u16,
    user: Unprivileged,
    options: Vec<String>,
    sync_delay: Duration,
    running: Mutex<Option<Child>>,
    databases: AtomicU32,
    /// Its folder is removed by who ends it.
    goes_by_itself: bool,
}

/// Who runs the server.
#[derive(Clone, Debug)]
pub(crate) struct Unprivileged {
    /// User and group, where we must become somebody else.
    pub(crate) ids: Option<(u32, u32)>,
}

impl Postgres {
    /// The server that all tests of a process share, each in databases of its own.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Postgres> = OnceCell::const_new();
        let start = || async {
            let folder = memory::folder(SHARED_KEEPS);
            let mut postgres = Self::make_in(folder, &[], Duration::ZERO);
            // Nobody drops it: it goes with the process.
            postgres.folder.disable_cleanup(true);
            postgres.goes_by_itself = true;
            postgres.first_start().await
        };
        SHARED.get_or_init(start).await
    }

    /// Starts an empty server with further settings, such as `max_connections=10`, and waits until
    /// it answers.
    pub async fn start(settings: &[&str]) -> Self {
        Self::make_for(settings, Duration::ZERO).first_start().await
    }

    /// Starts an empty server whose syncs take `delay` longer.
    pub async fn start_with_slow_syncs(delay: Duration) -> Self {
        Self::make_for(&[], delay).first_start().await
    }

    fn make_for(settings: &[&str], sync_delay: Duration) -> Self {
        Self::make_in(TempDir::new().unwrap(), settings, sync_delay)
    }

    fn make_in(folder: TempDir, settings: &[&str], sync_delay: Duration) -> Self {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let user = Unprivileged::find();
        let postgres = Self {
            port: free_port(),
            user,
            options: settings.iter().map(|setting| (*setting).to_owned()).collect(),
            sync_delay,
            running: Mutex::default(),
            databases: AtomicU32::default(),
            goes_by_itself: false,
            folder,
        };
        postgres.make();
        postgres
    }

    async fn first_start(self) -> Self {
        self.start_again().await;
        let sql = format!("CREATE ROLE callboard LOGIN PASSWORD '{PASSWORD}'");
        self.admin("postgres").await.batch_execute(&sql).await.unwrap();
        self
    }

    fn make(&self) {
        let data = self.folder.path().join("server");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("password"), PASSWORD).unwrap();
        if let Some((user, group)) = self.user.ids {
            chown(&data, Some(user), Some(group)).unwrap();
        }
        let password = format!("--pwfile={}", data.join("password").display());
        let made = self
            .user
            .command(&program("initdb"))
            .arg("-D")
            .arg(self.data())
            .args(["-A", "scram-sha-256", "-U", "postgres", "-E", "UTF8", "--no-locale"])
            .args(["--no-sync", &password])
            .current_dir("/")
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    }

    /// Its data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("server/data")
    }

    /// Starts it again after [`Postgres::stop`], and waits until it answers.
    pub async fn start_again(&self) {
        self.run(&[]).await;
    }

    /// Starts it again as a standby that is promoted: with a history of its own from here on.
    pub async fn start_promoted(&self) {
        fs::write(self.data().join("recovery.signal"), "").unwrap();
        if let Some((user, group)) = self.user.ids {
            chown(self.data().join("recovery.signal"), Some(user), Some(group)).unwrap();
        }
        self.run(&["restore_command=false"]).await;
    }

    async fn run(&self, settings: &[&str]) {
        let server = self.folder.path().join("server");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .unwrap();
        let slowed = slow_syncs(&program("postgres"), self.sync_delay);
        let mut postgres = self.user.command(Path::new(slowed.get_program()));
        postgres
            .args(slowed.get_args())
            .arg("-D")
            .arg(self.data())
            .arg("-p")
            .arg(self.port.to_string());
        let sockets = format!("unix_socket_directories={}", server.display());
        for setting in ["listen_addresses=127.0.0.1", "shared_buffers=16MB", &sockets]
            .into_iter()
            .chain(self.options.iter().map(String::as_str))
            .chain(settings.iter().copied())
        {
            postgres.args(["-c", setting]);
        }
        let child = Command::new("sh")
            .args(["-c", UNTIL_STDIN_ENDS, "sh"])
            .env("REMOVE", if self.goes_by_itself { self.folder.path() } else { Path::new("") })
            .arg(postgres.get_program())
            .args(postgres.get_args())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.running() = Some(child);
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while self.try_admin("postgres").await.is_err() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(std::time::Instant::now() < deadline, "no server: {}", log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Stops it, and waits until every process of it is gone.
    pub async fn stop(&self, how: Stop) {
        let signal = match how {
            Stop::Fast => Signal::INT,
            Stop::Immediate => Signal::QUIT,
        };
        if self.is_running() {
            self.signal(signal);
        }
        let mut child = self.running().take().unwrap();
        eventually("the server ends", || child.try_wait().unwrap().is_some()).await;
    }

    /// Sends a signal to the server's first process.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// False once it has ended.
    pub fn is_running(&self) -> bool {
        self.data().join("postmaster.pid").exists()
    }

    /// The server's first process.
    pub fn pid(&self) -> i32 {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }

    /// Makes an empty database that the role `callboard`, who is nobody special, owns; its URL.
    pub async fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("journal{number}");
        let sql = format!("CREATE DATABASE {name} OWNER callboard");
        self.admin("postgres").await.batch_execute(&sql).await.unwrap();
        self.url(&name)
    }

    /// Has the server offer TLS with this certificate from now on.
    pub async fn encrypt(&self, certificate: &Path, key: &Path) {
        for (file, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = self.data().join(name);
            fs::copy(file, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
            if let Some((user, group)) = self.user.ids {
                chown(&to, Some(user), Some(group)).unwrap();
            }
        }
        let admin = self.admin("postgres").await;
        admin.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
        self.stop(Stop::Fast).await;
        self.start_again().await;
    }

    /// How the role `callboard` reaches a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://callboard:{PASSWORD_IN_URL}@127.0.0.1:{}/{database}", self.port)
    }

    /// The journal in a database as statements that make it again.
    pub fn dump(&self, url: &str) -> String {
        let dumped = Command::new(program("pg_dump"))
            .args(["--schema=callboard", "--no-owner", "--inserts", url])
            .output()
            .unwrap();
        assert!(dumped.status.success(), "{dumped:?}");
        // Lines that only `psql` understands.
        let text = String::from_utf8(dumped.stdout).unwrap();
        let ours = text.split_inclusive('\n').filter(|line| !line.starts_with('\\'));
        ours.collect()
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection of the superuser's.
    pub async fn admin(&self, database: &str) -> tokio_postgres::Client {
        self.try_admin(database).await.unwrap()
    }

    async fn try_admin(
        &self,
        database: &str,
    ) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::Config::new()
            .host("127.0.0.1")
            .port(self.port)
            .user("postgres")
            .password(PASSWORD)
            .dbname(database)
            .connect(tokio_postgres::NoTls)
            .await?;
        // It ends with the client.
        tokio::spawn(connection);
        Ok(client)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut child) = self.running().take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

impl Unprivileged {
    pub(crate) fn find() -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self { ids: None };
        }
        let users = fs::read_to_string("/etc/passwd").unwrap();
        let ids = |name: &str| {
            let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
            let mut fields = line.split(':').skip(2);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        Self { ids: Some(ids("postgres").or_else(|| ids("nobody")).expect("an unprivileged user")) }
    }

    fn command(&self, program: &Path) -> Command {
        let Some((user, group)) = self.ids else { return Command::new(program) };
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={user}"))
            .arg(format!("--regid={group}"))
            .arg("--clear-groups")
            .arg(program);
        command
    }
}

/// A program of the newest version that is installed; Debian keeps them out of the way.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| version(path));
    newest.map(|path| path.join("bin").join(name)).filter(|path| path.exists()).unwrap_or_else(
        || {
            // Somewhere else: in the path, or missing, which its first use says.
            PathBuf::from(name)
        },
    )
}
