use std::os::unix::fs::{PermissionsExt, symlink};

use callboard_proto::tool::{RollbackMode, rollback_response::Result as Ended};
use serde_json::json;

use super::*;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old": old, "new": new}]})
}

/// A file of these bytes, edited: what is in it then.
async fn check(before: &[u8], edits: Value, after: &[u8]) {
    let place = Place::new().await;
    place.file("a.txt", before);
    let arguments = json!({"path": "a.txt", "edits": edits});
    place.approve("edit_file", arguments).await.unwrap();
    assert_eq!(place.content("a.txt"), after, "{edits}");
}

/// A file of these bytes whose edit fails and leaves them.
async fn refused(before: &[u8], edits: Value) -> (FailureKind, String) {
    let place = Place::new().await;
    place.file("a.txt", before);
    let told = place.fail("edit_file", json!({"path": "a.txt", "edits": edits})).await;
    assert_eq!(place.content("a.txt"), before, "{edits}");
    told
}

#[tokio::test]
async fn a_change_is_shown_then_done() {
    let place = Place::with(&[("a.md", "one\ntwo\nthree")]).await;
    let arguments = edit("a.md", "two", "2");
    let Verdict::Ask(ask) = place.judge("edit_file", &arguments).await else { panic!() };
    assert_eq!(
        ask.preview,
        "Edit a.md: 13 bytes become 11 bytes.\n\
         Not reversible: the old content is not kept.\n\
         Lines: +1 −1.\n\
         --- a.md\n+++ a.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\
         \\ No newline at end of file\n"
    );
    let failure = place.served.invoke("edit_file", arguments.clone()).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::PreviewChanged);
    assert_eq!(place.content("a.md"), b"one\ntwo\nthree");
    fs::set_permissions(place.ws.join("a.md"), fs::Permissions::from_mode(0o750)).unwrap();
    let output = place.approve("edit_file", arguments).await.unwrap();
    assert_eq!(
        output.content,
        "Edited a.md: 1 replacement; it has 11 bytes now. Nothing more to do for this file."
    );
    assert_eq!(
        structured(&output),
        json!({"path": "a.md", "size": 11, "replacements": 1, "changed": true})
    );
    assert_eq!(place.content("a.md"), b"one\n2\nthree");
    let mode = place.ws.join("a.md").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[tokio::test]
async fn line_ends_stay_what_they_are() {
    check(b"k\r\nl\r\nm\r\n", json!([{"old": "l\nm", "new": "L\nm"}]), b"k\r\nL\r\nm\r\n").await;
    check(b"k\r\nl\r\n", json!([{"old": "k", "new": "k\nn\no"}]), b"k\r\nn\r\no\r\nl\r\n").await;
    check(b"k\nl", json!([{"old": "k\r\nl", "new": "k\r\nL"}]), b"k\nL").await;
    check(b"k\r\nl\nm\n", json!([{"old": "k\nl", "new": "K\nl"}]), b"K\r\nl\nm\n").await;
    check(b"a = '\\n'\n", json!([{"old": "'\\n'", "new": "'\\t'"}]), b"a = '\\t'\n").await;
}

/// The bytes were written down by Python's codecs.
#[tokio::test]
async fn every_encoding_is_kept_and_what_is_not_edited_stays_byte_for_byte() {
    let ascii = json!([{"old": "n = 1", "new": "n = 2"}]);
    check(b"\xef\xbb\xbfn = 1\n", ascii.clone(), b"\xef\xbb\xbfn = 2\n").await;
    check(b"th\xe9\nn = 1\nma\xefs", ascii.clone(), b"th\xe9\nn = 2\nma\xefs").await;
    let gbk = |n: &str| {
        let (head, tail) = (b"// \xd6\xd0\xce\xc4\xce\xc4\xbc\xfe\n", b"\n// \xbd\xe1\xca\xf8\n");
        [&head[..], n.as_bytes(), tail].concat()
    };
    check(&gbk("n = 1"), ascii.clone(), &gbk("n = 2")).await;
    let both = json!([{"old": "文件", "new": "n"}]);
    let after = b"// \xd6\xd0\xce\xc4n\nn = 1\n// \xbd\xe1\xca\xf8\n";
    check(&gbk("n = 1"), both, after).await;
    check(b"\xff\xfen\0=\0\n\0", json!([{"old": "=", "new": "中"}]), b"\xff\xfen\0\x2d\x4e\n\0")
        .await;
    check(b"\xfe\xff\0n\0=", json!([{"old": "=", "new": "\n"}]), b"\xfe\xff\0n\0\n").await;
    // A stray byte in UTF-8 is left alone.
    let stray = |n: &[u8]| ["中文".repeat(20).as_bytes(), b"\xff", n].concat();
    check(&stray(b"n = 1"), ascii, &stray(b"n = 2")).await;
}

#[tokio::test]
async fn what_the_encoding_lacks_is_refused() {
    let (kind, text) = refused(b"th\xe9 n\n", json!([{"old": "n", "new": "中"}])).await;
    assert_eq!(kind, FailureKind::Unsupported);
    assert!(text.contains("windows-1252"), "{text}");
    let (kind, _) = refused(b"a\0\0\0b", json!([{"old": "a", "new": "c"}])).await;
    assert_eq!(kind, FailureKind::Unsupported);
}

#[tokio::test]
async fn all_edits_are_done_or_none() {
    let edits = json!([{"old": "k", "new": "K"}, {"old": "port = 81", "new": "x"}]);
    let (kind, text) = refused(b"k\n  port = 80\nl\n", edits).await;
    assert_eq!(kind, FailureKind::NotFound);
    assert_eq!(
        text,
        "Edit 2 of 2: its `old` text is not in the file, so no edit was done and the file is \
         unchanged. The nearest is line 2:\n  port = 80\nRead the file and give the text exactly \
         as it is there."
    );
    let edits = json!([{"old": "k", "new": "l"}, {"old": "l", "new": "m", "all": true}]);
    check(b"k l l\n", edits, b"m m m\n").await;
}

#[tokio::test]
async fn what_is_there_twice_is_not_guessed_about() {
    let (kind, text) = refused(b"x\ny\nx\n", json!([{"old": "x", "new": "z"}])).await;
    assert_eq!(kind, FailureKind::InvalidArguments);
    assert!(text.starts_with("Edit 1 of 1: its `old` text is there 2 times, from lines 1, 3, so"));
    // Overlapping counts.
    let (kind, _) = refused(b"aaa\n", json!([{"old": "aa", "new": "b"}])).await;
    assert_eq!(kind, FailureKind::InvalidArguments);
    check(b"x\ny\nx\n", json!([{"old": "x", "new": "", "all": true}]), b"\ny\n\n").await;
    for edits in [json!([]), json!([{"old": "", "new": "x"}]), json!([{"old": "x", "new": "x"}])] {
        let (kind, text) = refused(b"x\n", edits).await;
        assert_eq!(kind, FailureKind::InvalidArguments, "{text}");
    }
}

#[tokio::test]
async fn the_limit_holds_before_anything_is_built() {
    let edits = json!([{"old": "a", "new": "b".repeat(20_000), "all": true}]);
    let (kind, _) = refused("a".repeat(10_000).as_bytes(), edits).await;
    assert_eq!(kind, FailureKind::TooLarge);
}

#[tokio::test]
async fn the_walls_hold_for_edits() {
    let place = Place::with(&[(".env", "KEY=1\n"), ("callboard.toml", "a = 1\n")]).await;
    symlink(place.out.join("canary.txt"), place.ws.join("link.txt")).unwrap();
    fs::hard_link(place.ws.join(".env"), place.ws.join("plain.txt")).unwrap();
    for (path, kind) in [
        (".env", FailureKind::Blocked),
        ("plain.txt", FailureKind::Blocked),
        ("callboard.toml", FailureKind::Blocked),
        ("link.txt", FailureKind::PermissionDenied),
        ("../out/canary.txt", FailureKind::PermissionDenied),
        ("none.txt", FailureKind::NotFound),
        (".", FailureKind::Unsupported),
        ("", FailureKind::InvalidArguments),
    ] {
        let (told, text) = place.fail("edit_file", edit(path, "1", "2")).await;
        assert_eq!(told, kind, "{path}: {text}");
        assert!(!text.contains("KEY") && !text.contains("CANARY"), "{text}");
    }
    assert_eq!(place.content(".env"), b"KEY=1\n");
    assert_eq!(fs::read(place.out.join("canary.txt")).unwrap(), b"CANARY");
}

#[tokio::test]
async fn an_edit_is_taken_back_unless_the_file_changed_since() {
    let place = Place::kept(&[("a.md", "th\u{e9} 1\r\n")]).await;
    let arguments = edit("a.md", "1", "2");
    let mut call = place.served.call("edit_file", &arguments);
    let Verdict::Ask(ask) = place.judge("edit_file", &arguments).await else { panic!() };
    call.approved_preview = ask.preview_digest;
    let output = place.served.start(call.clone()).await.unwrap().unwrap();
    assert_eq!(output.undo_token, format!("kept:{}", call.call_id));
    // The same call again is told what it did, and does nothing.
    assert_eq!(place.served.start(call.clone()).await.unwrap().unwrap(), output);
    place.file("a.md", "by hand\n");
    let ended = place.back(&call, RollbackMode::Strict, false).await;
    assert!(matches!(ended, Ended::Conflict(_)), "{ended:?}");
    assert_eq!(place.content("a.md"), b"by hand\n");
    place.file("a.md", "th\u{e9} 2\r\n");
    let ended = place.back(&call, RollbackMode::Strict, false).await;
    assert!(matches!(ended, Ended::Undone(_)), "{ended:?}");
    assert_eq!(place.content("a.md"), "th\u{e9} 1\r\n".as_bytes());
}
