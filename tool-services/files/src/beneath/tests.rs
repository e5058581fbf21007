use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::fs::{FileType, RenameFlags, mknodat, renameat_with};
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;

/// A workspace `ws` beside a folder `out` that nothing may reach.
struct Place {
    _folder: TempDir,
    ws: PathBuf,
    out: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ws, out) = (folder.path().join("ws"), folder.path().join("out"));
        fs::create_dir_all(ws.join("a/b")).unwrap();
        fs::create_dir_all(out.join("sub")).unwrap();
        fs::create_dir(folder.path().join("ws-evil")).unwrap();
        fs::write(ws.join("a/b/file.txt"), "inside").unwrap();
        fs::write(out.join("canary.txt"), "CANARY").unwrap();
        fs::write(folder.path().join("ws-evil/canary.txt"), "CANARY").unwrap();
        Self { _folder: folder, ws, out }
    }

    fn root(&self) -> Root {
        Root::open(&self.ws).unwrap()
    }

    fn link(&self, target: impl AsRef<Path>, link: &str) {
        symlink(target, self.ws.join(link)).unwrap();
    }

    fn resolve(&self, written: &str) -> Result<String, WallError> {
        self.root().resolve(written.as_bytes()).map(|resolved| resolved.path.to_string())
    }
}

#[test]
fn paths_inside_lead_where_the_kernel_would_go() {
    let place = Place::new();
    place.link("a/b", "short");
    place.link("../b/file.txt", "a/b/again");
    place.link(place.ws.join("a"), "absolute");
    let absolute = format!("{}/a/./b/file.txt", place.ws.display());
    for (written, path) in [
        ("a/b/file.txt", "a/b/file.txt"),
        ("./a//b/", "a/b"),
        ("a/../a/b/file.txt", "a/b/file.txt"),
        (".", "."),
        ("a/..", "."),
        ("short/file.txt", "a/b/file.txt"),
        ("short/../b/file.txt", "a/b/file.txt"),
        ("short/again", "a/b/file.txt"),
        ("absolute/b/file.txt", "a/b/file.txt"),
        (&absolute, "a/b/file.txt"),
        (place.ws.to_str().unwrap(), "."),
    ] {
        assert_eq!(place.resolve(written).as_deref(), Ok(path), "{written}");
    }
    let resolved = place.root().resolve(b"short/again").unwrap();
    let through: Vec<_> = resolved.through.iter().map(ToString::to_string).collect();
    assert_eq!(through, ["short", "a/b/again"]);
}

#[test]
fn no_path_leads_out() {
    let place = Place::new();
    place.link(place.out.join("canary.txt"), "absolute-out");
    place.link("../out/canary.txt", "relative-out");
    place.link("../out", "folder-out");
    place.link("a/../../out", "winding-out");
    place.link("folder-out/canary.txt", "twice-out");
    place.link("/proc/self/cwd", "proc");
    place.link(place.ws.with_file_name("ws-evil"), "evil");
    let outside = |written: String| {
        let error = place.resolve(&written).unwrap_err();
        assert!(
            matches!(error, WallError::Outside { .. } | WallError::LinkOutside { .. }),
            "{written}: {error:?}"
        );
    };
    for written in [
        "..",
        "../out/canary.txt",
        "a/../../out/canary.txt",
        "absolute-out",
        "relative-out",
        "folder-out/canary.txt",
        "folder-out/sub",
        "winding-out/canary.txt",
        "twice-out",
        "proc",
        "evil/canary.txt",
        "/",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
    ] {
        outside(written.to_owned());
    }
    outside(place.out.join("canary.txt").display().to_string());
    outside(format!("{}-evil/canary.txt", place.ws.display()));
    outside(format!("{}/../out/canary.txt", place.ws.display()));
}

#[test]
fn a_path_that_cannot_be_followed_says_why() {
    let place = Place::new();
    place.link("round", "round");
    place.link("two", "one");
    place.link("one", "two");
    place.link("gone", "dangling");
    let path = |text: &str| {
        text.split('/').fold(RelativePath::root(), |path, name| path.join(name.as_bytes()))
    };
    for (written, expected) in [
        ("", WallError::Malformed { reason: "the path is empty" }),
        ("a\0b", WallError::Malformed { reason: "the path holds a NUL character" }),
        ("~/canary.txt", WallError::NotFound { path: path("~") }),
        ("a/none/x", WallError::NotFound { path: path("a/none") }),
        ("dangling", WallError::NotFound { path: path("gone") }),
        ("a/b/file.txt/x", WallError::NotAFolder { path: path("a/b/file.txt") }),
        ("round", WallError::TooManyLinks { path: path("round") }),
        ("one", WallError::TooManyLinks { path: path("one") }),
    ] {
        assert_eq!(place.resolve(written), Err(expected), "{written}");
    }
    assert_eq!(place.resolve(&"n".repeat(256)), Err(WallError::NameTooLong));
    assert_eq!(place.resolve(&"n/".repeat(2_100)), Err(WallError::NotFound { path: path("n") }));
}

#[test]
fn a_change_goes_through_no_link() {
    let place = Place::new();
    place.link("a/b", "short");
    place.link("a/b/file.txt", "name");
    place.link("../out", "folder-out");
    let change = |written: &str| {
        place.root().resolve_for_change(written.as_bytes()).map(|path| path.to_string())
    };
    for (written, path) in [
        ("a/b/file.txt", "a/b/file.txt"),
        ("new/folder/x.md", "new/folder/x.md"),
        ("a/../new.md", "new.md"),
        ("~/x", "~/x"),
    ] {
        assert_eq!(change(written).as_deref(), Ok(path), "{written}");
    }
    for written in ["short/x", "name", "folder-out/x", "short/../x"] {
        assert!(matches!(change(written), Err(WallError::Link { .. })), "{written}");
    }
    assert!(matches!(change("../x"), Err(WallError::Outside { .. })));
    assert!(matches!(change("/etc/x"), Err(WallError::Outside { .. })));
    assert!(matches!(change("new/../x"), Err(WallError::NotFound { .. })));
    assert!(matches!(change("a/b/file.txt/x"), Err(WallError::NotAFolder { .. })));
}

#[test]
fn only_regular_files_are_opened_and_a_pipe_keeps_nobody_waiting() {
    let place = Place::new();
    let root = place.root();
    mknodat(root.as_fd(), "pipe", FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.ws.join("socket")).unwrap();
    place.link("a/b/file.txt", "link");
    let kind = |name: &str| match root.open_file(&RelativePath::root().join(name.as_bytes())) {
        Err(WallError::NotAFile { kind, .. }) => Some(kind),
        Err(WallError::Link { .. }) => Some(Kind::Link),
        Ok(_) | Err(_) => None,
    };
    assert_eq!(kind("pipe"), Some(Kind::Pipe));
    assert_eq!(kind("socket"), Some(Kind::Socket));
    assert_eq!(kind("a"), Some(Kind::Folder));
    assert_eq!(kind("link"), Some(Kind::Link));
}

#[test]
fn a_workspace_that_was_renamed_stays_the_workspace() {
    let place = Place::new();
    let root = place.root();
    fs::rename(&place.ws, place.ws.with_file_name("moved")).unwrap();
    symlink(&place.out, &place.ws).unwrap();
    let file = root.open_file(&RelativePath::root().join(b"a").join(b"b").join(b"file.txt"));
    assert_eq!(file.unwrap().meta.size, 6);
    assert!(matches!(root.resolve(b"canary.txt"), Err(WallError::NotFound { .. })));
}

/// Tries again and again while two names are swapped all the time, so that what is between them is
/// now one, now the other: until both a success and a refusal were met.
fn swapping(
    place: &Place,
    (one, two): (&str, &str),
    attempt: impl Fn() -> Result<String, WallError>,
) -> Vec<Result<String, WallError>> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let root = place.root();
            while !over.load(Ordering::Relaxed) {
                renameat_with(root.as_fd(), one, root.as_fd(), two, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let patience = Instant::now() + Duration::from_secs(20);
        let (mut results, mut met) = (Vec::new(), [false; 2]);
        while results.len() < 2_000 || (met != [true; 2] && Instant::now() < patience) {
            let result = attempt();
            met[usize::from(result.is_ok())] = true;
            results.push(result);
        }
        over.store(true, Ordering::Relaxed);
        assert_eq!(met, [true; 2], "the race was always won or always lost");
        results
    })
}

fn text(mut open: OpenFile) -> String {
    let mut text = String::new();
    open.file.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_folder_swapped_for_a_link_never_leads_out() {
    let place = Place::new();
    fs::create_dir(place.ws.join("real")).unwrap();
    fs::write(place.ws.join("real/canary.txt"), "inside").unwrap();
    place.link(&place.out, "fake");
    let root = place.root();
    let results = swapping(&place, ("real", "fake"), || {
        let resolved = root.resolve(b"real/canary.txt")?;
        root.open_file(&resolved.path).map(text)
    });
    assert!(results.iter().flatten().all(|text| text == "inside"));
}

#[test]
fn a_file_swapped_for_a_link_never_leads_out() {
    let place = Place::new();
    fs::write(place.ws.join("real.txt"), "inside").unwrap();
    place.link(place.out.join("canary.txt"), "fake.txt");
    let root = place.root();
    let path = RelativePath::root().join(b"real.txt");
    let results = swapping(&place, ("real.txt", "fake.txt"), || root.open_file(&path).map(text));
    assert!(results.iter().all(|result| match result {
        Ok(text) => text == "inside",
        Err(error) => matches!(error, WallError::Link { .. }),
    }));
}
