//! What is within reach of a command: the workspace without its sensitive files, found by the same
//! rules as everywhere, and without what runs by itself later.
//!
//! How that is enforced is the launcher's business. Next: `command.rs`, which starts it.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use callboard_files::beneath::{Root, WallError};
use callboard_files::meta::Kind;
use callboard_files::relative::RelativePath;
use callboard_files::sensitive;
use callboard_files::walk::{Ignoring, Walk};
use callboard_files::workspace::Walls;
use callboard_tool::Failure;
use rustix::fs::{Dir, Mode, mkdirat};
use tokio_util::sync::CancellationToken;

use crate::mounts;
use crate::plan::{Act, Isolation, Plan};

/// Folders of the machine that no workspace may be or lie in.
const MACHINE: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Paths that are masked one by one, at most.
const HIDDEN: usize = 10_000;

/// A plan, and whose the workspace is where that must be known.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) plan: Plan,
    /// Whom the command must become: the workspace's owner, if this service is root and it is not.
    pub(crate) owner: Option<(u32, u32)>,
}

/// A command that may be run.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) command: String,
    /// Folder to work in, links resolved.
    pub(crate) cwd: RelativePath,
    pub(crate) is_writable: bool,
}

/// Looks through the workspace behind `walls`. Blocks.
pub(crate) fn reach(
    walls: &Walls,
    folder: &Path,
    checked: &Checked,
    isolation: Isolation,
) -> Result<Reach, Failure> {
    let workspace = folder
        .canonicalize()
        .map_err(|error| Failure::unavailable(format!("The workspace cannot be used: {error}.")))?;
    if workspace == Path::new("/") || MACHINE.iter().any(|path| workspace.starts_with(path)) {
        return Err(Failure::unsupported(format!(
            "No command runs with {} as its workspace: it belongs to the machine.",
            workspace.display()
        )));
    }
    let found = hidden(walls.root(), &workspace, walls.stop());
    let hidden = found.map_err(|error| {
        Failure::unavailable(format!(
            "Nothing was started: the workspace's sensitive files cannot be found: {error}."
        ))
    })?;
    if hidden.len() > HIDDEN {
        return Err(Failure::blocked(format!(
            "The workspace holds more than {HIDDEN} sensitive files; no command runs there."
        )));
    }
    let protected = protected(walls.root(), isolation, checked.is_writable);
    let scratch = if workspace == Path::new("/tmp") { "/var/tmp" } else { "/tmp" };
    let owner = owner(&workspace);
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
    })
}

/// Sensitive files, sockets that somebody listens on, and other file systems, whose files nobody
/// looked through.
fn hidden(
    root: &Root,
    workspace: &Path,
    stop: &CancellationToken,
) -> Result<Vec<OsString>, WallError> {
    let mut paths = sensitive::find(root, stop)?.paths;
    let walk = Walk { root, start: RelativePath::root(), ignoring: Ignoring::Nothing, stop };
    let (sockets, _) = walk.run(Vec::new, |sockets: &mut Vec<RelativePath>, entry| {
        if entry.kind == Kind::Socket {
            sockets.push(entry.path());
        }
        ControlFlow::Continue(())
    })?;
    paths.extend(sockets.into_iter().flatten());
    let mut hidden: Vec<_> = paths.iter().map(|path| path.as_path().into()).collect();
    hidden.extend(mounts::below(Path::new("/proc/self/mountinfo"), workspace));
    Ok(hidden)
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
        let root = Root::open(path).unwrap();
        let hidden = hidden(&root, path, &CancellationToken::new()).unwrap();
        assert_eq!(names(&hidden), ["a/b/.env", "notes.txt", "s.sock"]);
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
