use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use super::*;

/// Makes the files (`name: content`, folders implied) and walks.
fn check(files: &[(&str, &str)], start: &str, ignoring: Ignoring, expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    assert_eq!(walked(folder.path(), start, ignoring), expected, "from {start}");
}

fn walked(folder: &Path, start: &str, ignoring: Ignoring) -> Vec<String> {
    let root = Root::open(folder).unwrap();
    let start = root.resolve(start.as_bytes()).unwrap().path;
    let stop = CancellationToken::new();
    let walk = Walk { root: &root, start, ignoring, stop: &stop };
    let (parts, unseen) = walk
        .run(Vec::new, |found, entry| {
            if entry.kind != Kind::Folder {
                found.push(entry.path().to_string());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(unseen, Unseen::default());
    let mut found = parts.concat();
    found.sort();
    found
}

#[test]
fn ignore_files_are_respected_from_the_root_down() {
    let files = [
        (".gitignore", "*.log\n/build\nsub/*.tmp\n!keep.log\n"),
        (".ignore", "*.bak\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("a.bak", ""),
        ("build/x", ""),
        ("sub/build/x", ""),
        ("sub/a.tmp", ""),
        ("sub/deep/a.tmp", ""),
        ("sub/.gitignore", "!a.log\nx.md\n"),
        ("sub/a.log", ""),
        ("sub/x.md", ""),
        ("sub/deep/.ignore", "!b.bak\n"),
        ("sub/deep/b.bak", ""),
        (".hidden/y", ""),
        (".git/config", ""),
        (".git/info/exclude", "private\n"),
        ("private", ""),
    ];
    let seen = [
        ".gitignore",
        ".hidden/y",
        ".ignore",
        "keep.log",
        "sub/.gitignore",
        "sub/a.log",
        "sub/build/x",
        "sub/deep/.ignore",
        "sub/deep/a.tmp",
        "sub/deep/b.bak",
    ];
    check(&files, ".", Ignoring::Rules, &seen);
    let below: Vec<_> = seen.iter().copied().filter(|path| path.starts_with("sub/")).collect();
    check(&files, "sub", Ignoring::Rules, &below);
    // A folder that is named is walked, even if it is ignored.
    check(&files, "build", Ignoring::Rules, &["build/x"]);
}

#[test]
fn the_rules_of_git_end_at_a_repository_inside_and_ignore_files_do_not() {
    let files = [
        (".gitignore", "*.md\n"),
        (".ignore", "*.txt\n"),
        ("inner/.git/HEAD", ""),
        ("inner/a.md", ""),
        ("inner/a.txt", ""),
        ("a.md", ""),
    ];
    check(&files, ".", Ignoring::Rules, &[".gitignore", ".ignore", "inner/a.md"]);
}

#[test]
fn nothing_is_ignored_unless_asked_for() {
    let files = [(".gitignore", "*\n"), ("a", ""), ("b/c", ""), (".git/x", "")];
    check(&files, ".", Ignoring::Nothing, &[".git/x", ".gitignore", "a", "b/c"]);
}

#[test]
fn links_are_seen_but_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (ws, out) = (folder.path().join("ws"), folder.path().join("out"));
    fs::create_dir_all(ws.join("a")).unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("canary"), "").unwrap();
    fs::write(ws.join("a/x"), "").unwrap();
    symlink(&out, ws.join("away")).unwrap();
    symlink("..", ws.join("a/up")).unwrap();
    assert_eq!(walked(&ws, ".", Ignoring::Nothing), ["a/up", "a/x", "away"]);
}

#[test]
fn a_walk_ends_when_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..500 {
        let path = folder.path().join(format!("{}/{number}", number % 20));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let root = Root::open(folder.path()).unwrap();
    let stop = CancellationToken::new();
    let start = RelativePath::root();
    let walk = Walk { root: &root, start, ignoring: Ignoring::Nothing, stop: &stop };
    let (counts, _) = walk
        .run(
            || 0,
            |count: &mut u32, _| {
                *count += 1;
                if *count < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        )
        .unwrap();
    assert!(counts.iter().all(|count| *count <= 10), "{counts:?}");
    let stopped = walk.run(
        || (),
        |(), _| {
            stop.cancel();
            ControlFlow::Continue(())
        },
    );
    assert_eq!(stopped.unwrap_err(), WallError::Stopped);
}

#[test]
fn a_panic_of_a_visitor_ends_the_walk_instead_of_hanging_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let root = Root::open(folder.path()).unwrap();
    let stop = CancellationToken::new();
    let start = RelativePath::root();
    let walk = Walk { root: &root, start, ignoring: Ignoring::Nothing, stop: &stop };
    let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        walk.run(|| (), |(), _| panic!("a visitor's fault")).map(drop)
    }));
    assert!(walked.is_err());
}

#[test]
fn a_folder_that_may_not_be_read_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();
    let root = Root::open(folder.path()).unwrap();
    let stop = CancellationToken::new();
    let start = RelativePath::root();
    let walk = Walk { root: &root, start, ignoring: Ignoring::Nothing, stop: &stop };
    let (_, unseen) = walk.run(|| (), |(), _| ControlFlow::Continue(())).unwrap();
    // Whoever runs this as root may read everything.
    let may_read = fs::read_dir(&closed).is_ok();
    assert_eq!(unseen.folders, u64::from(!may_read));
    assert_eq!(unseen.closed.is_some(), !may_read);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}
