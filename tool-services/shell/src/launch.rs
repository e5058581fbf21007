//! The launcher: this very program, started again to build walls around one command and to stay
//! with it until all that it started is gone. It is single-threaded and starts no runtime.
//!
//! Three stages, each a process: [`outer`] leaves the service's namespaces, [`init`] is the first
//! process of the new ones and builds the view of files, [`confine`] gives up every right and
//! becomes the shell. Without namespaces `outer` does `init`'s part. Next: `launch/outer.rs`.

mod outer;
mod init;
mod view;
mod masks;
mod supervise;
mod census;
mod confine;
mod grants;
mod syscalls;
mod rights;
mod acts;
mod raw;

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::plan::Report;

pub(crate) use self::{
    acts::{FOLDER, SENSITIVE},
    outer::Orders,
};

/// First argument of a program that was started as the launcher.
pub(crate) const ARGUMENT: &str = "__callboard-launch";

/// The program itself, also where its file was replaced in the meantime.
pub(crate) const PROGRAM: &str = "/proc/self/exe";

/// Why the walls could not be built; then nothing runs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// A step that the kernel refused.
    #[error("{step}: {error}")]
    Step {
        /// What was to be done.
        step: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// Landlock cannot be had as it must be.
    #[error("Landlock: {0}")]
    Landlock(String),
    /// seccomp cannot be had.
    #[error("seccomp: {0}")]
    Seccomp(String),
    /// Too much would have to be looked at.
    #[error(
        "folders with sensitive files hold more than {0} entries, and each must be granted by \
         itself where there are no namespaces"
    )]
    TooMany(usize),
    /// Something that was to be hidden or kept is not where it was.
    #[error("{0} was moved away")]
    Gone(String),
    /// A stage was refused by the one after it.
    #[error("{0}")]
    Refused(String),
}

/// Names the step of an error.
pub(crate) trait During<T> {
    /// The error with what was to be done.
    fn during(self, step: impl Into<String>) -> Result<T, LaunchError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, step: impl Into<String>) -> Result<T, LaunchError> {
        self.map_err(|error| LaunchError::Step { step: step.into(), error: error.into() })
    }
}

/// Acts as the launcher if the program was started as one; else gives `None` at once. To be called
/// first thing in `main` of every program that serves [`crate::service`], before any thread is
/// started: the service starts its own program again for every command.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != ARGUMENT {
        return None;
    }
    let stage = args.next().unwrap_or_default();
    Some(match stage.to_str() {
        Some("outer") => outer::main(args),
        Some("init") => init::main(),
        Some("confine") => confine::main(),
        Some("probe") => crate::probe::main(args.next()),
        _ => ExitCode::from(2),
    })
}

/// The socket to the stage before, on standard input.
fn control() -> Result<UnixStream, LaunchError> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    Ok(UnixStream::from(control.during("taking the control socket")?))
}

impl From<LaunchError> for Report {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Gone(path) => Self::Gone(path),
            LaunchError::Step { .. }
            | LaunchError::Landlock(_)
            | LaunchError::Seccomp(_)
            | LaunchError::TooMany(_)
            | LaunchError::Refused(_) => Self::Refused(error.to_string()),
        }
    }
}

/// Tells the stage before how it ended.
fn tell(result: Result<Report, LaunchError>) -> ExitCode {
    let report = result.unwrap_or_else(Report::from);
    match control().map(|mut control| report.send(&mut control)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // Nobody is there to be told.
        Ok(Err(_)) | Err(_) => ExitCode::FAILURE,
    }
}
