//! Paths below a workspace: names only, so that nothing in them can climb. Whether such a path
//! exists, and what it really leads to, only the kernel says; that is `beneath.rs`, which is next.

use std::{collections::VecDeque, ffi::OsStr, fmt, os::unix::ffi::OsStrExt, path::Path};

use crate::shown::Shown;

/// A path below a workspace's root: names joined by `/`, none of them empty, `.` or `..`. The
/// empty path is the root itself and shown as `.`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(Vec<u8>);

impl RelativePath {
    /// The workspace itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names from the top, without the root.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
    }

    /// The last name; `None` for the root.
    pub fn file_name(&self) -> Option<&[u8]> {
        self.names().next_back()
    }

    /// The folder that holds it; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Some(Self(self.0[..end].to_vec()))
    }

    /// The path of `name` in this folder. `name` comes from a directory or from [`Step::Name`]: it
    /// holds no slash and is neither `.` nor `..`.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        let mut path = self.clone();
        path.push(name);
        path
    }

    pub(crate) fn push(&mut self, name: &[u8]) {
        debug_assert!(!name.is_empty() && !name.contains(&b'/') && name != b"." && name != b"..");
        if !self.0.is_empty() {
            self.0.push(b'/');
        }
        self.0.extend_from_slice(name);
    }

    /// Takes the last name off; `false` if this is the root.
    pub(crate) fn pop(&mut self) -> bool {
        match self.parent() {
            Some(parent) => {
                *self = parent;
                true
            }
            None => false,
        }
    }

    /// Its bytes, names joined by `/`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same for the standard library; empty for the root.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() { out.write_str(".") } else { Shown(&self.0).fmt(out) }
    }
}

/// One step of a path as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into the entry of this name.
    Name(Vec<u8>),
    /// Out of the folder.
    Up,
}

/// The steps of a path without its leading `/`: `.` and empty names are no steps.
pub fn steps(path: &[u8]) -> VecDeque<Step> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
        .map(|name| if name == b".." { Step::Up } else { Step::Name(name.to_vec()) })
        .collect()
}

/// What is left of `path` below `base`, compared name by name; `None` if it lies elsewhere.
pub fn below<'a>(path: &'a [u8], base: &Path) -> Option<&'a [u8]> {
    let rest = Path::new(OsStr::from_bytes(path)).strip_prefix(base).ok()?;
    Some(rest.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelativePath {
        let mut path = RelativePath::root();
        for name in text.split('/').filter(|name| !name.is_empty()) {
            path.push(name.as_bytes());
        }
        path
    }

    #[test]
    fn a_path_is_taken_apart_and_put_together() {
        let long = path("a/b c/d.txt");
        assert_eq!(long.to_string(), "a/b c/d.txt");
        assert_eq!(long.file_name(), Some(&b"d.txt"[..]));
        assert_eq!(long.parent(), Some(path("a/b c")));
        assert_eq!(path("a").parent(), Some(RelativePath::root()));
        assert_eq!(RelativePath::root().parent(), None);
        assert_eq!(RelativePath::root().to_string(), ".");
        assert_eq!(RelativePath::root().join(b"x"), path("x"));
        assert_eq!(long.names().collect::<Vec<_>>(), [&b"a"[..], b"b c", b"d.txt"]);
    }

    #[test]
    fn dots_and_double_slashes_are_no_names() {
        let name = |text: &str| Step::Name(text.into());
        assert_eq!(steps(b"./a//b/../~/"), [name("a"), name("b"), Step::Up, name("~")]);
        assert!(steps(b"././").is_empty());
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_not_below() {
        let base = Path::new("/srv/ws");
        assert_eq!(below(b"/srv/ws/a/b", base), Some(&b"a/b"[..]));
        assert_eq!(below(b"/srv/ws", base), Some(&b""[..]));
        assert_eq!(below(b"/srv/ws-evil/a", base), None);
        assert_eq!(below(b"/srv", base), None);
    }
}
