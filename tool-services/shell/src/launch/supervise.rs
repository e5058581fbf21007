//! Stays with the command: starts [`super::confine`], waits for its end, passes on the wish to end
//! it, watches its limits and gathers what it leaves behind. Ends at once when the service does.
//!
//! Next: `census.rs`.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process_group, pidfd_open, wait,
};
use rustix::time::Timespec;

use crate::plan::{Plan, Report, TERMINATE};

use super::census::Census;
use super::{ARGUMENT, During as _, LaunchError, PROGRAM};

/// How often limits are looked at.
const EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Runs the plan to its end; nothing that it started is left then, or the caller's end sees to it.
pub(super) fn run(
    plan: &Plan,
    control: &UnixStream,
    census: Census,
) -> Result<Report, LaunchError> {
    let command = start(plan)?;
    let report = watch(command, control, census);
    census.end();
    report
}

/// Starts the last stage and waits until it has become the shell. Gives its process id, which is
/// that of its process group as well.
fn start(plan: &Plan) -> Result<Pid, LaunchError> {
    let (mut ours, theirs) = UnixStream::pair().during("making a socket")?;
    let cwd = Path::new(&plan.workspace).join(&plan.cwd);
    let mut command = Command::new(PROGRAM);
    command
        .args([ARGUMENT, "confine"])
        .env_clear()
        .current_dir(&cwd)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .process_group(0);
    let child = command.spawn().during("starting in the workspace")?;
    drop(command);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| LaunchError::Refused("a process without a number".to_owned()))?;
    let frame = plan.encode().during("passing on the plan")?;
    std::io::Write::write_all(&mut ours, &frame).during("passing on the plan")?;
    let mut refusal = Vec::new();
    // Its end closes when it becomes the shell.
    ours.read_to_end(&mut refusal).during("hearing from the last stage")?;
    if refusal.is_empty() {
        return Ok(pid);
    }
    Err(match Report::parse(&refusal) {
        Some(Report::Gone(path)) => LaunchError::Gone(path),
        Some(Report::Refused(why)) => LaunchError::Refused(why),
        _ => LaunchError::Refused("the last stage ended in the middle of a word".to_owned()),
    })
}

fn watch(command: Pid, control: &UnixStream, census: Census) -> Result<Report, LaunchError> {
    let handle = pidfd_open(command, PidfdFlags::empty()).during("watching the command")?;
    loop {
        let mut polled = [PollFd::new(control, PollFlags::IN), PollFd::new(&handle, PollFlags::IN)];
        let woken = match poll(&mut polled, Some(&EVERY)) {
            Err(Errno::INTR) => continue,
            woken => woken.during("watching the command")?,
        };
        if let Some(report) = reap(command) {
            return Ok(report);
        }
        let is_asked = !polled[0].revents().is_empty();
        if is_asked && !passes_on(control, command) {
            return Ok(Report::Signal(Signal::KILL.as_raw()));
        }
        if woken == 0
            && let Some(what) = census.overrun()
        {
            return Ok(Report::Overrun(what));
        }
    }
}

/// Gathers everyone who has ended; says how the command did.
fn reap(command: Pid) -> Option<Report> {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == command {
            return Some(report(status));
        }
    }
    None
}

fn report(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exit(code),
        (None, Some(signal)) => Report::Signal(signal),
        // It can only be stopped, and stops are not waited for.
        (None, None) => Report::Signal(0),
    }
}

/// Does what the service asks for; false if the service is gone.
fn passes_on(mut control: &UnixStream, command: Pid) -> bool {
    let mut wish = [0];
    match control.read(&mut wish) {
        Ok(1) => {
            if wish == [TERMINATE] {
                // It may have ended in this moment.
                let _ = kill_process_group(command, Signal::TERM);
            }
            true
        }
        Ok(_) | Err(_) => false,
    }
}
