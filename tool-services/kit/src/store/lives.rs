//! Which of the processes that share a store are alive: each holds a lock file of its own, which the
//! kernel frees when it dies. A process that is stopped keeps it, so that nobody takes its calls.
//! Next: `schema.rs`.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::StoreError;

/// The sign of life of this process, and where to look for those of others.
#[derive(Debug)]
pub(super) struct Lives {
    folder: PathBuf,
    own: PathBuf,
    _lock: File,
}

impl Lives {
    /// Makes the folder of the store, if it is missing, and lives in it as `incarnation`.
    pub(super) fn begin(path: &Path, incarnation: &str) -> Result<Self, StoreError> {
        let folder = path.join("alive");
        let unusable = |source: io::Error| StoreError::Folder { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        let own = folder.join(incarnation);
        let lock = hold(&own).map_err(unusable)?;
        let lives = Self { folder, own, _lock: lock };
        lives.sweep();
        Ok(lives)
    }

    /// Waits for the turn to open the file; it ends when what is given is dropped.
    pub(super) fn turn(&self) -> Result<File, StoreError> {
        let path = self.folder.with_file_name("opening");
        let locked = open(&path, true).and_then(|file| file.lock().map(|()| file));
        locked.map_err(|source| StoreError::Folder { path, source })
    }

    /// Whether the process of an incarnation lives. In doubt it does.
    pub(super) fn is_alive(&self, incarnation: &str) -> bool {
        // What names no file of ours was never alive.
        if incarnation.is_empty() || incarnation.contains('/') || incarnation.starts_with('.') {
            return false;
        }
        holds(&self.folder.join(incarnation))
    }

    /// Removes what dead processes left.
    fn sweep(&self) {
        let Ok(entries) = self.folder.read_dir() else { return };
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| *path != self.own) {
            if !holds(&path) {
                // What stays behind only takes a name.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl Drop for Lives {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.own);
    }
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(0o600).open(path)
}

/// Holds a lock file. One that was swept away before it was locked is nobody's sign of life.
fn hold(path: &Path) -> io::Result<File> {
    loop {
        let file = open(path, true)?;
        file.lock()?;
        let (own, there) = (file.metadata()?.ino(), path.metadata().map(|there| there.ino()));
        if there.is_ok_and(|there| there == own) {
            return Ok(file);
        }
    }
}

fn holds(path: &Path) -> bool {
    match open(path, false) {
        Ok(file) => match file.try_lock() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
