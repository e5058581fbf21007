use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use callboard_tool::FailureKind;
use tempfile::TempDir;

use super::*;

struct Place {
    folder: TempDir,
    stop: CancellationToken,
    walls: Walls,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();
        let stop = CancellationToken::new();
        let walls = Walls::around(&folder.path().join("ws"), &stop).unwrap();
        Self { folder, stop, walls }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("ws").join(path)
    }

    fn plan(&self, path: &str, content: &str) -> Plan {
        Plan::new(&self.walls, path.to_owned(), content.to_owned(), 0).unwrap()
    }

    /// The names of everything in the workspace, sorted.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.at("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.strip_prefix(self.at("")).unwrap().display().to_string());
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
        names.sort();
        names
    }
}

#[test]
fn a_file_that_changed_since_the_plan_is_left_as_it_is() {
    let place = Place::new();
    fs::write(place.at("a.md"), "old").unwrap();
    let changes: [(&str, &dyn Fn()); 4] = [
        ("rewritten", &|| fs::write(place.at("a.md"), "by somebody").unwrap()),
        ("replaced", &|| {
            fs::write(place.at("b.md"), "old").unwrap();
            fs::rename(place.at("b.md"), place.at("a.md")).unwrap();
        }),
        ("removed", &|| fs::remove_file(place.at("a.md")).unwrap()),
        ("made a link", &|| symlink("../out/x", place.at("a.md")).unwrap()),
    ];
    for (name, change) in changes {
        let plan = place.plan("a.md", "new");
        change();
        let failure = replace(&place.walls, &plan).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Conflict, "{name}: {}", failure.message);
        assert!(
            fs::read_to_string(place.at("a.md")).is_ok_and(|text| text != "new")
                || name != "rewritten"
        );
        assert!(place.names().iter().all(|name| name == "a.md"), "{name}: {:?}", place.names());
    }
    assert!(!place.folder.path().join("out/x").exists());
}

#[test]
fn a_file_that_came_since_the_plan_is_left_as_it_is() {
    let place = Place::new();
    let plan = place.plan("a.md", "new");
    fs::write(place.at("a.md"), "by somebody").unwrap();
    assert_eq!(replace(&place.walls, &plan).unwrap_err().kind, FailureKind::Conflict);
    assert_eq!(fs::read_to_string(place.at("a.md")).unwrap(), "by somebody");
    // Unless it is what was to be written.
    let plan = place.plan("b.md", "same");
    fs::write(place.at("b.md"), "same").unwrap();
    assert_eq!(replace(&place.walls, &plan), Ok(Written::AlreadyThere));
    assert_eq!(place.names(), ["a.md", "b.md"]);
}

#[test]
fn a_folder_that_is_no_longer_the_same_gets_nothing() {
    let place = Place::new();
    fs::create_dir(place.at("docs")).unwrap();
    let plan = place.plan("docs/a.md", "new");
    fs::rename(place.at("docs"), place.folder.path().join("out/docs")).unwrap();
    symlink("../out/docs", place.at("docs")).unwrap();
    let failure = replace(&place.walls, &plan).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict, "{}", failure.message);
    assert_eq!(fs::read_dir(place.folder.path().join("out/docs")).unwrap().count(), 0);
}

#[test]
fn a_stopped_write_leaves_nothing_behind() {
    let place = Place::new();
    fs::write(place.at("a.md"), "old").unwrap();
    let (old, new) = (place.plan("a.md", "new"), place.plan("x/y/z.md", "new"));
    place.stop.cancel();
    for plan in [old, new] {
        let failure = replace(&place.walls, &plan).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Cancelled);
        assert!(failure.message.ends_with("is unchanged."), "{}", failure.message);
    }
    assert_eq!(fs::read_to_string(place.at("a.md")).unwrap(), "old");
    assert_eq!(place.names(), ["a.md"]);
}

#[test]
fn folders_that_are_missing_are_made_and_told() {
    let place = Place::new();
    fs::create_dir(place.at("x")).unwrap();
    let written = replace(&place.walls, &place.plan("x/y/z/a.md", "new")).unwrap();
    let Written::Done { parents } = written else { panic!("{written:?}") };
    let parents: Vec<_> = parents.iter().map(ToString::to_string).collect();
    assert_eq!(parents, ["x/y", "x/y/z"]);
    assert_eq!(place.names(), ["x", "x/y", "x/y/z", "x/y/z/a.md"]);
}

#[test]
fn a_private_file_stays_private() {
    let place = Place::new();
    fs::write(place.at("a.md"), "old").unwrap();
    fs::set_permissions(place.at("a.md"), fs::Permissions::from_mode(0o600)).unwrap();
    replace(&place.walls, &place.plan("a.md", "new")).unwrap();
    let mode = fs::metadata(place.at("a.md")).unwrap().permissions().mode();
    assert_eq!(
        (mode & 0o7777, fs::read_to_string(place.at("a.md")).unwrap()),
        (0o600, "new".into())
    );
}

#[test]
fn a_folder_that_may_not_be_written_says_so() {
    let place = Place::new();
    fs::create_dir(place.at("closed")).unwrap();
    fs::set_permissions(place.at("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    let written = replace(&place.walls, &place.plan("closed/a.md", "new"));
    // Whoever runs this as root may write everywhere.
    if let Err(failure) = written {
        assert_eq!(failure.kind, FailureKind::PermissionDenied);
        assert!(place.names().iter().all(|name| name == "closed"));
    }
}
