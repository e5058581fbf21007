//! What lies in the workspace but is not for the command: over each hidden file lies an empty one
//! that nobody can read or change, and what must stay as it is is mounted read-only over itself. A
//! mount point can be neither removed nor renamed.
//!
//! Which paths these are is the plan's business. Next: `supervise.rs`.

use std::ffi::OsStr;
use std::fs::{File, Permissions, create_dir, set_permissions};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use crate::plan::Plan;

use super::view::{NEW, bind, read_only};
use super::{During as _, LaunchError};

/// The kernel takes paths of less than 4,096 bytes; longer ones are opened piece by piece.
const PIECE: usize = 4_000;

/// An empty file and an empty folder, both unreadable.
const NO_FILE: &str = "/no-file";
const NO_FOLDER: &str = "/no-folder";

/// Puts the masks of a plan over the workspace at `workspace`.
pub(super) fn put(plan: &Plan, workspace: &Path) -> Result<(), LaunchError> {
    let here = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(workspace, here, Mode::empty()).during("opening the workspace")?;
    // From the outside in: a mount over a folder covers those laid inside of it before.
    for path in &plan.pinned {
        let target = find(root.as_fd(), path)?;
        lay(&target, &target, path)?;
    }
    for path in &plan.kept {
        keep(&find(root.as_fd(), path)?, path)?;
    }
    if plan.hidden.is_empty() {
        return Ok(());
    }
    let covers = make_covers()?;
    for path in &plan.hidden {
        hide(&find(root.as_fd(), path)?, &covers, path)?;
    }
    Ok(())
}

/// What a path of any length names, without following a link.
pub(super) fn find(root: BorrowedFd<'_>, path: &OsStr) -> Result<OwnedFd, LaunchError> {
    let mut rest = path.as_bytes();
    let mut above: Option<OwnedFd> = None;
    loop {
        let here = above.as_ref().map_or(root, AsFd::as_fd);
        let end = rest.get(..PIECE).and_then(|piece| piece.iter().rposition(|byte| *byte == b'/'));
        let Some(end) = end else { return step(here, rest, path) };
        above = Some(step(here, &rest[..end], path)?);
        rest = &rest[end + 1..];
    }
}

fn step(folder: BorrowedFd<'_>, name: &[u8], path: &OsStr) -> Result<OwnedFd, LaunchError> {
    let walls = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..32 {
        match openat2(folder, name, flags, Mode::empty(), walls) {
            // Names are being moved around.
            Err(Errno::AGAIN) => {}
            // What it was may now be somewhere else, with no mask over it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return Err(LaunchError::Gone(Path::new(path).display().to_string()));
            }
            found => return found.during(says(path)),
        }
    }
    Err(Errno::AGAIN).during(says(path))
}

fn make_covers() -> Result<[OwnedFd; 2], LaunchError> {
    let step = "making covers";
    File::create(NO_FILE).during(step)?;
    create_dir(NO_FOLDER).during(step)?;
    let cover = |path: &str| {
        set_permissions(path, Permissions::from_mode(0o000)).during(step)?;
        bind(Path::new(path), Path::new(path))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        read_only(Path::new(path), flags)?;
        open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during(step)
    };
    Ok([cover(NO_FILE)?, cover(NO_FOLDER)?])
}

fn hide(target: &OwnedFd, covers: &[OwnedFd; 2], path: &OsStr) -> Result<(), LaunchError> {
    let found = fstat(target).during(says(path))?;
    let [file, folder] = covers;
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    lay(if is_folder { folder } else { file }, target, path)?;
    Ok(())
}

fn keep(target: &OwnedFd, path: &OsStr) -> Result<(), LaunchError> {
    let tree = lay(target, target, path)?;
    let name = PathBuf::from(format!("{NEW}/proc/self/fd/{}", tree.as_raw_fd()));
    read_only(&name, MountFlags::NOSUID | MountFlags::NODEV)
}

/// Lays a copy of the mount at `cover` over `target`.
fn lay(cover: &OwnedFd, target: &OwnedFd, path: &OsStr) -> Result<OwnedFd, LaunchError> {
    let copy = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(cover, "", copy).during(says(path))?;
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, "", target, "", both).during(says(path))?;
    Ok(tree)
}

fn says(path: &OsStr) -> String {
    format!("hiding {}", Path::new(path).display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_away_is_told_instead_of_left_without_a_mask() {
        let folder = tempfile::tempdir().unwrap();
        create_dir(folder.path().join("a")).unwrap();
        File::create(folder.path().join("a/.env")).unwrap();
        let root = File::open(folder.path()).unwrap();
        let look = || find(root.as_fd(), OsStr::new("a/.env"));
        assert!(look().is_ok());
        std::fs::rename(folder.path().join("a"), folder.path().join("b")).unwrap();
        assert!(matches!(look(), Err(LaunchError::Gone(path)) if path == "a/.env"));
        std::os::unix::fs::symlink("b", folder.path().join("a")).unwrap();
        assert!(matches!(look(), Err(LaunchError::Gone(_))));
    }
}
