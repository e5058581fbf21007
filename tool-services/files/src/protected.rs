//! Paths that nobody changes through a tool: what runs by itself later (hooks) and what decides
//! what may run (Callboard's own configuration). Reading them is no harm.

use crate::relative::RelativePath;

/// Why a path must not be changed; `None` if it may.
///
/// ```
/// use callboard_files::{protected::reason, relative::RelativePath};
/// let hook = RelativePath::root().join(b".git").join(b"hooks").join(b"pre-commit");
/// assert!(reason(&hook).is_some());
/// assert!(reason(&RelativePath::root().join(b".gitignore")).is_none());
/// ```
pub fn reason(path: &RelativePath) -> Option<&'static str> {
    path.names().find_map(|name| {
        // Some file systems do not tell capitals apart.
        match name.to_ascii_lowercase().as_slice() {
            b".git" => Some("git's own files are protected, hooks and configuration among them"),
            b"callboard.toml" | b".callboard" => Some("Callboard's own configuration is protected"),
            _ => None,
        }
    })
}
