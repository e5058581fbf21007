//! The last stage: gives up what the command shall not have, in an order in which each step still
//! may, and becomes the shell.
//!
//! Next: `rights.rs`.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::fs::Mode;
use rustix::process::umask;
use rustix::stdio::dup2_stdin;

use crate::plan::{Act, Plan, Report};

use super::{During as _, LaunchError, acts, control, grants, rights, syscalls};

/// Where programs are looked for; nothing that the service was started with counts.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(super) fn main() -> ExitCode {
    let Ok(mut control) = control() else { return ExitCode::FAILURE };
    let plan = match Plan::receive(&mut control).during("reading the plan") {
        Ok(plan) => plan,
        Err(error) => return refuse(control, error),
    };
    let done = confine(&plan).and_then(|()| match &plan.act {
        Act::Run(command) => become_shell(command, &plan.scratch).map(|never| match never {}),
        Act::Probe(forbidden) => acts::attempt(forbidden),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(control, error),
    }
}

fn refuse(mut control: std::os::unix::net::UnixStream, error: LaunchError) -> ExitCode {
    // Without a listener there is nobody to be told.
    let _ = Report::from(error).send(&mut control);
    ExitCode::FAILURE
}

fn confine(plan: &Plan) -> Result<(), LaunchError> {
    umask(Mode::from_raw_mode(0o022));
    let null = OpenOptions::new().read(true).write(true).open("/dev/null");
    dup2_stdin(null.during("closing standard input")?).during("closing standard input")?;
    rights::limit(plan.cpu_seconds)?;
    rights::drop_all()?;
    grants::restrict(plan)?;
    syscalls::restrict(plan.isolation)
}

fn become_shell(command: &str, scratch: &OsStr) -> Result<Infallible, LaunchError> {
    let (shell, options): (&str, &[&str]) = if Path::new("/bin/bash").exists() {
        ("/bin/bash", &["--noprofile", "--norc"])
    } else {
        ("/bin/sh", &[])
    };
    let environment: [(&str, OsString); 7] = [
        ("PATH", PATH.into()),
        ("HOME", scratch.into()),
        ("TMPDIR", scratch.into()),
        ("LANG", "C.UTF-8".into()),
        ("TERM", "dumb".into()),
        ("SHELL", shell.into()),
        ("PAGER", "cat".into()),
    ];
    let error = Command::new(shell)
        .args(options)
        .arg("-c")
        .arg(command)
        .env_clear()
        .envs(environment)
        .exec();
    Err(LaunchError::Step { step: format!("starting {shell}"), error })
}
