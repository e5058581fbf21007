//! Puts new content in the place of a file: whole or not at all, and durable before it is told.
//! What is to be written was planned and shown in `replace/plan.rs`; the tool around it is
//! `write_file.rs`.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use callboard_tool::Failure;
use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fsync, linkat, mkdirat,
        openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};
use tokio_util::sync::CancellationToken;

use crate::{
    beneath::{WallError, meta},
    meta::{Kind, Meta},
    relative::RelativePath,
    workspace::Walls,
};

mod plan;

pub(crate) use self::plan::{Edit, MAX_SIZE, Old, Plan, hash, read_old};

/// Bytes written between two looks at whether the call still runs.
const PIECE: usize = 256 * 1024;
/// Names tried for a temporary file.
const MAX_NAMES: u32 = 16;

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The content is in its place; `parents` are folders that had to be made.
    Done {
        /// Folders that were made, outermost first.
        parents: Vec<RelativePath>,
    },
    /// The file had this very content already.
    AlreadyThere,
}

/// What is about to take its place: a file beside it, whole and on the disk.
#[derive(Debug)]
pub(crate) struct Coming<'a> {
    /// Its name until then, in the same folder.
    pub(crate) temporary: &'a str,
    /// Its permissions.
    pub(crate) permissions: u32,
    /// Folders that were made for it, outermost first.
    pub(crate) parents: &'a [RelativePath],
}

/// Carries out a plan.
///
/// # Errors
/// `conflict` if the file is no longer what the plan saw. Whatever fails, the old file is whole and
/// nothing else is left behind.
pub(crate) fn replace(walls: &Walls, plan: &Plan) -> Result<Written, Failure> {
    replace_noting(walls, plan, |_| Ok(()))
}

/// The same; `note` is told what comes right before it does, and may refuse.
///
/// # Errors
/// As for [`replace`], and those of `note`.
pub(crate) fn replace_noting(
    walls: &Walls,
    plan: &Plan,
    note: impl FnOnce(&Coming<'_>) -> Result<(), Failure>,
) -> Result<Written, Failure> {
    let refuse = |error: WallError| match error {
        // The plan saw folders, or nothing, where now something else stands.
        WallError::Link { .. } | WallError::NotAFolder { .. } => changed(plan),
        error => walls.refuse_change(&plan.written, &error),
    };
    let mut made = Made { walls, folders: Vec::new() };
    let folder = made.folder(&plan.parent()).map_err(refuse)?;
    let mut temporary = Temporary::new(&folder, plan).map_err(|e| failed(plan, &e))?;
    temporary.fill(plan, walls.stop()).map_err(|error| failed(plan, &error))?;
    note(&temporary.coming(plan, &made.folders)?)?;
    match unchanged(walls, plan, &folder) {
        Ok(()) => {}
        Err(_) if plan.is_already_there(walls) => return Ok(Written::AlreadyThere),
        Err(error) => return Err(error),
    }
    match temporary.put(plan.name(), plan.old.is_none()) {
        Ok(()) => {}
        Err(Errno::EXIST) if plan.is_already_there(walls) => return Ok(Written::AlreadyThere),
        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR) => return Err(changed(plan)),
        Err(errno) => return Err(failed(plan, &errno.into())),
    }
    let parents = made.keep();
    // Until the folder is on the disk, a crash could bring the old content back.
    match fsync(&folder) {
        // Some file systems have nothing to do for a folder and say so.
        Ok(()) | Err(Errno::INVAL) => Ok(Written::Done { parents }),
        Err(_) => Err(Failure::unavailable(format!(
            "`{}` was written, but the disk did not confirm it: it may be lost if the machine \
             stops now. Read it to check.",
            plan.path
        ))),
    }
}

/// Checks that the file and its folder are still what the plan saw.
fn unchanged(walls: &Walls, plan: &Plan, folder: &OwnedFd) -> Result<(), Failure> {
    let parent = plan.parent();
    let there = walls.root().node(&parent).map(|node| node.meta.identity);
    if there.ok() != meta(folder, &parent).ok().map(|meta| meta.identity) {
        return Err(changed(plan));
    }
    match (walls.root().node(&plan.path), &plan.old) {
        (Ok(now), Some(old)) if is_same(&now.meta, &old.meta) => Ok(()),
        (Err(WallError::NotFound { .. }), None) => Ok(()),
        _ => Err(changed(plan)),
    }
}

fn is_same(now: &Meta, then: &Meta) -> bool {
    now.kind == Kind::File
        && (now.identity, now.size, now.modified, now.changed)
            == (then.identity, then.size, then.modified, then.changed)
}

/// Folders that were made for the file, removed again if it does not come.
struct Made<'a> {
    walls: &'a Walls,
    folders: Vec<RelativePath>,
}

impl Made<'_> {
    /// Opens a folder, making what is missing of it.
    fn folder(&mut self, path: &RelativePath) -> Result<OwnedFd, WallError> {
        let root = self.walls.root();
        let mut here = RelativePath::root();
        let mut folder = root.open_folder(&here)?;
        for name in path.names() {
            here.push(name);
            let opened = match root.open_folder(&here) {
                Err(WallError::NotFound { .. }) => {
                    match mkdirat(&folder, OsStr::from_bytes(name), Mode::from_raw_mode(0o777)) {
                        Ok(()) => self.folders.push(here.clone()),
                        // Somebody else was faster.
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(WallError::from_errno(errno, &here)),
                    }
                    // As durable as can be; what counts is said of the file itself.
                    let _ = fsync(&folder);
                    root.open_folder(&here)?
                }
                opened => opened?,
            };
            folder = opened;
        }
        Ok(folder)
    }

    fn keep(mut self) -> Vec<RelativePath> {
        std::mem::take(&mut self.folders)
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for path in self.folders.drain(..).rev() {
            let Some((parent, name)) = path.parent().zip(path.file_name()) else { continue };
            if let Ok(folder) = self.walls.root().open_folder(&parent) {
                // A folder that is in use by now stays.
                let _ = unlinkat(&folder, OsStr::from_bytes(name), AtFlags::REMOVEDIR);
            }
        }
    }
}

/// A file beside the one to be written; removed again unless it took its place.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: Option<String>,
    file: File,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a OwnedFd, plan: &Plan) -> io::Result<Self> {
        // What replaces a private file is private from the start.
        let mode = Mode::from_raw_mode(if plan.old.is_some() { 0o600 } else { 0o666 });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tried = 0;
        loop {
            let name = format!(".callboard-{:016x}.tmp", fastrand::u64(..));
            match openat(folder, &name, flags, mode) {
                Ok(handle) => {
                    return Ok(Self { folder, name: Some(name), file: File::from(handle) });
                }
                Err(Errno::EXIST) if tried < MAX_NAMES => tried += 1,
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Writes the content and makes it durable, with the owner and permissions of the old file.
    fn fill(&mut self, plan: &Plan, stop: &CancellationToken) -> io::Result<()> {
        for piece in plan.content.chunks(PIECE) {
            if stop.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.file.write_all(piece)?;
        }
        if let Some(Old { meta: old, .. }) = &plan.old {
            let own = meta(&self.file, &plan.path).map_err(io::Error::other)?;
            if (own.owner, own.group) != (old.owner, old.group) {
                let (owner, group) = (Uid::from_raw(old.owner), Gid::from_raw(old.group));
                // Only a privileged service can give files away; the others own what they write.
                let _ = fchown(&self.file, Some(owner), Some(group));
            }
        }
        let permissions = plan.permissions.or(plan.old.as_ref().map(|old| old.meta.permissions));
        if let Some(permissions) = permissions {
            fchmod(&self.file, Mode::from_raw_mode(permissions))?;
        }
        self.file.sync_all()
    }

    fn coming<'b>(
        &'b self,
        plan: &Plan,
        parents: &'b [RelativePath],
    ) -> Result<Coming<'b>, Failure> {
        let own = meta(&self.file, &plan.path);
        let own = own.map_err(|error| failed(plan, &io::Error::other(error)))?;
        let temporary = self.name.as_deref().unwrap_or_default();
        Ok(Coming { temporary, permissions: own.permissions, parents })
    }

    /// Takes the place of `name`; of nothing, if the file is to be new.
    fn put(&mut self, name: &Path, is_new: bool) -> Result<(), Errno> {
        let Some(own) = self.name.as_deref() else { return Ok(()) };
        let folder = self.folder.as_fd();
        if !is_new {
            renameat(folder, own, folder, name)?;
            self.name = None;
            return Ok(());
        }
        match renameat_with(folder, own, folder, name, RenameFlags::NOREPLACE) {
            // Some file systems cannot; a link does not replace anything either.
            Err(Errno::INVAL | Errno::NOSYS) => linkat(folder, own, folder, name, AtFlags::empty()),
            Ok(()) => {
                self.name = None;
                Ok(())
            }
            failed => failed,
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            // What cannot be removed now is at least no file that anybody asks for.
            let _ = unlinkat(self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

fn changed(plan: &Plan) -> Failure {
    Failure::conflict(format!(
        "`{}` is no longer what the preview showed: something else changed it in between. Nothing \
         was written. Read it again, then write again.",
        plan.path
    ))
}

fn failed(plan: &Plan, error: &io::Error) -> Failure {
    let path = &plan.path;
    match error.kind() {
        io::ErrorKind::Interrupted => {
            Failure::cancelled(format!("The call was stopped; `{path}` is unchanged."))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::too_large(format!(
            "There is no room for `{path}`: the disk or the quota is full. It is unchanged; make \
             room, then write again."
        )),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Failure::permission_denied(format!(
                "The operating system does not let this service write `{path}`. It is unchanged."
            ))
        }
        kind => {
            Failure::unavailable(format!("`{path}` cannot be written: {kind}. It is unchanged."))
        }
    }
}

#[cfg(test)]
mod tests;
