//! Where things lie: the workspace, its state folder and the folder of its sockets.
//!
//! [`state`] finds and prepares the state folder, [`sockets`] the folder of sockets, whose paths
//! may have 107 bytes at most and therefore lie elsewhere. Next: `stack`.

pub(crate) mod sockets;
pub(crate) mod state;

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::exit::usage;

/// A workspace with its folders, all prepared.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The workspace, canonical.
    pub(crate) workspace: PathBuf,
    /// Its state folder, canonical.
    pub(crate) state: PathBuf,
    /// The folder of its stack's sockets.
    pub(crate) sockets: PathBuf,
}

impl Place {
    /// Finds and prepares the folders of `workspace` (canonical); `state` is the person's choice.
    ///
    /// # Errors
    /// A folder that cannot be made or is another's, or one too long for a socket.
    pub(crate) fn prepare(
        workspace: &Path,
        state: Option<&Path>,
        bases: &Bases,
    ) -> anyhow::Result<Self> {
        let state = state::locate(workspace, state, bases)?;
        let state = state::prepare(&state, workspace)?;
        let sockets = sockets::locate(&state, bases)?;
        sockets::prepare(&sockets)?;
        Ok(Self { workspace: workspace.to_owned(), state, sockets })
    }

    /// The folder of the discovery without a server. It lies beside the journal, because its
    /// revisions fence the journal's writers: both are kept, or lost, together, whatever folder the
    /// sockets are in this time.
    pub(crate) fn directory(&self) -> PathBuf {
        self.state.join("discovery")
    }

    /// SHA-256 of the workspace's path, lower-case hex.
    pub(crate) fn workspace_digest(&self) -> String {
        state::digest(&self.workspace)
    }
}

/// The variables that decide where things lie by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bases {
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub(crate) state: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub(crate) runtime: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub(crate) config: Option<PathBuf>,
    /// The temporary folder.
    pub(crate) temporary: PathBuf,
}

impl Bases {
    /// As the environment says; relative paths count as unset, as the XDG specification wants it.
    pub(crate) fn of_process() -> Self {
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        Self {
            home: absolute("HOME"),
            state: absolute("XDG_STATE_HOME"),
            runtime: absolute("XDG_RUNTIME_DIR"),
            config: absolute("XDG_CONFIG_HOME"),
            temporary: std::env::temp_dir(),
        }
    }

    /// The configuration file of the platform's configuration folder, whether it exists or not.
    pub(crate) fn config_file(&self) -> Option<PathBuf> {
        let folder = self.config.clone().or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(folder.join("callboard").join("callboard.toml"))
    }
}

/// The workspace that a command works on.
///
/// # Errors
/// When it is no folder, or its name is no path at all.
pub(crate) fn workspace(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => std::env::current_dir().context("cannot find the current folder")?,
    };
    let canonical = path.canonicalize().map_err(|error| {
        usage(format!("the workspace {} cannot be used: {error}", path.display()))
    })?;
    if !canonical.is_dir() {
        return Err(usage(format!("the workspace {} is no folder", canonical.display())));
    }
    Ok(canonical)
}

/// The first 16 hex digits of the SHA-256 of a path: its name where only a short one fits.
pub(crate) fn short_hash(path: &Path) -> String {
    hex(&Sha256::digest(path.as_os_str().as_bytes())[..8])
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_short_name_of_its_own() {
        // `printf %s /tmp/a | sha256sum | cut -c1-16`
        assert_eq!(short_hash(Path::new("/tmp/a")), "d9b741ea3d4d24a6");
    }

    #[test]
    fn the_platform_s_file_follows_the_specification() {
        let mut bases = Bases { home: Some("/home/a".into()), ..Bases::default() };
        assert_eq!(
            bases.config_file(),
            Some(PathBuf::from("/home/a/.config/callboard/callboard.toml"))
        );
        bases.config = Some("/etc/xdg".into());
        assert_eq!(bases.config_file(), Some(PathBuf::from("/etc/xdg/callboard/callboard.toml")));
        assert_eq!(Bases::default().config_file(), None);
    }

    #[test]
    fn a_workspace_must_be_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(workspace(Some(folder.path())).is_ok());
        let missing = workspace(Some(&folder.path().join("none"))).unwrap_err();
        assert_eq!(crate::exit::of(&missing), crate::exit::Exit::Usage);
        assert!(workspace(Some(&file)).unwrap_err().to_string().contains("is no folder"));
    }
}
