//! One process at a time: a lock file beside the journal, which the kernel frees when its holder
//! dies and no child inherits. A holder that is stopped keeps it.
//!
//! Left to others: everything inside the journal. Next: `schema`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::journal::JournalError;

/// The lock, held while this lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the journal at `path`, without waiting.
    pub(super) fn take(path: &Path) -> Result<Self, JournalError> {
        let lock_path = beside(path);
        let unusable = |error: std::io::Error| JournalError::Unusable {
            path: lock_path.display().to_string(),
            what: error.to_string(),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::InUse {
                    path: path.display().to_string(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let note = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(std::process::id().to_string().as_bytes())
        };
        // The number is only for people: a full disk must not keep anyone from reading.
        if let Err(error) = note(&mut file) {
            tracing::warn!(path = %lock_path.display(), %error, "lock holder not noted");
        }
        Ok(Self { _file: file })
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // Another process writes it: it may be empty for a moment, or no number at all.
    let read = file.take(20).read_to_string(&mut text);
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!("process {pid}"),
        _ => "another process".to_owned(),
    }
}
