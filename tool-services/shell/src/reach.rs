//! What is within reach of a command: the workspace without its sensitive files, found by the same
//! rules as everywhere, and without what runs by itself later.
//!
//! How that is enforced is the launcher's business. Next: `command.rs`, which starts it.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use callboard_files::beneath::{Root, WallError};
use callboard_files::meta::Kind;
use callboard_files::relative::RelativePath;
use callboard_files::sensitive;
use callboard_files::walk::{Ignoring, Walk};
use callboard_files::workspace::Walls;
use callboard_tool::Failure;
use rustix::fs::{Dir, Mode, mkdirat};
use tokio_util::sync::CancellationToken;

use crate::later::{Later, runs_later};
use crate::mounts;
use crate::plan::{Act, Isolation, Plan};

/// Folders of the machine that no workspace may be or lie in.
const MACHINE: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Paths that are masked one by one, at most.
const HIDDEN: usize = 10_000;

/// Characters of a path in a sentence.
const NAME: usize = 200;

/// A plan, and whose the workspace is where that must be known.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) plan: Plan,
    /// Whom the command must become: the workspace's owner, if this service is root and it is not.
    pub(crate) owner: Option<(u32, u32)>,
    /// What would run later, before the command.
    pub(crate) later: Later,
}

/// A command that may be run.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) command: String,
    /// Folder to work in, links resolved.
    pub(crate) cwd: RelativePath,
    pub(crate) is_writable: bool,
    /// Seconds that it may take.
    pub(crate) seconds: u32,
}

/// Where a workspace is, links resolved. Blocks.
pub(crate) fn place(folder: &Path) -> Result<PathBuf, Failure> {
    let workspace = folder
        .canonicalize()
        .map_err(|error| Failure::unavailable(format!("The workspace cannot be used: {error}.")))?;
    if workspace == Path::new("/") || MACHINE.iter().any(|path| workspace.starts_with(path)) {
        return Err(Failure::unsupported(format!(
            "No command runs with {} as its workspace: it belongs to the machine.",
            workspace.display()
        )));
    }
    Ok(workspace)
}

/// Looks through the workspace behind `walls`, which is at `workspace`. Blocks.
pub(crate) fn reach(
    walls: &Walls,
    workspace: &Path,
    checked: &Checked,
    isolation: Isolation,
) -> Result<Reach, Failure> {
    let failed = |error: WallError| {
        Failure::unavailable(format!(
            "Nothing was started: the workspace's sensitive files cannot be found: {error}."
        ))
    };
    let found = look(walls.root(), workspace, walls.stop()).map_err(failed)?;
    if let Some(path) = &found.unseen {
        return Err(Failure::unavailable(format!(
            "Nothing was started: `{}` in the workspace cannot be looked into, so it may hold \
             sensitive files. A person can make it readable or move it out of the workspace.",
            start(path)
        )));
    }
    let Found { hidden, later, .. } = found;
    if hidden.len() > HIDDEN {
        return Err(Failure::blocked(format!(
            "The workspace holds more than {HIDDEN} sensitive files; no command runs there."
        )));
    }
    let protected = protected(walls.root(), isolation, checked.is_writable);
    let scratch = if workspace == Path::new("/tmp") { "/var/tmp" } else { "/tmp" };
    let owner = owner(workspace);
    Ok(Reach {
        plan: Plan {
            act: Act::Run(checked.command.clone()),
            isolation,
            workspace: workspace.into(),
            is_writable: checked.is_writable,
            cwd: checked.cwd.as_path().into(),
            hidden,
            kept: protected.kept,
            pinned: protected.pinned,
            scratch: scratch.into(),
            cpu_seconds: 0,
        },
        owner,
        later,
    })
}

/// What there is in a workspace.
#[derive(Debug, Default)]
struct Found {
    /// Sensitive files, sockets that somebody listens on, and other file systems, whose files
    /// nobody looked through.
    hidden: Vec<OsString>,
    /// What runs later.
    later: Later,
    /// Something that could not be looked at.
    unseen: Option<RelativePath>,
}

fn look(root: &Root, workspace: &Path, stop: &CancellationToken) -> Result<Found, WallError> {
    let sensitive = sensitive::find(root, stop)?;
    let (sockets, later, unseen) = others(root, stop)?;
    let paths = sensitive.paths.iter().chain(&sockets);
    let mut hidden: Vec<_> = paths.map(|path| path.as_path().into()).collect();
    hidden.extend(mounts::below(Path::new("/proc/self/mountinfo"), workspace));
    Ok(Found { hidden, later, unseen: sensitive.unseen.or(unseen) })
}

/// What would run later now.
///
/// # Errors
/// It could not be looked for.
pub(crate) fn later(root: &Root, stop: &CancellationToken) -> Result<Later, WallError> {
    others(root, stop).map(|(_, later, _)| later)
}

type Others = (Vec<RelativePath>, Later, Option<RelativePath>);

/// Sockets, and what runs later.
fn others(root: &Root, stop: &CancellationToken) -> Result<Others, WallError> {
    let walk = Walk { root, start: RelativePath::root(), ignoring: Ignoring::Nothing, stop };
    let (parts, unseen) = walk.run(
        || (Vec::new(), Later::default()),
        |(sockets, later), entry| {
            match entry.kind {
                Kind::Socket => sockets.push(entry.path()),
                Kind::File | Kind::Link => {
                    let path = entry.path();
                    // One that is gone by now does not run.
                    if let Some(meta) = runs_later(&path).then(|| entry.meta().ok()).flatten() {
                        later.add(path, meta);
                    }
                }
                Kind::Folder | Kind::Pipe | Kind::Device | Kind::Unknown => {}
            }
            ControlFlow::Continue(())
        },
    )?;
    let (mut sockets, mut later) = (Vec::new(), Later::default());
    for (some, others) in parts {
        sockets.extend(some);
        later.append(others);
    }
    Ok((sockets, later, unseen.closed))
}

/// As much of a path as fits into a sentence.
fn start(path: &RelativePath) -> String {
    let shown = path.to_string();
    match shown.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}...", &shown[..end]),
        None => shown,
    }
}

#[derive(Debug, Default)]
struct Protected {
    kept: Vec<OsString>,
    pinned: Vec<OsString>,
}

/// What a person, or the program itself, would run or obey later without looking: git's hooks and
/// settings, and our own configuration.
fn protected(root: &Root, isolation: Isolation, is_writable: bool) -> Protected {
    let git = RelativePath::root().join(b".git");
    let mut wanted = vec![
        RelativePath::root().join(b"callboard.toml"),
        RelativePath::root().join(b".callboard"),
    ];
    let mut protected = Protected::default();
    match isolation {
        Isolation::Namespaces => {
            if let Ok(folder) = root.open_folder(&git) {
                if is_writable {
                    // So that nobody else can make it: git itself begins with such a folder.
                    let _ = mkdirat(folder, "hooks", Mode::from_raw_mode(0o755));
                }
                protected.pinned.push(git.as_path().into());
            }
            for repository in repositories(root, &git) {
                wanted.extend([repository.join(b"hooks"), repository.join(b"config")]);
            }
        }
        // Nothing in it can be left out of a grant to change the rest.
        Isolation::Landlock => wanted.push(git),
    }
    wanted.retain(|path| root.node(path).is_ok_and(|node| node.meta.kind != Kind::Link));
    protected.kept = wanted.iter().map(|path| path.as_path().into()).collect();
    protected
}

/// The repository's own folder, and those of its submodules.
fn repositories(root: &Root, git: &RelativePath) -> Vec<RelativePath> {
    let mut found = vec![git.clone()];
    let modules = git.join(b"modules");
    let Ok(folder) = root.open_folder(&modules) else { return found };
    for entry in Dir::read_from(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            found.push(modules.join(name));
        }
    }
    found
}

fn owner(workspace: &Path) -> Option<(u32, u32)> {
    let found = std::fs::metadata(workspace).ok()?;
    (rustix::process::geteuid().is_root() && found.uid() != 0).then(|| (found.uid(), found.gid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[OsString]) -> Vec<String> {
        let mut names: Vec<_> =
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn sensitive_files_sockets_and_their_other_names_are_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/.env"), "SECRET=1").unwrap();
        std::fs::write(path.join("plain.txt"), "x").unwrap();
        std::fs::hard_link(path.join("a/b/.env"), path.join("notes.txt")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path.join("s.sock")).unwrap();
        std::fs::create_dir(path.join(".git")).unwrap();
        let _in_git = std::os::unix::net::UnixListener::bind(path.join(".git/s")).unwrap();
        let root = Root::open(path).unwrap();
        let found = look(&root, path, &CancellationToken::new()).unwrap();
        assert_eq!(names(&found.hidden), [".git/s", "a/b/.env", "notes.txt", "s.sock"]);
        assert_eq!(found.unseen, None);
    }

    #[test]
    fn what_runs_later_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir_all(path.join(".git/modules/sub/hooks")).unwrap();
        std::fs::write(path.join(".git/config"), "").unwrap();
        std::fs::write(path.join("callboard.toml"), "").unwrap();
        let root = Root::open(path).unwrap();
        let found = protected(&root, Isolation::Namespaces, true);
        assert_eq!(
            names(&found.kept),
            [".git/config", ".git/hooks", ".git/modules/sub/hooks", "callboard.toml"]
        );
        assert_eq!(names(&found.pinned), [".git"]);
        let found = protected(&root, Isolation::Landlock, true);
        assert_eq!(names(&found.kept), [".git", "callboard.toml"]);
    }
}
