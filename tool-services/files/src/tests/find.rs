use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;

#[tokio::test]
async fn files_are_found_by_name_at_any_depth() {
    let place = Place::with(&[
        ("orchestrator/src/run.rs", "12345"),
        ("orchestrator/src/run/event.rs", "123"),
        ("orchestrator/Cargo.toml", ""),
        ("gateway/lib.rs", "1234567"),
        (".gitignore", "target\n"),
        ("target/debug.rs", ""),
        (".git/hooks/x.rs", ""),
        (".github/ci.rs", ""),
    ])
    .await;
    symlink("run.rs", place.ws.join("orchestrator/src/link.rs")).unwrap();
    for (arguments, status, paths) in [
        (
            json!({"pattern": "**/*.rs", "path": "orchestrator", "sort": "size"}),
            "Found 2 files matching **/*.rs under orchestrator, largest first.",
            &["orchestrator/src/run.rs", "orchestrator/src/run/event.rs"][..],
        ),
        (
            json!({"pattern": "*.rs"}),
            "Found 4 files matching *.rs in the workspace, by name.",
            &[
                ".github/ci.rs",
                "gateway/lib.rs",
                "orchestrator/src/run.rs",
                "orchestrator/src/run/event.rs",
            ],
        ),
        (
            json!({"pattern": "*.rs", "sort": "size", "limit": 1}),
            "Found 4 files matching *.rs in the workspace, largest first; the first 1 of 4 are shown.",
            &["gateway/lib.rs"],
        ),
        (
            json!({"pattern": "src/*.rs", "path": "orchestrator"}),
            "Found 1 file matching src/*.rs under orchestrator.",
            &["orchestrator/src/run.rs"],
        ),
        (json!({"pattern": "*.xyz"}), "Found 0 files matching *.xyz in the workspace.", &[]),
    ] {
        let output = place.call("find_files", arguments).await;
        let (said, rows) = parts(&output);
        let found: Vec<_> = rows.lines().map(|row| row.split("  ").next().unwrap()).collect();
        assert_eq!((said, &found[..]), (status, paths));
        let facts = structured(&output);
        let listed: Vec<_> =
            facts["files"].as_array().unwrap().iter().map(|f| &f["path"]).collect();
        assert_eq!(listed, paths);
    }
}

#[tokio::test]
async fn the_newest_file_comes_first_and_ties_are_broken_by_path() {
    let place = Place::new().await;
    for (path, second) in [
        ("b/x.md", 1_700_000_000),
        ("a/x.md", 1_700_000_000),
        ("c.md", 1_600_000_000),
        ("z.md", 1_800_000_000),
    ] {
        modified(&place.file(path, ""), second);
    }
    let output = place.call("find_files", json!({"pattern": "*.md", "sort": "modified"})).await;
    assert_eq!(
        output.content,
        "Found 4 files matching *.md in the workspace, newest first.\n\
         z.md  0 bytes  2027-01-15T08:00:00Z\n\
         a/x.md  0 bytes  2023-11-14T22:13:20Z\n\
         b/x.md  0 bytes  2023-11-14T22:13:20Z\n\
         c.md  0 bytes  2020-09-13T12:26:40Z"
    );
}

#[tokio::test]
async fn sensitive_files_are_counted_and_not_shown() {
    let place =
        Place::with(&[("a/.env", "K=1"), ("a/notes.txt", ""), ("a/password.txt", "")]).await;
    fs::hard_link(place.ws.join("a/.env"), place.ws.join("a/plain.txt")).unwrap();
    let output = place.call("find_files", json!({"pattern": "*.txt"})).await;
    let (status, rows) = parts(&output);
    let said =
        "Found 1 file matching *.txt in the workspace. 2 sensitive files match and are not shown.";
    assert_eq!(status, said);
    assert!(rows.starts_with("a/notes.txt  ") && !rows.contains("password"), "{rows}");
}

#[tokio::test]
async fn a_bad_pattern_or_folder_is_told_with_a_way_out() {
    let place = Place::with(&[("docs/a.md", "a")]).await;
    for pattern in ["", "../*", "/etc/*", "a[", "docs/"] {
        let failure =
            place.served.invoke("find_files", json!({"pattern": pattern})).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::InvalidArguments, "{pattern}");
        assert_eq!(failure.violations[0].pointer, "/pattern");
    }
    let failed = place.fail("find_files", json!({"pattern": "*", "path": "doc"})).await;
    assert_eq!(failed, (FailureKind::NotFound, "No folder `doc`. Nearest: `docs`.".to_owned()));
    let (kind, _) = place.fail("find_files", json!({"pattern": "*", "path": "../out"})).await;
    assert_eq!(kind, FailureKind::PermissionDenied);
}
