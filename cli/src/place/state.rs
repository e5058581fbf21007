//! The state folder: journal, artifacts, logs, tokens. One workspace has one, and it says whose it is.
//!
//! By default it is `<platform state>/callboard/<hash of the workspace's path>`. Made with mode
//! 0700; the permissions of a folder that exists are its owner's business (`doctor` looks at them).
//! Next: `sockets`.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Bases, hex, short_hash};
use crate::exit::usage;

/// Name of the file that says whose state this is.
const RECORD: &str = "workspace.json";

/// What [`RECORD`] holds.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Path of the workspace, for people.
    workspace: String,
    /// SHA-256 of the path's bytes, which need not be UTF-8.
    digest: String,
}

/// Path of the state folder of `workspace`; `given` is the person's own choice. Nothing is made.
///
/// # Errors
/// When neither `XDG_STATE_HOME` nor `HOME` says where state belongs.
pub(crate) fn locate(
    workspace: &Path,
    given: Option<&Path>,
    bases: &Bases,
) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return std::path::absolute(given)
            .map_err(|error| usage(format!("--state {}: {error}", given.display())));
    }
    let platform = match (&bases.state, &bases.home) {
        (Some(state), _) => state.clone(),
        (None, Some(home)) => home.join(".local").join("state"),
        (None, None) => {
            return Err(usage(
                "neither XDG_STATE_HOME nor HOME is set, so there is no place for the state \
                 folder: choose one with --state DIR",
            ));
        }
    };
    Ok(platform.join("callboard").join(short_hash(workspace)))
}

/// Makes the state folder where it is missing, and sees that it belongs to `workspace`. Returns
/// its canonical path.
///
/// # Errors
/// When it cannot be made or written, or when it is another workspace's.
pub(crate) fn prepare(state: &Path, workspace: &Path) -> anyhow::Result<PathBuf> {
    if std::fs::metadata(state).is_ok_and(|found| !found.is_dir()) {
        let state = state.display();
        return Err(usage(format!(
            "the state folder {state} is no folder; choose another one with --state DIR"
        )));
    }
    let unusable = |error: io::Error| {
        usage(format!(
            "the state folder {} cannot be written: {error}; choose another one with --state DIR",
            state.display()
        ))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(unusable)?;
    let state = state.canonicalize().map_err(unusable)?;
    match recorded(&state).map_err(unusable)? {
        Some(record) if record.digest != digest(workspace) => Err(usage(format!(
            "the state folder {} belongs to the workspace {}, not to {}: choose another one with \
             --state DIR, or --workspace {}",
            state.display(),
            record.workspace,
            workspace.display(),
            record.workspace
        ))),
        Some(_) => {
            probe(&state).map_err(unusable)?;
            Ok(state)
        }
        None => {
            record(&state, workspace).map_err(unusable)?;
            Ok(state)
        }
    }
}

/// Path of a file in the state folder that holds a secret of its own, made when it is missing:
/// 32 random bytes in hex, readable by the owner alone.
///
/// # Errors
/// When it can be neither read nor written.
pub(crate) fn secret(state: &Path, name: &str) -> io::Result<PathBuf> {
    let path = state.join(name);
    if std::fs::metadata(&path).is_ok_and(|found| found.len() >= 16) {
        return Ok(path);
    }
    let text = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    write_whole(&path, text.as_bytes())?;
    Ok(path)
}

/// Writes a file of mode 0600 in one piece: readers see the old content or the new, never a part.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    let written = file.write_all(content).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // What could not be written is of no use; the error that counts is the first one.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn recorded(state: &Path) -> io::Result<Option<Record>> {
    match std::fs::read(state.join(RECORD)) {
        // A record that cannot be read says nothing, and is written anew.
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn record(state: &Path, workspace: &Path) -> io::Result<()> {
    let record =
        Record { workspace: workspace.to_string_lossy().into_owned(), digest: digest(workspace) };
    write_whole(&state.join(RECORD), serde_json::to_string(&record)?.as_bytes())
}

/// Whether the folder can be written: root may write where the permissions say no, a read-only
/// file system lets nobody, so only trying tells.
fn probe(state: &Path) -> io::Result<()> {
    let path = state.join(format!(".probe.{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)
}

/// SHA-256 of a path's bytes, lower-case hex.
pub(super) fn digest(workspace: &Path) -> String {
    hex(&Sha256::digest(workspace.as_os_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn each_workspace_has_a_folder_of_its_own_by_default() {
        let mut bases = Bases { home: Some("/home/a".into()), ..Bases::default() };
        let locate = |bases: &Bases, given| locate(Path::new("/tmp/a"), given, bases);
        assert_eq!(
            locate(&bases, None).unwrap(),
            Path::new("/home/a/.local/state/callboard/d9b741ea3d4d24a6")
        );
        bases.state = Some("/var/state".into());
        assert_eq!(
            locate(&bases, None).unwrap(),
            Path::new("/var/state/callboard/d9b741ea3d4d24a6")
        );
        assert_eq!(locate(&bases, Some(Path::new("/x/y"))).unwrap(), Path::new("/x/y"));
        let error = locate(&Bases::default(), None).unwrap_err();
        assert!(error.to_string().contains("--state DIR"), "{error}");
    }

    #[test]
    fn a_state_folder_belongs_to_one_workspace() {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("deep").join("state");
        let prepared = prepare(&state, Path::new("/some/one")).unwrap();
        assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(prepare(&state, Path::new("/some/one")).unwrap(), prepared);
        let error = prepare(&state, Path::new("/some/two")).unwrap_err().to_string();
        assert!(error.contains("/some/one") && error.contains("/some/two"), "{error}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_with_a_way_out() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = prepare(&file.join("state"), Path::new("/work")).unwrap_err().to_string();
        assert!(error.contains("file/state") && error.contains("--state DIR"), "{error}");
    }

    #[test]
    fn a_secret_is_made_once_and_only_its_owner_reads_it() {
        let root = tempfile::tempdir().unwrap();
        let path = secret(root.path(), "api-token").unwrap();
        let first = std::fs::read_to_string(&path).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        secret(root.path(), "api-token").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
    }
}
