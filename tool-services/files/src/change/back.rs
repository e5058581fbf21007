//! The way back from a write: nothing is changed unless the file is still what the call left, or a
//! person said what to do where it is not.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use bytes::Bytes;
use callboard_tool::{Failure, Rollback, UndoMode};
use rustix::fs::{AtFlags, fsync, unlinkat};

use super::{Change, State};
use crate::{
    answer::count,
    diff::Diff,
    meta::Meta,
    relative::{RelativePath, Step, steps},
    replace::{Old, Plan, read_old, replace},
    workspace::Walls,
};

/// A wish to go back.
pub(super) struct Back<'a> {
    pub(super) walls: &'a Walls,
    pub(super) change: &'a Change,
    /// The old content.
    pub(super) kept: Option<&'a Bytes>,
    pub(super) mode: UndoMode,
    pub(super) dry_run: bool,
    /// Later changes that a dry run takes for taken back, the latest first.
    pub(super) assumed: &'a [Change],
}

type Found = Option<(Meta, Vec<u8>)>;

impl Back<'_> {
    /// Goes back, or says why not.
    pub(super) fn go(&self) -> Result<Rollback, Failure> {
        let path = self.walls.target(&self.change.path)?;
        let now = read_old(self.walls, &self.change.path, &path)?;
        let found = now.as_ref().map(|(meta, bytes)| State::of(bytes, meta.permissions));
        let state = self.once_undone(&path, found.clone());
        if state == self.change.before {
            return Ok(Rollback::Undone(match &self.change.before {
                Some(_) => format!("`{path}` has its old content already."),
                None => format!("`{path}` is gone already."),
            }));
        }
        if self.change.before.is_some() && self.kept.is_none() {
            return Ok(Rollback::NotReversible(format!(
                "The old content of `{path}` was not kept."
            )));
        }
        let is_as_left = state.as_ref() == Some(&self.change.after);
        match self.mode {
            UndoMode::Strict if !is_as_left && state != found => Ok(Rollback::Conflict(format!(
                "`{path}` was changed between this call and a later one that is to be taken \
                     back too; nothing was changed."
            ))),
            UndoMode::Strict if !is_as_left => Ok(Rollback::Conflict(self.differs(&path, &now))),
            UndoMode::Beside if !is_as_left => self.beside(&path),
            UndoMode::Strict | UndoMode::Beside | UndoMode::Force => self.in_place(&path, now),
        }
    }

    /// What will be there by then: what is there now, without the later changes that will have been
    /// taken back, as far as they can be.
    fn once_undone(&self, path: &RelativePath, found: Option<State>) -> Option<State> {
        let is_same =
            |other: &&Change| self.walls.target(&other.path).is_ok_and(|other| other == *path);
        self.assumed.iter().filter(is_same).fold(found, |state, later| {
            if state.as_ref() == Some(&later.after) { later.before.clone() } else { state }
        })
    }

    /// Puts back what was there, or removes what was not.
    fn in_place(&self, path: &RelativePath, now: Found) -> Result<Rollback, Failure> {
        let Some((before, kept)) = self.change.before.as_ref().zip(self.kept) else {
            return self.remove(path);
        };
        let size = count(kept.len() as u64, "byte", "bytes");
        if self.dry_run {
            return Ok(Rollback::Undone(format!(
                "The old content of `{path}` ({size}) would be restored."
            )));
        }
        replace(self.walls, &self.plan(path.clone(), kept, before, now))?;
        Ok(Rollback::Undone(format!("The old content of `{path}` ({size}) is restored.")))
    }

    /// Restores under another name, and leaves the file as it is.
    fn beside(&self, path: &RelativePath) -> Result<Rollback, Failure> {
        let Some((before, kept)) = self.change.before.as_ref().zip(self.kept) else {
            return Ok(Rollback::NotReversible(format!(
                "`{path}` was a new file: there is no old content to restore beside it."
            )));
        };
        let mut name = path.file_name().unwrap_or_default().to_vec();
        name.extend_from_slice(b".rollback");
        let beside = path.parent().unwrap_or_default().join(&name);
        if self.walls.root().node(&beside).is_ok() {
            return Ok(Rollback::Conflict(format!(
                "`{beside}` exists already; move it away first."
            )));
        }
        if self.dry_run {
            return Ok(Rollback::Undone(format!(
                "The old content of `{path}` would be put beside it, as `{beside}`."
            )));
        }
        replace(self.walls, &self.plan(beside.clone(), kept, before, None))?;
        Ok(Rollback::Undone(format!(
            "The old content of `{path}` is beside it, as `{beside}`; `{path}` is as it was."
        )))
    }

    fn plan(&self, path: RelativePath, kept: &Bytes, before: &State, now: Found) -> Plan {
        Plan {
            written: self.change.path.clone(),
            path,
            content: kept.to_vec(),
            old: now.map(|(meta, bytes)| Old { meta, bytes, is_same: false }),
            permissions: Some(before.permissions),
            preview: String::new(),
        }
    }

    /// Removes a file that the call made, and the folders that it made, as far as they are empty.
    fn remove(&self, path: &RelativePath) -> Result<Rollback, Failure> {
        if self.dry_run {
            return Ok(Rollback::Undone(format!("`{path}`, a new file, would be removed.")));
        }
        let unlink = |path: &RelativePath, flags: AtFlags| {
            let (parent, name) = path.parent().zip(path.file_name()).unwrap_or_default();
            let folder = self.walls.root().open_folder(&parent)?;
            let removed = unlinkat(&folder, OsStr::from_bytes(name), flags);
            removed.map_err(|errno| crate::beneath::WallError::from_errno(errno, path))?;
            // Some file systems have nothing to do for a folder and say so.
            let _ = fsync(&folder);
            Ok(())
        };
        unlink(path, AtFlags::empty())
            .map_err(|error| self.walls.refuse_change(&self.change.path, &error))?;
        for folder in self.change.folders.iter().rev() {
            // Records are of our own making, and still no path of theirs climbs.
            let names = steps(folder.as_bytes());
            let mut path = RelativePath::root();
            for step in &names {
                if let Step::Name(name) = step {
                    path.push(name);
                }
            }
            if !path.is_root() && unlink(&path, AtFlags::REMOVEDIR).is_err() {
                // It is in use by now, and so are those around it.
                break;
            }
        }
        Ok(Rollback::Undone(format!("`{path}`, a new file, is removed.")))
    }

    /// What somebody else made of the file, seen from what going back would make of it.
    fn differs(&self, path: &RelativePath, now: &Found) -> String {
        let Some((meta, bytes)) = now else {
            return format!("`{path}` was removed or moved since; nothing was changed.");
        };
        let after = &self.change.after;
        if super::hash(bytes) == after.hash {
            return format!(
                "The permissions of `{path}` were changed since, from {:03o} to {:03o}; nothing \
                 was changed.",
                after.permissions, meta.permissions
            );
        }
        let sizes =
            (count(after.size, "byte", "bytes"), count(bytes.len() as u64, "byte", "bytes"));
        let old = self.kept.map(|kept| String::from_utf8_lossy(kept));
        let diff = Diff::of(&String::from_utf8_lossy(bytes), &old.unwrap_or_default());
        format!(
            "`{path}` was changed since: {} became {}; nothing was changed. Going back all the \
             same would do this:\n--- {path} (now)\n+++ {path} (before the call)\n{}",
            sizes.0, sizes.1, diff.text
        )
    }
}
