//! Which entries the ignore files of a workspace leave out. The files are read through the wall
//! like any other; the patterns are matched by the `ignore` crate. Only files inside the workspace
//! count: nothing above it and nothing of the user's own settings.

use std::{
    ffi::OsStr,
    io::Read,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::fs::{AtFlags, statat};

use crate::{
    beneath::{Root, open_file_in},
    relative::RelativePath,
};

/// More of an ignore file than this is not read.
const MAX_SIZE: u64 = 1024 * 1024;

/// The rules that hold in a folder.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    /// Nothing is ignored.
    Off,
    /// The innermost folder with rules of its own, if there is one.
    On(Option<Arc<Level>>),
}

/// The rules of one folder, and those of the folders around it.
#[derive(Debug)]
pub(super) struct Level {
    around: Option<Arc<Level>>,
    /// Length of the folder's path with its closing slash: what is cut off before matching.
    prefix: usize,
    /// `.ignore`: beats every `.gitignore`.
    own: Gitignore,
    /// `.gitignore`.
    git: Gitignore,
    /// `.git/info/exclude`.
    exclude: Gitignore,
    /// Git's rules end at the root of a repository.
    is_repository: bool,
}

impl Rules {
    pub(super) fn none() -> Self {
        Self::Off
    }

    /// The rules of the folders above `start`, from the root down.
    pub(super) fn above(root: &Root, start: &RelativePath) -> Self {
        let mut rules = Self::On(None);
        let mut above = RelativePath::root();
        for name in start.names() {
            if let Ok(folder) = root.open_folder(&above) {
                rules = rules.enter(&folder, &above);
            }
            above.push(name);
        }
        rules
    }

    /// The rules inside a folder.
    pub(super) fn enter(&self, folder: &OwnedFd, path: &RelativePath) -> Self {
        let Self::On(around) = self else { return Self::Off };
        let is_repository = statat(folder, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let level = Level {
            around: around.clone(),
            prefix: if path.is_root() { 0 } else { path.as_bytes().len() + 1 },
            own: read(folder, ".ignore"),
            git: read(folder, ".gitignore"),
            exclude: if is_repository {
                read(folder, ".git/info/exclude")
            } else {
                Gitignore::empty()
            },
            is_repository,
        };
        let is_empty = level.own.is_empty() && level.git.is_empty() && level.exclude.is_empty();
        // A folder without rules needs no level, unless it hides those around it.
        if is_empty && (!is_repository || around.is_none()) {
            return self.clone();
        }
        Self::On(Some(Arc::new(level)))
    }

    /// Whether the entry `name` of the folder `parent` is left out.
    pub(super) fn ignores(&self, parent: &RelativePath, name: &[u8], is_folder: bool) -> bool {
        let Self::On(Some(innermost)) = self else { return false };
        let path = parent.join(name);
        let levels = || std::iter::successors(Some(innermost), |level| level.around.as_ref());
        let judge = |level: &Level, rules: &Gitignore| {
            let below = Path::new(OsStr::from_bytes(&path.as_bytes()[level.prefix..]));
            match rules.matched(below, is_folder) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        };
        if let Some(ignored) = levels().find_map(|level| judge(level, &level.own)) {
            return ignored;
        }
        for level in levels() {
            let judged = judge(level, &level.git).or_else(|| judge(level, &level.exclude));
            if let Some(ignored) = judged {
                return ignored;
            }
            if level.is_repository {
                return false;
            }
        }
        false
    }
}

/// The rules in a file; none if there is no such file, or lines that are none.
fn read(folder: &OwnedFd, name: &str) -> Gitignore {
    let Ok(opened) = open_file_in(folder.as_fd(), Path::new(name), &RelativePath::root()) else {
        return Gitignore::empty();
    };
    let mut bytes = Vec::new();
    if opened.file.take(MAX_SIZE).read_to_end(&mut bytes).is_err() {
        return Gitignore::empty();
    }
    // Paths are matched relative to the folder, so the matcher needs no root.
    let mut rules = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern is passed over, as git does.
        let _ = rules.add_line(None, line);
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}
