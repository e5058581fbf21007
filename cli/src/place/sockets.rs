//! The folder of a stack's sockets: short enough for a socket's path, and the owner's alone.
//!
//! `$XDG_RUNTIME_DIR/callboard/<hash of the state folder>`, or
//! `<temporary folder>/callboard-<uid>/<hash>` where the first is not set, not ours or too long.
//! Next: `stack`.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::{Bases, short_hash};
use crate::exit::usage;

/// A socket's path has 108 bytes in the kernel, the last of which is zero.
const PATH_LIMIT: usize = 107;

/// Room for the longest name of a socket in the folder, with its separator.
const NAME_ROOM: usize = 34;

/// Path of the folder for a state folder (its canonical path). Nothing is made.
///
/// # Errors
/// When even the folder beneath the temporary one would be too long for a socket.
pub(crate) fn locate(state: &Path, bases: &Bases) -> anyhow::Result<PathBuf> {
    let name = short_hash(state);
    if let Some(runtime) = bases.runtime.as_deref().filter(|runtime| is_ours(runtime)) {
        let folder = runtime.join("callboard").join(&name);
        if fits(&folder) {
            return Ok(folder);
        }
    }
    let uid = rustix::process::geteuid().as_raw();
    let folder = bases.temporary.join(format!("callboard-{uid}")).join(name);
    if fits(&folder) {
        return Ok(folder);
    }
    Err(usage(format!(
        "no folder for sockets is short enough: the path of a socket in {} would be longer than \
         {PATH_LIMIT} bytes; set XDG_RUNTIME_DIR or TMPDIR to a shorter folder",
        folder.display()
    )))
}

/// Makes the folder where it is missing, and sees that it and its parent are the owner's alone.
///
/// # Errors
/// When it cannot be made, is a link, or another user could enter it.
pub(crate) fn prepare(folder: &Path) -> anyhow::Result<()> {
    if let Some(parent) = folder.parent() {
        private(parent)?;
    }
    private(folder)
}

fn private(folder: &Path) -> anyhow::Result<()> {
    let refuse = |why: &str| {
        usage(format!(
            "the folder for sockets {} cannot be used: {why}; remove it, or set XDG_RUNTIME_DIR to \
             a folder of your own",
            folder.display()
        ))
    };
    match DirBuilder::new().recursive(false).mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(refuse(&error.to_string()));
        }
        Ok(()) | Err(_) => {}
    }
    let found = std::fs::symlink_metadata(folder).map_err(|error| refuse(&error.to_string()))?;
    if !found.is_dir() {
        return Err(refuse("it is no folder"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("it belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(refuse("other users may enter it"));
    }
    Ok(())
}

/// A runtime folder that is missing or another user's (left over from `su`) is no place for us.
fn is_ours(runtime: &Path) -> bool {
    std::fs::metadata(runtime)
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
}

fn fits(folder: &Path) -> bool {
    folder.as_os_str().as_bytes().len() + NAME_ROOM <= PATH_LIMIT
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn bases(runtime: Option<&Path>, temporary: &Path) -> Bases {
        Bases {
            runtime: runtime.map(Path::to_owned),
            temporary: temporary.to_owned(),
            ..Bases::default()
        }
    }

    #[test]
    fn the_runtime_folder_is_used_where_it_is_ours_and_short() {
        let root = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let state = Path::new("/tmp/a");
        let short = root.path().join("run");
        std::fs::create_dir(&short).unwrap();
        let found = locate(state, &bases(Some(&short), root.path())).unwrap();
        assert_eq!(found, short.join("callboard/d9b741ea3d4d24a6"));

        let in_temporary = root.path().join(format!("callboard-{uid}/d9b741ea3d4d24a6"));
        let missing = root.path().join("missing");
        assert_eq!(locate(state, &bases(Some(&missing), root.path())).unwrap(), in_temporary);
        assert_eq!(locate(state, &bases(None, root.path())).unwrap(), in_temporary);
        let long = root.path().join("x".repeat(60));
        std::fs::create_dir(&long).unwrap();
        assert_eq!(locate(state, &bases(Some(&long), root.path())).unwrap(), in_temporary);
    }

    #[test]
    fn no_folder_short_enough_is_an_error_that_says_what_to_set() {
        let long = Path::new("/tmp").join("x".repeat(80));
        let error = locate(Path::new("/tmp/a"), &bases(None, &long)).unwrap_err();
        assert_eq!(crate::exit::of(&error), crate::exit::Exit::Usage);
        assert!(error.to_string().contains("XDG_RUNTIME_DIR"), "{error}");
    }

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("mine").join("sockets");
        prepare(&folder).unwrap();
        prepare(&folder).unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&folder, open).unwrap();
        let error = prepare(&folder).unwrap_err().to_string();
        assert!(error.contains("other users may enter it"), "{error}");
    }

    #[test]
    fn a_link_in_the_folder_s_place_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let parent = root.path().join("mine");
        std::fs::create_dir(root.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(root.path().join("elsewhere"), &parent).unwrap();
        let error = prepare(&parent.join("sockets")).unwrap_err().to_string();
        assert!(error.contains("it is no folder"), "{error}");
    }
}
