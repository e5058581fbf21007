//! Files that a link with a sensitive name leads to: `.env -> prod.txt` makes `prod.txt` one, too. Such
//! links are looked for in the folder of a file and in those above it, where people put them; to walk
//! a whole workspace for each file that is read would take longer than all else. Commands can take any
//! way, so for them all links are found (`sensitive.rs`).

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::{AtFlags, Dir, statat};

use crate::{
    beneath::{Root, WallError},
    meta::{Identity, Kind, Meta},
    relative::RelativePath,
    sensitive::is_sensitive,
};

/// What such links lead to, folder by folder, as far as it was looked for.
#[derive(Debug, Default)]
pub(super) struct Pointed(Mutex<HashMap<RelativePath, Arc<HashSet<Identity>>>>);

impl Pointed {
    /// Whether a link with a sensitive name leads to the file at `path`.
    ///
    /// # Errors
    /// A folder above it could not be looked through.
    pub(super) fn has(
        &self,
        root: &Root,
        path: &RelativePath,
        file: Identity,
    ) -> Result<bool, WallError> {
        let mut folder = path.parent();
        while let Some(here) = folder {
            if self.targets(root, &here)?.contains(&file) {
                return Ok(true);
            }
            folder = here.parent();
        }
        Ok(false)
    }

    fn targets(
        &self,
        root: &Root,
        folder: &RelativePath,
    ) -> Result<Arc<HashSet<Identity>>, WallError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(folder) {
            return Ok(Arc::clone(known));
        }
        let targets = Arc::new(look(root, folder)?);
        lock().insert(folder.clone(), Arc::clone(&targets));
        Ok(targets)
    }
}

fn look(root: &Root, path: &RelativePath) -> Result<HashSet<Identity>, WallError> {
    let folder = match root.open_folder(path) {
        Ok(folder) => folder,
        // It went away, and the file with it; or its owner lets nobody see what is in it.
        Err(WallError::NotFound { .. } | WallError::Denied { .. }) => return Ok(HashSet::new()),
        Err(error) => return Err(error),
    };
    let system = |errno| WallError::from_errno(errno, path);
    let mut targets = HashSet::new();
    for entry in Dir::read_from(&folder).map_err(system)? {
        let entry = entry.map_err(system)?;
        let name = entry.file_name().to_bytes();
        if !is_sensitive(name) {
            continue;
        }
        let mut kind = Kind::from(entry.file_type());
        if kind == Kind::Unknown {
            // Some file systems do not tell the kind.
            let stat = statat(&folder, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW);
            kind = stat.map_or(kind, |stat| Meta::from(&stat).kind);
        }
        if kind != Kind::Link {
            continue;
        }
        // A link that leads nowhere or out has nothing to hide here.
        let Ok(resolved) = root.resolve(path.join(name).as_bytes()) else { continue };
        let Ok(node) = root.node(&resolved.path) else { continue };
        if node.meta.kind == Kind::File {
            targets.insert(node.meta.identity);
        }
    }
    Ok(targets)
}
