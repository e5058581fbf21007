//! Whether commands can be walled in on this machine: tried once when the service starts, by
//! running the launcher against what must fail.
//!
//! `launch/acts.rs` has the list.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::launch::{ARGUMENT, FOLDER, Orders, PROGRAM, SENSITIVE};
use crate::plan::{Act, Forbidden, Isolation, Plan, Report};

/// A launcher that says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where things to reach for are made; a socket's path must be short.
const TEMPORARY: &str = "/tmp";

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The best walls that stand; none means that the tool is not offered.
    pub isolation: Option<Isolation>,
    /// What kept better walls from standing, a sentence each.
    pub problems: Vec<String>,
}

/// Tries the walls on this machine with this program's own launcher. Takes some hundredths of a
/// second, and blocks.
///
/// The program's `main` must call [`crate::launcher_main`].
pub fn probe() -> Probe {
    probe_with(Path::new(PROGRAM), &Isolation::ALL)
}

/// The same with another program as the launcher, and not all walls.
pub(crate) fn probe_with(program: &Path, wanted: &[Isolation]) -> Probe {
    let mut problems = Vec::new();
    for &isolation in wanted {
        match attempt(program, isolation) {
            Ok(()) => return Probe { isolation: Some(isolation), problems },
            Err(why) => problems.push(match isolation {
                Isolation::Namespaces => format!("no namespaces: {why}"),
                Isolation::Landlock => format!("no walls without namespaces: {why}"),
            }),
        }
    }
    Probe { isolation: None, problems }
}

/// The launcher's stage that probes, for a look from outside; of all walls, or of those named.
pub(crate) fn main(name: Option<OsString>) -> ExitCode {
    let probe = match name {
        None => probe(),
        Some(name) => match name.to_str().and_then(Isolation::named) {
            Some(isolation) => probe_with(Path::new(PROGRAM), &[isolation]),
            None => return ExitCode::from(2),
        },
    };
    let mut out = io::stdout().lock();
    // Nobody may be there to read it; the exit code says it as well.
    let _ = match probe.isolation {
        Some(isolation) => writeln!(out, "{}", isolation.name()),
        None => writeln!(out, "none"),
    };
    for problem in &probe.problems {
        let _ = writeln!(out, "{problem}");
    }
    if probe.isolation.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One try; the error says what did not work, or what did and must not.
fn attempt(program: &Path, isolation: Isolation) -> Result<(), String> {
    let place = Place::new().map_err(|error| format!("a temporary folder: {error}"))?;
    let plan = place.plan(isolation);
    let (report, said) = run(program, &plan).map_err(|error| format!("the launcher: {error}"))?;
    match report {
        Some(Report::Exit(0)) if said.trim().is_empty() => Ok(()),
        Some(Report::Refused(why) | Report::Gone(why)) => Err(why),
        Some(Report::Exit(_) | Report::Signal(_) | Report::Overrun(_)) | None => {
            let said = said.lines().collect::<Vec<_>>().join(", ");
            Err(if said.is_empty() { "the launcher died".to_owned() } else { said })
        }
    }
}

fn run(program: &Path, plan: &Plan) -> io::Result<(Option<Report>, String)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(PATIENCE))?;
    let orders = Orders { isolation: plan.isolation, owner: None };
    let mut child = Command::new(program)
        .arg(ARGUMENT)
        .args(orders.arguments())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut told = Vec::new();
    let spoken = ours.write_all(&plan.encode()?).and_then(|()| ours.read_to_end(&mut told));
    drop(ours);
    if spoken.is_err() {
        child.kill()?;
    }
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut said)?;
    }
    child.wait()?;
    spoken?;
    Ok((Report::parse(&told), said))
}

/// A workspace with a sensitive file, and things outside of it that must not be touched.
struct Place {
    folder: PathBuf,
    _listener: UnixListener,
}

impl Place {
    fn new() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (pid, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(TEMPORARY).join(format!("callboard-probe-{pid}-{number}"));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let made = Self::fill(&folder);
        if made.is_err() {
            remove(&folder);
        }
        Ok(Self { _listener: made?, folder })
    }

    fn fill(folder: &Path) -> io::Result<UnixListener> {
        std::fs::create_dir_all(folder.join("work").join(FOLDER))?;
        std::fs::write(folder.join("work").join(SENSITIVE), "SECRET=1")?;
        std::fs::write(folder.join("outside"), "outside")?;
        UnixListener::bind(folder.join("socket"))
    }

    fn plan(&self, isolation: Isolation) -> Plan {
        Plan {
            act: Act::Probe(Forbidden {
                file: self.folder.join("outside"),
                socket: self.folder.join("socket"),
                process: std::process::id().cast_signed(),
            }),
            isolation,
            workspace: self.folder.join("work").into(),
            is_writable: true,
            cwd: "".into(),
            hidden: vec![SENSITIVE.into()],
            kept: Vec::new(),
            pinned: Vec::new(),
            scratch: "/tmp".into(),
            cpu_seconds: PATIENCE.as_secs(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

fn remove(folder: &Path) {
    // It is a temporary folder: what stays behind harms nobody.
    let _ = std::fs::remove_dir_all(folder);
}
