use std::{
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use callboard_tool::{Workspace, testing::start_with};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tokio::time::Instant;

use super::*;

#[tokio::test]
async fn no_path_reads_anything_outside() {
    let place = Place::with(&[("a/b.txt", "inside")]).await;
    let evil = place.ws.with_file_name("ws-evil");
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join("canary.txt"), "CANARY").unwrap();
    symlink(place.out.join("canary.txt"), place.ws.join("link.txt")).unwrap();
    symlink("../out", place.ws.join("away")).unwrap();
    let out = place.out.display();
    for path in [
        "../out/canary.txt".to_owned(),
        "a/../../out/canary.txt".to_owned(),
        format!("{out}/canary.txt"),
        format!("{}/../out/canary.txt", place.ws.display()),
        format!("{}/canary.txt", evil.display()),
        "link.txt".to_owned(),
        "away/canary.txt".to_owned(),
        "/proc/self/environ".to_owned(),
        "/dev/null".to_owned(),
    ] {
        let (kind, message) = place.fail("read_file", json!({"path": path})).await;
        assert_eq!(kind, FailureKind::PermissionDenied, "{path}");
        assert!(message.contains("outside the workspace"), "{message}");
        assert!(message.contains("Only paths inside the workspace can be used"), "{message}");
    }
    let (kind, _) = place.fail("read_file", json!({"path": "~/canary.txt"})).await;
    assert_eq!(kind, FailureKind::NotFound);
    let (kind, _) = place.fail("list_dir", json!({"path": "away"})).await;
    assert_eq!(kind, FailureKind::PermissionDenied);
    let inside = json!({"path": place.ws.join("a/b.txt")});
    assert_eq!(parts(&place.call("read_file", inside).await).1, "inside");
}

#[tokio::test]
async fn a_sensitive_file_is_blocked_under_every_name() {
    let place = Place::with(&[
        (".env", "SECRET"),
        ("deploy/server.key", "SECRET"),
        ("docs/readme.md", "x"),
        (".env.example", "KEY=value"),
        ("src/token.rs", "fn"),
        ("tokenizer.json", "{}"),
        ("real", "SECRET"),
        ("env/prod", "SECRET"),
        ("app/conf/dev.txt", "SECRET"),
    ])
    .await;
    symlink("env/prod", place.ws.join(".env.prod")).unwrap();
    symlink("conf/dev.txt", place.ws.join("app/credentials")).unwrap();
    symlink("docs", place.ws.join("secrets")).unwrap();
    symlink(".env", place.ws.join("docs-link.md")).unwrap();
    symlink("docs-link.md", place.ws.join("second-link.md")).unwrap();
    symlink("real", place.ws.join("password")).unwrap();
    fs::hard_link(place.ws.join("deploy/server.key"), place.ws.join("docs/plain.md")).unwrap();
    for path in [
        ".env",
        "./docs/../.env",
        "deploy/server.key",
        "docs-link.md",
        "second-link.md",
        "docs/plain.md",
        "password",
        "real",
        "env/prod",
        "app/conf/dev.txt",
    ] {
        let arguments = json!({"path": path});
        let (kind, message) = place.fail("read_file", arguments.clone()).await;
        assert_eq!(kind, FailureKind::Blocked, "{path}");
        assert!(message.starts_with(&format!("`{path}` is a sensitive file")), "{message}");
        let verdict = place.judge("read_file", &arguments).await;
        assert!(matches!(verdict, Verdict::Block(_)), "{path}: {verdict:?}");
    }
    for path in [".env.example", "src/token.rs", "tokenizer.json", "docs/readme.md"] {
        place.call("read_file", json!({"path": path})).await;
        let verdict = place.judge("read_file", &json!({"path": path})).await;
        assert!(matches!(verdict, Verdict::Allow(_)), "{path}");
    }
    // A name that leads nowhere is no secret.
    let (kind, message) = place.fail("read_file", json!({"path": ".env.local"})).await;
    assert_eq!(kind, FailureKind::NotFound);
    assert!(!message.contains("`.env`"), "{message}");
}

#[tokio::test]
async fn a_call_without_a_workspace_reads_nothing() {
    let served = callboard_tool::testing::start(crate::service()).await.unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": "/etc/passwd"})),
        ("list_dir", json!({"path": "/"})),
        ("find_files", json!({"pattern": "*"})),
    ] {
        let failure = served.invoke(tool, arguments).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Unsupported, "{tool}");
    }
}

#[tokio::test]
async fn the_workspace_comes_with_the_call_and_not_from_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let workspaces = ["one", "two"].map(|id| {
        let path = folder.path().join(id);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("name.txt"), id).unwrap();
        Workspace { id: id.to_owned(), path }
    });
    let two = workspaces[1].path.join("name.txt");
    let served = start_with(crate::service(), |config| config.workspaces = workspaces.to_vec());
    let served = served.await.unwrap();
    for id in ["one", "two"] {
        let mut call = served.call("read_file", &json!({"path": "name.txt"}));
        call.workspace = id.to_owned();
        assert_eq!(parts(&served.start(call).await.unwrap().unwrap()).1, id);
    }
    let mut call = served.call("read_file", &json!({"path": two}));
    call.workspace = "one".to_owned();
    let failure = served.start(call).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), FailureKind::PermissionDenied);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_swapped_all_the_time_leak_nothing() {
    let place = Place::with(&[("real/file.txt", "inside"), ("file.txt", "inside")]).await;
    fs::write(place.out.join("file.txt"), "CANARY").unwrap();
    symlink(&place.out, place.ws.join("fake")).unwrap();
    symlink(place.out.join("file.txt"), place.ws.join("fake.txt")).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (over, ws) = (Arc::clone(&over), place.ws.clone());
        std::thread::spawn(move || {
            let swap = |one: &str, two: &str| {
                let (one, two) = (ws.join(one), ws.join(two));
                renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
            };
            while !over.load(Ordering::Relaxed) {
                swap("real", "fake");
                swap("file.txt", "fake.txt");
            }
        })
    };
    let mut told = Vec::new();
    let was_read = |told: &[Result<Output, Failure>]| {
        told.iter().flatten().any(|output| output.content.ends_with("inside"))
    };
    let patience = Instant::now() + Duration::from_secs(20);
    while told.len() < 300 || (!was_read(&told) && Instant::now() < patience) {
        let number = told.len();
        for path in ["real/file.txt", "file.txt"] {
            told.push(place.served.invoke("read_file", json!({"path": path})).await);
        }
        for path in ["real/new.txt", "file.txt", "real/deep/new.txt"] {
            let arguments = json!({"path": path, "content": format!("written {number}")});
            told.push(place.approve("write_file", arguments).await);
        }
        told.push(place.served.invoke("find_files", json!({"pattern": "*"})).await);
    }
    over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    for outcome in &told {
        let text = match outcome {
            Ok(output) => format!("{}{:?}", output.content, output.structured),
            Err(failure) => failure.message.clone() + &failure.preview,
        };
        assert!(!text.contains("CANARY") && !text.contains("canary"), "{text}");
    }
    let mut outside: Vec<_> =
        fs::read_dir(&place.out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    outside.sort();
    assert_eq!(outside, ["canary.txt", "file.txt"]);
    assert_eq!(fs::read_to_string(place.out.join("file.txt")).unwrap(), "CANARY");
    assert!(was_read(&told), "the race was never won by the reader");
}
