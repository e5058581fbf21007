//! The lock of a state folder: at most one stack lives on it.
//!
//! It is an `flock` on `<state>/lock`, which the kernel frees when its holder dies, however it dies;
//! the roles do not inherit it. The file names its holder for `doctor`. Next: `hello`.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Name of the lock file in the state folder.
const NAME: &str = "lock";
/// What stands behind the process in the file while it ends.
const ENDING: &str = " ending";

/// The lock, held until this value is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Notes that the holder is ending: it takes no more clients, and who comes now waits for it.
    pub(crate) fn note_end(&mut self) {
        // A note that cannot be written costs the one who waits an error, not the lock.
        let _ = write(&mut self.0, ENDING);
    }
}

/// Takes the lock; `None` if another process holds it.
///
/// # Errors
/// When the file cannot be made, or its file system has no locks.
pub(crate) fn take(state: &Path) -> io::Result<Option<Lock>> {
    let mut file = open(state)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            write(&mut file, "")?;
            Ok(Some(Lock(file)))
        }
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Who holds the lock of a state folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody.
    Nobody,
    /// A process that has not said yet which one it is.
    Somebody,
    /// This process.
    Process(u32),
    /// This process, which is ending.
    Ending(u32),
}

impl Holder {
    /// The process, if it is known.
    pub(crate) fn pid(self) -> Option<u32> {
        match self {
            Self::Process(pid) | Self::Ending(pid) => Some(pid),
            Self::Nobody | Self::Somebody => None,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => formatter.write_str("nobody"),
            Self::Somebody => formatter.write_str("a process"),
            Self::Process(pid) | Self::Ending(pid) => write!(formatter, "process {pid}"),
        }
    }
}

/// Who holds the lock.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn holder(state: &Path) -> io::Result<Holder> {
    let mut file = match File::open(state.join(NAME)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Holder::Nobody),
        Err(Errno::WOULDBLOCK) => {
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let text = text.trim();
            Ok(match text.strip_suffix(ENDING) {
                Some(pid) => pid.parse().map_or(Holder::Somebody, Holder::Ending),
                None => text.parse().map_or(Holder::Somebody, Holder::Process),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Names this process as the holder.
fn write(file: &mut File, state: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}{state}", std::process::id())
}

fn open(state: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(state.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_is_named() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(holder(state.path()).unwrap(), Holder::Nobody);
        let mut lock = take(state.path()).unwrap().unwrap();
        assert!(take(state.path()).unwrap().is_none());
        assert_eq!(holder(state.path()).unwrap(), Holder::Process(std::process::id()));
        lock.note_end();
        assert_eq!(holder(state.path()).unwrap(), Holder::Ending(std::process::id()));
        drop(lock);
        assert_eq!(holder(state.path()).unwrap(), Holder::Nobody);
        assert!(take(state.path()).unwrap().is_some());
    }
}
