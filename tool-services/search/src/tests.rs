use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use callboard_proto::tool::{FailureKind, Output, preflight_response::Verdict};
use callboard_tool::testing::{Served, start_in};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

/// A served workspace `ws`, beside a folder `out` that nothing may reach.
struct Place {
    _folder: TempDir,
    ws: PathBuf,
    out: PathBuf,
    served: Served,
}

impl Place {
    async fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ws, out) = (folder.path().join("ws"), folder.path().join("out"));
        fs::create_dir(&ws).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("canary.txt"), "needle CANARY\n").unwrap();
        for (path, content) in files {
            let path = ws.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let served = start_in(crate::service(), &ws).await.unwrap();
        Self { _folder: folder, ws, out, served }
    }

    async fn search(&self, arguments: Value) -> Output {
        self.served.invoke("search_text", arguments).await.unwrap()
    }

    async fn content(&self, arguments: Value) -> String {
        self.search(arguments).await.content
    }
}

fn structured(output: &Output) -> Value {
    serde_json::from_slice(&output.structured).unwrap()
}

const FILES: [(&str, &str); 7] = [
    ("orchestrator/a.rs", "// the fencing number\nlet x = 1;\n// fencing again\n"),
    ("orchestrator/deep/b.rs", "fencing\n"),
    ("orchestrator/c.rs", "nothing here\n"),
    ("other/d.rs", "fencing\n"),
    (".gitignore", "target\n"),
    ("target/e.rs", "fencing\n"),
    (".git/f", "fencing\n"),
];

#[tokio::test]
async fn matches_are_told_with_file_and_line() {
    let place = Place::with(&FILES).await;
    let output = place.search(json!({"pattern": "fencing", "path": "orchestrator"})).await;
    assert_eq!(
        output.content,
        "Found 3 matches for \"fencing\" in 2 files under orchestrator.\n\
         Files: orchestrator/a.rs (2), orchestrator/deep/b.rs (1)\n\
         orchestrator/a.rs:1: // the fencing number\n\
         orchestrator/a.rs:3: // fencing again\n\
         orchestrator/deep/b.rs:1: fencing"
    );
    assert_eq!(
        structured(&output),
        json!({
            "path": "orchestrator", "total_matches": 3, "total_files": 2, "searched_files": 3,
            "hidden": 0, "binary_files": 0, "failed_files": 0, "unreadable_folders": 0,
            "files": [
                {"path": "orchestrator/a.rs", "matches": 2},
                {"path": "orchestrator/deep/b.rs", "matches": 1},
            ],
            "lines": [
                {"path": "orchestrator/a.rs", "line": 1, "text": "// the fencing number", "is_match": true},
                {"path": "orchestrator/a.rs", "line": 3, "text": "// fencing again", "is_match": true},
                {"path": "orchestrator/deep/b.rs", "line": 1, "text": "fencing", "is_match": true},
            ],
        })
    );
}

#[tokio::test]
async fn a_search_can_be_narrowed_and_widened() {
    let place = Place::with(&FILES).await;
    for (arguments, expected) in [
        (
            json!({"pattern": "fencing", "glob": "d.*"}),
            "Found 1 match for \"fencing\" in 1 file matching d.* in the workspace.\nother/d.rs:1: fencing",
        ),
        (
            json!({"pattern": "FENCING", "ignore_case": true, "path": "other/d.rs"}),
            "Found 1 match for \"FENCING\" in other/d.rs.\nother/d.rs:1: fencing",
        ),
        (
            json!({"pattern": "^let \\w+", "regex": true}),
            "Found 1 match for /^let \\w+/ in 1 file in the workspace.\norchestrator/a.rs:2: let x = 1;",
        ),
        (
            json!({"pattern": "let", "path": "orchestrator/a.rs", "context": 1}),
            "Found 1 match for \"let\" in orchestrator/a.rs.\n\
             orchestrator/a.rs-1- // the fencing number\n\
             orchestrator/a.rs:2: let x = 1;\n\
             orchestrator/a.rs-3- // fencing again",
        ),
        // A folder that is named is searched, even if it is ignored.
        (
            json!({"pattern": "fencing", "path": "target"}),
            "Found 1 match for \"fencing\" in 1 file under target.\ntarget/e.rs:1: fencing",
        ),
    ] {
        assert_eq!(place.content(arguments).await, expected);
    }
}

#[tokio::test]
async fn nothing_found_is_a_success_that_says_so() {
    let place = Place::with(&[("a.md", "text\n"), ("b.md", "text\n")]).await;
    fs::write(place.ws.join("c.bin"), b"\0\0").unwrap();
    for (arguments, expected) in [
        (
            json!({"pattern": "absent"}),
            "Found 0 matches for \"absent\" in the workspace; 3 files were searched. 1 binary file \
             was not searched to its end.",
        ),
        (json!({"pattern": "absent", "path": "a.md"}), "Found 0 matches for \"absent\" in a.md."),
        (
            json!({"pattern": "te.*t", "glob": "*.md"}),
            "Found 0 matches for \"te.*t\" in the workspace; 2 files were searched. The pattern was \
             taken as plain text; with \"regex\": true it is a regular expression.",
        ),
    ] {
        assert_eq!(place.content(arguments).await, expected);
    }
}

#[tokio::test]
async fn many_matches_are_counted_and_the_first_ones_shown_each_time_the_same() {
    let files: Vec<_> = (0..300)
        .map(|number| (format!("{}/{number}.txt", number % 7), "needle\nneedle\n"))
        .collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let place = Place::with(&files).await;
    let first = place.content(json!({"pattern": "needle", "limit": 3})).await;
    let rows: Vec<_> = first.lines().collect();
    assert_eq!(
        rows[0],
        "Found 600 matches for \"needle\" in 300 files in the workspace; the first 3 of 600 are shown."
    );
    assert!(rows[1].starts_with("Files: 0/0.txt (2), 0/105.txt (2), "), "{}", rows[1]);
    assert!(rows[1].ends_with(", and 260 more files"), "{}", rows[1]);
    assert_eq!(rows[2..], ["0/0.txt:1: needle", "0/0.txt:2: needle", "0/105.txt:1: needle"]);
    for _ in 0..5 {
        assert_eq!(place.content(json!({"pattern": "needle", "limit": 3})).await, first);
    }
    let default = place.content(json!({"pattern": "needle"})).await;
    assert_eq!(default.lines().count(), 2 + 100);
}

#[tokio::test]
async fn sensitive_files_are_not_searched_under_any_name() {
    let place = Place::with(&[
        ("a/.env", "needle SECRET\n"),
        ("a/password.txt", "needle SECRET\n"),
        ("token.rs", "// needle\n"),
        (".env.example", "needle=\n"),
        ("b/prod", "needle SECRET\n"),
    ])
    .await;
    symlink("b/prod", place.ws.join(".env.local")).unwrap();
    fs::hard_link(place.ws.join("a/.env"), place.ws.join("plain.txt")).unwrap();
    symlink("a/.env", place.ws.join("link.txt")).unwrap();
    let content = place.content(json!({"pattern": "needle"})).await;
    assert_eq!(
        content,
        "Found 2 matches for \"needle\" in 2 files in the workspace. 3 sensitive files were not \
         searched.\nFiles: .env.example (1), token.rs (1)\n.env.example:1: needle=\ntoken.rs:1: // needle"
    );
    for path in ["a/.env", "a/password.txt", "plain.txt", "link.txt", "b/prod", ".env.local"] {
        let arguments = json!({"pattern": "needle", "path": path});
        let failure = place.served.invoke("search_text", arguments.clone()).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Blocked, "{path}");
        assert!(!failure.message.contains("SECRET"));
        let call = place.served.call("search_text", &arguments);
        assert!(matches!(place.served.preflight(call).await.unwrap(), Verdict::Block(_)), "{path}");
    }
}

#[tokio::test]
async fn a_search_does_not_leave_the_workspace() {
    let place = Place::with(&[("a.md", "needle\n")]).await;
    symlink(&place.out, place.ws.join("away")).unwrap();
    symlink(place.out.join("canary.txt"), place.ws.join("link.txt")).unwrap();
    let content = place.content(json!({"pattern": "needle"})).await;
    assert_eq!(content, "Found 1 match for \"needle\" in 1 file in the workspace.\na.md:1: needle");
    let out = place.out.display().to_string();
    for path in ["..", "../out", "away", "link.txt", "/", &out] {
        let arguments = json!({"pattern": "needle", "path": path});
        let failure = place.served.invoke("search_text", arguments).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::PermissionDenied, "{path}");
    }
}

#[tokio::test]
async fn arguments_that_cannot_be_meant_are_refused_with_a_way_out() {
    let place = Place::with(&[("docs/a.md", "text")]).await;
    for (arguments, pointer, says) in [
        (json!({"pattern": ""}), "/pattern", "is empty"),
        (json!({"pattern": "foo(", "regex": true}), "/pattern", "at character 4"),
        (json!({"pattern": "a\nb"}), "/pattern", "only single lines"),
        (json!({"pattern": "a", "glob": "../*"}), "/glob", "must be relative"),
        (json!({"pattern": "a", "path": ""}), "/path", "path is empty"),
        (json!({"pattern": "a", "limit": 0}), "/limit", "zero"),
        (json!({"pattern": "a", "files": "*.md"}), "/files", "unknown"),
    ] {
        let failure = place.served.invoke("search_text", arguments.clone()).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::InvalidArguments, "{arguments}");
        let violation = &failure.violations[0];
        assert_eq!(violation.pointer, pointer, "{arguments}: {}", violation.message);
        let told = format!("{} {}", failure.message, violation.message);
        assert!(told.contains(says), "{arguments}: {told}");
    }
    let failure = place.served.invoke("search_text", json!({"pattern": "a", "path": "doc"})).await;
    let failure = failure.unwrap_err();
    assert_eq!(
        (failure.kind(), failure.message.as_str()),
        (FailureKind::NotFound, "No file or folder `doc`. Nearest: `docs`.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_swapped_all_the_time_leaks_nothing() {
    let place = Place::with(&[("real/inner/canary.txt", "needle inside\n")]).await;
    fs::create_dir(place.out.join("inner")).unwrap();
    fs::write(place.out.join("inner/canary.txt"), "needle CANARY\n").unwrap();
    symlink(&place.out, place.ws.join("fake")).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (over, ws) = (Arc::clone(&over), place.ws.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for (from, to) in
                    [("real", "aside"), ("fake", "real"), ("real", "fake"), ("aside", "real")]
                {
                    fs::rename(ws.join(from), ws.join(to)).unwrap();
                }
            }
        })
    };
    let (mut found, mut turns) = (0, 0);
    let patience = Instant::now() + Duration::from_secs(20);
    while turns < 80 || (found == 0 && Instant::now() < patience) {
        turns += 1;
        for arguments in [
            json!({"pattern": "needle"}),
            json!({"pattern": "needle", "path": "real"}),
            json!({"pattern": "needle", "path": "real/inner/canary.txt"}),
        ] {
            let told = match place.served.invoke("search_text", arguments).await {
                Ok(output) => format!("{}{:?}", output.content, output.structured),
                Err(failure) => failure.message,
            };
            assert!(!told.contains("CANARY"), "{told}");
            found += u32::from(told.contains("needle inside"));
        }
    }
    over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(found > 0, "the race was never won by the search");
}
