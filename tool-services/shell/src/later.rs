//! What runs or is obeyed later without anybody looking: hooks and settings of git in every folder,
//! and our own configuration. Those that are there at first are kept as they are in `reach.rs`; of
//! those that a command made, this tells.
//!
//! Next: `run_command.rs`, which says it.

use std::collections::BTreeMap;

use callboard_files::meta::{Identity, Meta, Timestamp};
use callboard_files::relative::RelativePath;

/// Paths that are named one by one.
const NAMED: usize = 5;

/// Such files as they are now: which file each is, and when it last changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Later(BTreeMap<RelativePath, (Identity, Timestamp)>);

impl Later {
    pub(crate) fn add(&mut self, path: RelativePath, meta: Meta) {
        self.0.insert(path, (meta.identity, meta.changed));
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// A warning of what is new or changed since `before`.
    pub(crate) fn warning(&self, before: &Self) -> Option<String> {
        let new = || self.0.iter().filter(|(path, facts)| before.0.get(path) != Some(facts));
        let named: Vec<_> = new().take(NAMED).map(|(path, _)| format!("`{path}`")).collect();
        let more = match new().count() {
            0 => return None,
            count if count > NAMED => format!(" and {} more", count - NAMED),
            _ => String::new(),
        };
        Some(format!(
            "The command made or changed what git or Callboard runs or obeys later: {}{more}. A \
             person should look at it before using git there.",
            named.join(", ")
        ))
    }
}

/// Whether a file with this path runs or is obeyed later. Samples of hooks do not.
pub(crate) fn runs_later(path: &RelativePath) -> bool {
    if path.names().next().is_some_and(|name| matches!(name, b"callboard.toml" | b".callboard")) {
        return true;
    }
    let mut below = path.names().skip_while(|name| !name.eq_ignore_ascii_case(b".git"));
    if below.next().is_none() {
        return false;
    }
    let below: Vec<_> = below.collect();
    match below.last() {
        // A file that says where the repository is.
        None => true,
        Some(last) if matches!(*last, b"config" | b"config.worktree") => true,
        Some(last) => below.contains(&&b"hooks"[..]) && !last.ends_with(b".sample"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_and_settings_run_later_and_what_they_work_on_does_not() {
        let path = |text: &str| {
            text.split('/').fold(RelativePath::root(), |path, name| path.join(name.as_bytes()))
        };
        for text in [
            ".git",
            "a/.git",
            ".git/config",
            "a/b/.git/hooks/pre-commit",
            ".git/hooks",
            ".git/modules/sub/hooks/x",
            ".GIT/config",
            "callboard.toml",
            ".callboard/x",
        ] {
            assert!(runs_later(&path(text)), "{text}");
        }
        for text in
            [".git/HEAD", ".git/hooks/x.sample", "hooks/x", "config", "a/callboard.toml", ".github"]
        {
            assert!(!runs_later(&path(text)), "{text}");
        }
    }
}
