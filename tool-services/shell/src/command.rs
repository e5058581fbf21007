//! Runs one command through the launcher and stays with it: reads what it writes, ends it when its
//! time is up or nobody wants it any more, and answers only when all that it started is gone.
//!
//! What the outcome is called is decided in `answer.rs`, which is next.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callboard_tool::Call;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::launch::{ARGUMENT, Orders};
use crate::output::Kept;
use crate::plan::{Plan, Report, TERMINATE};

/// Time between the wish to end and the end.
const GRACE: Duration = Duration::from_millis(300);

/// Time in which everything is gone after it was killed; it takes milliseconds.
const GONE: Duration = Duration::from_secs(2);

/// Output after which a command is ended: it is not going to be read.
const FLOOD: u64 = 256 * 1024 * 1024;

/// Output that is told while it comes, at most.
const GLIMPSED: u64 = 1024 * 1024;

/// Longest report.
const REPORT: u64 = 64 * 1024;

/// How a command ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) cause: Cause,
    pub(crate) took: Duration,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
}

/// Why a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Nothing was started.
    Refused(String),
    /// Nothing was started: this path was moved away while the walls were built.
    Gone(String),
    /// It took more than it may of something.
    Overrun(String),
    /// Its time was up.
    TimedOut,
    /// Nobody wanted it any more.
    Cancelled,
    /// The launcher died without a word.
    Lost,
}

/// Runs a plan. Dropping the future ends everything that was started, a moment later.
///
/// # Errors
/// The launcher could not be started; nothing runs then.
pub(crate) async fn run(
    program: &Path,
    orders: Orders,
    plan: &Plan,
    (limit, call): (Duration, &Call),
) -> io::Result<Ended> {
    let began = Instant::now();
    let (mut child, control) = launch(program, orders)?;
    let (heard, mut asked) = control.into_split();
    // A launcher that died already has closed its end; what it was is told below.
    let _ = asked.write_all(&plan.encode()?).await;
    let (mut stdout, mut stderr) = (Kept::default(), Kept::default());
    let flow = Flow { call, total: AtomicU64::new(0), is_flooded: Notify::new() };
    let stop = async {
        tokio::select! {
            () = call.cancellation().cancelled() => Cause::Cancelled,
            () = sleep(limit) => Cause::TimedOut,
            () = flow.is_flooded.notified() => {
                Cause::Overrun(format!("more than {} MiB of output", FLOOD / 1024 / 1024))
            }
        }
    };
    let pid = child.id();
    let cause = {
        let work = work(&mut child, heard, [&mut stdout, &mut stderr], &flow);
        tokio::pin!(work, stop);
        tokio::select! {
            report = &mut work => told(&report),
            cause = &mut stop => {
                end(work, asked, pid).await;
                cause
            }
        }
    };
    Ok(Ended { cause, took: began.elapsed(), stdout, stderr })
}

fn launch(program: &Path, orders: Orders) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let child = Command::new(program)
        .arg(ARGUMENT)
        .args(orders.arguments())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok((child, UnixStream::from_std(ours)?))
}

/// Everything that there is to wait for; ends when all that was started is gone.
async fn work(
    child: &mut Child,
    heard: OwnedReadHalf,
    [stdout, stderr]: [&mut Kept; 2],
    flow: &Flow<'_>,
) -> Vec<u8> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read_out = async {
        if let Some(stream) = out {
            stdout.read(stream, |piece| flow.pass(piece)).await;
        }
    };
    let read_err = async {
        if let Some(stream) = err {
            stderr.read(stream, |piece| flow.pass(piece)).await;
        }
    };
    let read_report = async {
        let mut report = Vec::new();
        // Half a report is none; see `told`.
        let _ = heard.take(REPORT).read_to_end(&mut report).await;
        report
    };
    let ((), (), report, _) = tokio::join!(read_out, read_err, read_report, child.wait());
    report
}

fn told(report: &[u8]) -> Cause {
    match Report::parse(report) {
        Some(Report::Exit(code)) => Cause::Exit(code),
        Some(Report::Signal(signal)) => Cause::Signal(signal),
        Some(Report::Refused(why)) => Cause::Refused(why),
        Some(Report::Gone(path)) => Cause::Gone(path),
        Some(Report::Overrun(what)) => Cause::Overrun(what),
        None => Cause::Lost,
    }
}

/// Asks the command to end, and a moment later ends it and all that it started.
async fn end(
    mut work: std::pin::Pin<&mut impl Future<Output = Vec<u8>>>,
    mut asked: OwnedWriteHalf,
    launcher: Option<u32>,
) {
    // It may have ended in this moment.
    let _ = asked.write_all(&[TERMINATE]).await;
    if timeout(GRACE, &mut work).await.is_ok() {
        return;
    }
    // The lifeline: the launcher kills everything and ends.
    drop(asked);
    if timeout(GONE, &mut work).await.is_ok() {
        return;
    }
    let pid = launcher.and_then(|pid| Pid::from_raw(pid.cast_signed()));
    tracing::error!(?pid, "launcher does not end its command, killed");
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = timeout(GONE, &mut work).await;
}

/// What is heard while the command runs.
#[derive(Debug)]
struct Flow<'a> {
    call: &'a Call,
    total: AtomicU64,
    is_flooded: Notify,
}

impl Flow<'_> {
    fn pass(&self, piece: &[u8]) {
        let length = piece.len() as u64;
        let total = self.total.fetch_add(length, Ordering::Relaxed) + length;
        if total <= GLIMPSED {
            self.call.chunk(String::from_utf8_lossy(piece));
        }
        if total > FLOOD {
            self.is_flooded.notify_one();
        }
    }
}
