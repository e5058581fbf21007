//! The clients' side: join the stack that runs on a state folder, or start one.
//!
//! Two that start at once race for the lock; the loser's stack says so and ends, and its client joins
//! the winner's. A stack that is just ending is waited for.

use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::hello::{Answer, BYE, Hello};
use super::lock::Holder;
use super::{StackOrder, control, lock};
use crate::exit::usage;
use crate::place::Place;

/// How long to wait for a stack that starts, or for the lock of one that ends.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a stack that is not ending may be without its control socket: it has just begun.
const SOCKET_LIMIT: Duration = Duration::from_secs(3);
/// How long `doctor` waits for a stack's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the last client waits for the end of the stack.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A hold on a stack that is ready. It lives as long as this value, if `ask` started it.
#[derive(Debug)]
pub(crate) struct Joined {
    /// What the stack says of itself.
    pub(crate) hello: Hello,
    link: BufReader<UnixStream>,
    /// The stack, where this process started it.
    child: Option<Child>,
}

/// What came of one try.
enum Try {
    Ready(Box<Joined>),
    /// Another one is starting or ending: try again.
    Again,
}

/// Joins the stack of `place`, or starts one. Dropping the future leaves.
///
/// # Errors
/// When none can be started, or the one that holds the lock does not answer.
pub(crate) async fn join_or_start(place: &Place, order: &StackOrder) -> anyhow::Result<Joined> {
    let deadline = Instant::now() + LIMIT;
    let mut absence = Absence::default();
    while Instant::now() < deadline {
        if let Some(link) = connect(place).await {
            if let Try::Ready(joined) = hear(place, link, None).await? {
                return Ok(*joined);
            }
        } else if absence.goes_on(place)? == Holder::Nobody
            && let Try::Ready(joined) = start(place, order).await?
        {
            return Ok(*joined);
        }
        sleep(PAUSE).await;
    }
    Err(unanswered(place))
}

/// Joins the stack of `place` if there is one.
///
/// # Errors
/// When the one that holds the lock does not answer.
pub(crate) async fn join_running(place: &Place) -> anyhow::Result<Option<Joined>> {
    let deadline = Instant::now() + LIMIT;
    let mut absence = Absence::default();
    while Instant::now() < deadline {
        if let Some(link) = connect(place).await {
            if let Try::Ready(joined) = hear(place, link, None).await? {
                return Ok(Some(*joined));
            }
        } else if absence.goes_on(place)? == Holder::Nobody {
            return Ok(None);
        }
        sleep(PAUSE).await;
    }
    Err(unanswered(place))
}

/// Whether the stack that holds the lock of `place` answers on its control socket.
pub(crate) async fn answers(place: &Place) -> bool {
    let heard = async {
        let Some(link) = connect(place).await else { return false };
        let mut answer = String::new();
        matches!(BufReader::new(link).read_line(&mut answer).await, Ok(length) if length > 0)
    };
    timeout(ANSWER_LIMIT, heard).await.unwrap_or(false)
}

/// The time for which one process has held the lock without a control socket.
#[derive(Debug, Default)]
struct Absence {
    of: Option<(u32, Instant)>,
}

impl Absence {
    /// Who holds the lock now that nobody listens on the control socket.
    ///
    /// # Errors
    /// When it is time to give up.
    fn goes_on(&mut self, place: &Place) -> anyhow::Result<Holder> {
        let holder = lock::holder(&place.state)?;
        let Holder::Process(pid) = holder else {
            self.of = None;
            return Ok(holder);
        };
        let now = Instant::now();
        let (_, since) = *self.of.get_or_insert((pid, now));
        match self.of {
            Some((of, _)) if of != pid => self.of = Some((pid, now)),
            _ if now.duration_since(since) >= SOCKET_LIMIT => {
                return Err(usage(format!(
                    "process {pid} runs a stack on the state folder {} and cannot be reached: its \
                     control socket {} is gone; end it with `kill {pid}` and try again",
                    place.state.display(),
                    place.sockets.join(control::NAME).display()
                )));
            }
            _ => {}
        }
        Ok(holder)
    }
}

impl Joined {
    /// Waits until the stack ends without being asked to, and says why. Dropping the future loses
    /// nothing that matters: a stack that ended stays ended.
    pub(crate) async fn ended(&mut self) -> anyhow::Error {
        loop {
            let mut line = String::new();
            if !matches!(self.link.read_line(&mut line).await, Ok(length) if length > 0) {
                return anyhow::anyhow!(
                    "the stack (process {}) ended before this was done; what was begun goes on \
                     when one runs here again (`callboard up`), and the folder `logs` of the state \
                     folder says why it ended",
                    self.hello.pid
                );
            }
            if let Ok(Answer::Failed(failed)) = serde_json::from_str(&line) {
                return failed.into();
            }
        }
    }

    /// Leaves. If this was the last client of a stack that lives for its clients, it returns when
    /// the stack's processes are gone.
    pub(crate) async fn leave(mut self) {
        let pid = i32::try_from(self.hello.pid).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
        if self.link.get_mut().write_all(BYE).await.is_err() {
            return;
        }
        let mut line = String::new();
        let ended = async {
            match self.link.read_line(&mut line).await {
                // Others stay.
                Ok(length) if length > 0 => return,
                Ok(_) | Err(_) => {}
            }
            if let Some(child) = &mut self.child {
                // Reaped here, so that not even a zombie is left.
                let _ = child.wait().await;
            } else if let Some(process) = process {
                // The connection ends a moment before the process does.
                let _ = spawn_blocking(move || gone(&process)).await;
            }
        };
        // A stack that does not end is not this client's to wait for.
        let _ = timeout(END_LIMIT, ended).await;
    }
}

/// Waits until a process is gone, within a limit.
fn gone(process: &OwnedFd) {
    let limit = Timespec { tv_sec: END_LIMIT.as_secs().cast_signed(), tv_nsec: 0 };
    // A limit that passed is no failure of this client's, nor is a signal that came between.
    let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit));
}

async fn connect(place: &Place) -> Option<UnixStream> {
    let stream = UnixStream::connect(place.sockets.join(control::NAME)).await.ok()?;
    let is_ours = stream.peer_cred().ok()?.uid() == rustix::process::geteuid().as_raw();
    is_ours.then_some(stream)
}

/// Starts a stack in a session of its own: what happens in this terminal does not reach it.
async fn start(place: &Place, order: &StackOrder) -> anyhow::Result<Try> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().context("no socket pair")?;
    ours.set_nonblocking(true)?;
    let mut link = UnixStream::from_std(ours)?;
    let logs = super::logs(&place.state)?;
    let child = Command::new(super::program()?)
        .arg0("callboard")
        .args(["serve", "stack", "--supervised", "--workspace"])
        .arg(&place.workspace)
        .arg("--state")
        .arg(&place.state)
        .current_dir(&place.state)
        .env_clear()
        .envs(super::environment())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(super::role::stderr_file(&logs.join("stack.stderr"))?)
        .spawn()
        .context("cannot start the stack's process")?;
    let mut text = serde_json::to_string(order)?;
    text.push('\n');
    link.write_all(text.as_bytes()).await.context("the stack's process ended at once")?;
    hear(place, link, Some(child)).await
}

/// Waits for the answer of a stack.
async fn hear(place: &Place, link: UnixStream, child: Option<Child>) -> anyhow::Result<Try> {
    let mut link = BufReader::new(link);
    let mut answer = String::new();
    let answered = timeout(LIMIT, link.read_line(&mut answer)).await;
    match answered {
        Ok(Ok(0) | Err(_)) if child.is_some() => anyhow::bail!("the stack's process ended at once"),
        Ok(Ok(0) | Err(_)) => return Ok(Try::Again),
        Ok(Ok(_)) => {}
        Err(_) => return Err(unanswered(place)),
    }
    let answer = serde_json::from_str(&answer)
        .context("the stack's answer cannot be read; is it of another version?")?;
    match answer {
        Answer::Ready(hello) => Ok(Try::Ready(Box::new(Joined { hello: *hello, link, child }))),
        Answer::Failed(failed) => Err(failed.into()),
        Answer::Taken | Answer::GoesOn => Ok(Try::Again),
    }
}

fn unanswered(place: &Place) -> anyhow::Error {
    let holder = lock::holder(&place.state).unwrap_or(Holder::Somebody);
    anyhow::anyhow!(
        "{holder} holds the lock of the state folder {} and does not answer; `callboard doctor` \
         says more",
        place.state.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        (folder, Place { workspace: path.clone(), state: path.clone(), sockets: path })
    }

    #[tokio::test(start_paused = true)]
    async fn a_stack_without_its_socket_is_given_up_soon() {
        let (_folder, place) = place();
        let lock = lock::take(&place.state).unwrap().unwrap();
        let began = Instant::now();
        let error = join_running(&place).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        assert_eq!(crate::exit::of(&error), crate::exit::Exit::Usage);
        assert!(error.to_string().contains(&format!("kill {}", std::process::id())), "{error}");
        drop(lock);
        assert!(join_running(&place).await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stack_that_is_ending_is_waited_for() {
        let (_folder, place) = place();
        let mut lock = lock::take(&place.state).unwrap().unwrap();
        lock.note_end();
        let ends = async {
            sleep(SOCKET_LIMIT * 2).await;
            drop(lock);
        };
        let (joined, ()) = tokio::join!(join_running(&place), ends);
        assert!(joined.unwrap().is_none());
    }
}
