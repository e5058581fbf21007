//! The wall: nothing below a workspace is opened but by `openat2` from the workspace's own
//! descriptor, so that no link, no `..` and no race leads out. Names are not judged here: which
//! ones are sensitive is in `sensitive.rs`, which is next; how a refusal is worded, in
//! `workspace.rs`.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs::File,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat},
    io::Errno,
};

use crate::{
    meta::{Kind, Meta},
    relative::{RelativePath, Step, below, steps},
};

mod error;
mod resolve;

pub use self::error::WallError;
pub use self::resolve::Resolved;

/// How often the kernel may ask to try again because names are being moved around.
const RACES: u32 = 32;
/// The kernel takes paths of less than 4,096 bytes; longer ones are opened piece by piece.
const PIECE: usize = 4_000;
/// No link is followed by the kernel: links are followed one by one, in `resolve.rs`.
const WALL: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV)
    .union(ResolveFlags::NO_SYMLINKS);
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// The root of a workspace, held open: it stays this very folder even if it is renamed.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    /// The path as configured, and the same without links: absolute paths may start with either.
    paths: [PathBuf; 2],
}

/// An open regular file.
#[derive(Debug)]
pub struct OpenFile {
    /// The file, open for reading.
    pub file: File,
    /// What it was when it was opened.
    pub meta: Meta,
}

/// Something with a name, whatever it is: known, not opened.
#[derive(Debug)]
pub struct Node {
    /// A descriptor without the right to read.
    pub handle: OwnedFd,
    /// What it is.
    pub meta: Meta,
}

impl Root {
    /// Opens a workspace.
    ///
    /// # Errors
    /// The folder is not there, is none, or may not be entered.
    pub fn open(path: &Path) -> Result<Self, WallError> {
        let here = RelativePath::root();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty())
            .map_err(|errno| WallError::from_errno(errno, &here))?;
        let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(Self { folder, paths: [path.to_owned(), canonical] })
    }

    /// The workspace's folder itself.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Looks at what `path` names, without following it if it is a link.
    ///
    /// # Errors
    /// It is not there, or something on the way is no folder.
    pub fn node(&self, path: &RelativePath) -> Result<Node, WallError> {
        let handle = self.open_at(path, OFlags::PATH)?;
        let meta = meta(&handle, path)?;
        Ok(Node { handle, meta })
    }

    /// Opens a regular file for reading. Never blocks on a pipe, never touches a device.
    ///
    /// # Errors
    /// [`WallError::NotAFile`] for anything else that has this name.
    pub fn open_file(&self, path: &RelativePath) -> Result<OpenFile, WallError> {
        // Opening a device can have effects, so it is looked at first and checked again after.
        regular(self.node(path)?.meta, path)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        into_file(self.open_at(path, flags)?, path)
    }

    /// Opens a folder, to list it or to work in it.
    ///
    /// # Errors
    /// [`WallError::NotAFolder`] for anything else that has this name.
    pub fn open_folder(&self, path: &RelativePath) -> Result<OwnedFd, WallError> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_at(&self, path: &RelativePath, flags: OFlags) -> Result<OwnedFd, WallError> {
        let name = if path.is_root() { Path::new(".") } else { path.as_path() };
        open_long(self.folder.as_fd(), name, flags)
            .map_err(|errno| WallError::from_errno(errno, path))
    }
}

/// Opens the regular file `name` of an open folder. `path` is only for messages.
///
/// # Errors
/// As for [`Root::open_file`].
pub fn open_file_in(
    folder: BorrowedFd<'_>,
    name: &Path,
    path: &RelativePath,
) -> Result<OpenFile, WallError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open_beneath(folder, name, flags);
    into_file(file.map_err(|errno| WallError::from_errno(errno, path))?, path)
}

/// As [`open_beneath`], for a path of any length: nothing lies too deep to be looked at.
fn open_long(folder: BorrowedFd<'_>, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut rest = name.as_os_str().as_bytes();
    let mut above: Option<OwnedFd> = None;
    loop {
        let here = above.as_ref().map_or(folder, AsFd::as_fd);
        let end = rest.get(..PIECE).and_then(|piece| piece.iter().rposition(|byte| *byte == b'/'));
        let Some(end) = end else {
            return open_beneath(here, Path::new(OsStr::from_bytes(rest)), flags);
        };
        let piece = Path::new(OsStr::from_bytes(&rest[..end]));
        above = Some(open_beneath(here, piece, OFlags::PATH | OFlags::DIRECTORY)?);
        rest = &rest[end + 1..];
    }
}

/// `openat2` below `folder`. There is no way around: a kernel without it gets `ENOSYS` through.
pub(crate) fn open_beneath(
    folder: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut races = 0;
    loop {
        match openat2(folder, name, flags | ALWAYS, Mode::empty(), WALL) {
            Err(Errno::AGAIN) if races < RACES => races += 1,
            Err(Errno::INTR) => {}
            opened => return opened,
        }
    }
}

/// The facts behind a descriptor.
pub(crate) fn meta(handle: impl AsFd, path: &RelativePath) -> Result<Meta, WallError> {
    let stat = fstat(handle).map_err(|errno| WallError::from_errno(errno, path))?;
    Ok(Meta::from(&stat))
}

fn into_file(handle: OwnedFd, path: &RelativePath) -> Result<OpenFile, WallError> {
    let meta = meta(&handle, path)?;
    regular(meta, path)?;
    Ok(OpenFile { file: File::from(handle), meta })
}

fn regular(meta: Meta, path: &RelativePath) -> Result<(), WallError> {
    match meta.kind {
        Kind::File => Ok(()),
        Kind::Link => Err(WallError::Link { path: path.clone() }),
        Kind::Folder | Kind::Pipe | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(WallError::NotAFile { path: path.clone(), kind: meta.kind })
        }
    }
}

/// Where a link points, as written.
fn target(link: &Node, path: &RelativePath) -> Result<Vec<u8>, WallError> {
    let target = readlinkat(&link.handle, "", Vec::new())
        .map_err(|errno| WallError::from_errno(errno, path))?;
    Ok(target.into_bytes())
}

/// The steps of a path as somebody wrote it: an absolute one must start with the workspace's own.
pub(crate) fn steps_below(root: &Root, written: &[u8]) -> Result<VecDeque<Step>, WallError> {
    if !written.starts_with(b"/") {
        return Ok(steps(written));
    }
    root.paths
        .iter()
        .find_map(|base| below(written, base))
        .map(steps)
        .ok_or_else(|| WallError::Outside { written: written.to_vec() })
}

#[cfg(test)]
mod tests;
