use std::{
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use callboard_proto::tool::preflight_response;
use serde_json::json;

use super::*;

async fn preview(place: &Place, arguments: &Value) -> String {
    match place.judge("write_file", arguments).await {
        preflight_response::Verdict::Ask(ask) => ask.preview,
        other => panic!("{other:?}"),
    }
}

async fn blocked(place: &Place, path: &str) -> String {
    let arguments = json!({"path": path, "content": "x"});
    match place.judge("write_file", &arguments).await {
        preflight_response::Verdict::Block(block) => {
            let failure = place.served.invoke("write_file", arguments).await.unwrap_err();
            assert_eq!(said(failure), (FailureKind::Blocked, block.reason.clone()));
            block.reason
        }
        other => panic!("{path}: {other:?}"),
    }
}

#[tokio::test]
async fn a_new_file_is_shown_then_written_byte_for_byte() {
    let place = Place::new().await;
    let content = "# Zusammenfassung\r\n\ttäb \\n stays, 中文\nno line end";
    let arguments = json!({"path": "notes/с пробелом/ünï.md", "content": content});
    assert_eq!(
        preview(&place, &arguments).await,
        "Create notes/с пробелом/ünï.md: 53 bytes.\n\
         Folders of this path that are missing are made.\n\
         Lines: +3 −0.\n\
         --- /dev/null\n\
         +++ notes/с пробелом/ünï.md\n\
         @@ -0,0 +1,3 @@\n\
         +# Zusammenfassung\\u{d}\n\
         +\ttäb \\n stays, 中文\n\
         +no line end\n\
         \\ No newline at end of file\n"
    );
    assert!(!place.ws.join("notes").exists(), "a preview changes nothing");
    let output = place.approve("write_file", arguments).await.unwrap();
    assert_eq!(
        output.content,
        "Wrote notes/с пробелом/ünï.md: 53 bytes, 3 lines; a new file. Nothing more to do for this \
         file."
    );
    assert_eq!(
        structured(&output),
        json!({"path": "notes/с пробелом/ünï.md", "size": 53, "lines": 3, "created": true,
               "changed": true, "folders": ["notes", "notes/с пробелом"]})
    );
    assert_eq!(place.content("notes/с пробелом/ünï.md"), content.as_bytes());
    let names: Vec<_> = fs::read_dir(place.ws.join("notes/с пробелом")).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file stays behind");
}

#[tokio::test]
async fn a_write_that_nobody_approved_changes_nothing() {
    let place = Place::with(&[("a.md", "old\n")]).await;
    let arguments = json!({"path": "a.md", "content": "new\n"});
    let failure = place.served.invoke("write_file", arguments.clone()).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::PreviewChanged);
    assert_eq!(failure.preview, preview(&place, &arguments).await);
    assert_eq!(place.content("a.md"), b"old\n");
    // Approved, and then the file changed: what was approved is no longer what would happen.
    let mut call = place.served.call("write_file", &arguments);
    let Verdict::Ask(ask) = place.judge("write_file", &arguments).await else {
        panic!("no question")
    };
    call.approved_preview = ask.preview_digest;
    place.file("a.md", "changed by somebody\n");
    let failure = place.served.start(call).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), FailureKind::PreviewChanged);
    assert!(failure.preview.contains("-changed by somebody\n+new\n"), "{}", failure.preview);
    assert_eq!(place.content("a.md"), b"changed by somebody\n");
}

#[tokio::test]
async fn a_replaced_file_keeps_its_permissions_and_its_other_names_their_content() {
    let place = Place::with(&[("a.sh", "one\ntwo\n")]).await;
    let path = place.ws.join("a.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(&path, place.ws.join("b.sh")).unwrap();
    let arguments = json!({"path": "a.sh", "content": "one\n2\n"});
    assert_eq!(
        preview(&place, &arguments).await,
        "Replace a.sh: 8 bytes become 6 bytes.\n\
         Not reversible: the old content is not kept.\n\
         It has 1 other name (hard links), where the old content stays.\n\
         Lines: +1 −1.\n\
         --- a.sh\n+++ a.sh\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
    let output = place.approve("write_file", arguments.clone()).await.unwrap();
    let said = "Wrote a.sh: 6 bytes, 2 lines; the old content is replaced. Nothing more to do for \
                this file.";
    assert_eq!(output.content, said);
    assert_eq!(
        output.diagnostics,
        ["a.sh had 1 other name (hard links); the old content is still there."]
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(place.content("a.sh"), b"one\n2\n");
    assert_eq!(place.content("b.sh"), b"one\ntwo\n");
    // The same again: there is nothing to ask and nothing to do.
    let inode = fs::metadata(&path).unwrap().ino();
    assert!(matches!(place.judge("write_file", &arguments).await, Verdict::Allow(_)));
    let output = place.served.invoke("write_file", arguments).await.unwrap();
    assert!(output.content.starts_with("a.sh has this very content already"), "{}", output.content);
    assert_eq!(structured(&output)["changed"], false);
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[tokio::test]
async fn nothing_outside_sensitive_or_protected_is_written() {
    let place = Place::with(&[(".env", "SECRET"), ("a.md", "a"), (".git/HEAD", "")]).await;
    symlink(&place.out, place.ws.join("away")).unwrap();
    symlink("a.md", place.ws.join("link.md")).unwrap();
    fs::hard_link(place.ws.join(".env"), place.ws.join("plain.txt")).unwrap();
    let canary = place.out.join("canary.txt").display().to_string();
    for (path, says) in [
        ("../out/written", "outside the workspace"),
        (&canary, "outside the workspace"),
        ("away/written", "`away` is a symbolic link, and nothing is changed through a link"),
        ("link.md", "It leads to `a.md`; name that path if it is what you mean."),
        (".env", "is a sensitive file"),
        ("deploy/secrets.yaml", "is a sensitive file"),
        ("plain.txt", "is a sensitive file"),
        (".git/hooks/pre-commit", "git's own files are protected"),
        ("sub/.GIT/config", "git's own files are protected"),
        ("callboard.toml", "configuration is protected"),
        (".callboard/policy.toml", "configuration is protected"),
        ("", "the path is empty"),
        (".", "the workspace itself"),
        (".git", "protected"),
        ("new/", "names a folder"),
        ("a.md/b.md", "is not a folder"),
    ] {
        let reason = blocked(&place, path).await;
        assert!(reason.contains(says), "{path}: {reason}");
        assert!(!reason.contains("SECRET"), "{reason}");
    }
    fs::create_dir(place.ws.join("folder")).unwrap();
    assert!(blocked(&place, "folder").await.contains("is a folder"));
    assert_eq!(fs::read_dir(&place.out).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(place.out.join("canary.txt")).unwrap(), "CANARY");
    assert_eq!(place.content("a.md"), b"a");
    // Source code about tokens is no secret.
    let arguments = json!({"path": "token.rs", "content": "fn main() {}\n"});
    place.approve("write_file", arguments).await.unwrap();
}

#[tokio::test]
async fn a_file_of_another_kind_is_shown_as_such() {
    let place = Place::new().await;
    place.file("gbk.txt", b"\xcb\xb5\xc3\xf7\xa3\xba\xbc\xdb\xb8\xf1\n");
    place.file("data.bin", b"\0\x01\x02");
    let shown = preview(&place, &json!({"path": "gbk.txt", "content": "说明\n"})).await;
    assert!(
        shown.contains("The old content is GBK; the new one is UTF-8 (old SHA-256: "),
        "{shown}"
    );
    assert!(shown.contains("-说明：价格\n+说明\n"), "{shown}");
    let shown = preview(&place, &json!({"path": "data.bin", "content": "text\n"})).await;
    // By `printf '\0\1\2' | sha256sum`.
    let hash = "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc";
    assert!(shown.contains(&format!("is no text (binary data, SHA-256 {hash})")), "{shown}");
}

#[tokio::test]
async fn a_file_too_large_to_be_replaced_is_left_alone() {
    let place = Place::new().await;
    fs::File::create(place.ws.join("big.txt")).unwrap().set_len(10 * 1024 * 1024 + 1).unwrap();
    let reason = blocked(&place, "big.txt").await;
    assert!(reason.contains("10,485,761 bytes; files of at most 10,485,760 bytes"), "{reason}");
}

#[tokio::test]
async fn a_long_change_is_folded_and_bound_by_its_hashes() {
    let place = Place::new().await;
    let content = (0..20_000).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
    let shown = preview(&place, &json!({"path": "long.txt", "content": content})).await;
    assert!(shown.len() < 70_000, "{}", shown.len());
    assert!(
        shown.contains("The diff is too long to be shown whole: 19,001 lines"),
        "{}",
        &shown[..400]
    );
    place.approve("write_file", json!({"path": "long.txt", "content": content})).await.unwrap();
    assert_eq!(place.content("long.txt"), content.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_writes_at_the_same_time_one_wins_whole_and_no_reader_sees_half() {
    let place = Place::with(&[("a.txt", "old")]).await;
    let contents = ["one", "two"].map(|word| format!("{word}\n").repeat(20_000));
    let over = Arc::new(AtomicBool::new(false));
    let reading = {
        let (over, path, contents) = (Arc::clone(&over), place.ws.join("a.txt"), contents.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let seen = fs::read_to_string(&path).unwrap();
                assert!(seen == "old" || contents.contains(&seen), "{} bytes", seen.len());
            }
        })
    };
    for _ in 0..6 {
        let old = json!({"path": "a.txt", "content": "old"});
        place.approve("write_file", old).await.unwrap();
        let [first, second] = contents.each_ref().map(|content| {
            place.approve("write_file", json!({"path": "a.txt", "content": content}))
        });
        let (first, second) = tokio::join!(first, second);
        let kept = place.content("a.txt");
        let winner = contents.iter().position(|content| content.as_bytes() == kept).unwrap();
        for (index, outcome) in [first, second].into_iter().enumerate() {
            match outcome {
                Ok(_) => assert_eq!(index, winner, "a write was told done and lost"),
                Err(failure) => assert!(matches!(
                    failure.kind(),
                    FailureKind::Conflict | FailureKind::PreviewChanged
                )),
            }
        }
    }
    over.store(true, Ordering::Relaxed);
    reading.join().unwrap();
    assert_eq!(fs::read_dir(&place.ws).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_several_files_into_one_new_folder_are_all_done() {
    let place = Place::new().await;
    let mut calls = Vec::new();
    for nth in 0..3 {
        let arguments = json!({"path": format!("new/deep/{nth}.txt"), "content": "x\n"});
        let mut call = place.served.call("write_file", &arguments);
        match place.served.preflight(call.clone()).await.unwrap() {
            preflight_response::Verdict::Ask(ask) => call.approved_preview = ask.preview_digest,
            other => panic!("{other:?}"),
        }
        calls.push(place.served.start(call));
    }
    // All were approved while the folder was not there; the first one makes it.
    let [first, second, third] = <[_; 3]>::try_from(calls).ok().unwrap();
    first.await.unwrap().unwrap();
    let (second, third) = tokio::join!(second, third);
    second.unwrap().unwrap();
    third.unwrap().unwrap();
    for nth in 0..3 {
        assert_eq!(place.content(&format!("new/deep/{nth}.txt")), b"x\n");
    }
}
