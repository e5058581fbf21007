//! Folders that hold sockets and records must belong to this user alone: whoever can write there
//! could put a socket of his own in the place of a role's. Used by the directory backend and by
//! `transport/listen.rs`.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

/// Why a folder cannot hold sockets.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be made or looked at.
    #[error("cannot use folder {}: {source}; create it, or name another one", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is not a folder: name another one", .0.display())]
    NotAFolder(PathBuf),
    /// Others can write or look in.
    #[error("folder {} has mode {mode:04o} and is open to others: run `chmod 700` on it", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error("folder {} belongs to user {owner}, not to user {user}: name another one", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner's uid.
        owner: u32,
        /// Our uid.
        user: u32,
    },
    /// We may not write there.
    #[error("folder {} cannot be written: run `chmod 700` on it, or name another one", .0.display())]
    ReadOnly(PathBuf),
}

/// Creates the folder with mode 0700 where it is missing, its parents too, then checks it.
pub(crate) fn create(path: &Path) -> Result<(), FolderError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| FolderError::Io { path: path.to_owned(), source })?;
    check(path)
}

/// Checks that the folder is this user's, private and writable.
pub(crate) fn check(path: &Path) -> Result<(), FolderError> {
    let folder =
        fs::metadata(path).map_err(|source| FolderError::Io { path: path.to_owned(), source })?;
    if !folder.is_dir() {
        return Err(FolderError::NotAFolder(path.to_owned()));
    }
    let user = rustix::process::geteuid().as_raw();
    if folder.uid() != user {
        return Err(FolderError::Foreign { path: path.to_owned(), owner: folder.uid(), user });
    }
    let mode = folder.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(FolderError::NotPrivate { path: path.to_owned(), mode });
    }
    if rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err() {
        return Err(FolderError::ReadOnly(path.to_owned()));
    }
    Ok(())
}
