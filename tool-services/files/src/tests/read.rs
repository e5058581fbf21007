use std::{
    os::unix::fs::{FileExt, symlink},
    time::Duration,
};

use serde_json::json;
use tokio::time::Instant;

use super::*;

#[tokio::test]
async fn a_read_says_what_was_read_and_then_the_text_as_it_is() {
    let place = Place::with(&[
        ("notes.md", "# Notes\n\nFirst point\n"),
        ("open.txt", "no line end"),
        ("empty.txt", ""),
        ("数.txt", "一\n二\n"),
    ])
    .await;
    for (path, expected) in [
        ("notes.md", "Read notes.md: 21 characters, 3 lines, complete.\n# Notes\n\nFirst point\n"),
        ("./open.txt", "Read open.txt: 11 characters, 1 line, complete.\nno line end"),
        ("empty.txt", "Read empty.txt: 0 characters, 0 lines, complete.\n"),
        ("数.txt", "Read 数.txt: 4 characters, 2 lines, complete.\n一\n二\n"),
    ] {
        assert_eq!(place.call("read_file", json!({"path": path})).await.content, expected);
    }
    let output = place.call("read_file", json!({"path": "notes.md"})).await;
    let mut facts = structured(&output);
    assert!(facts["modified"].take().as_str().unwrap().ends_with('Z'));
    assert_eq!(
        facts,
        json!({
            "path": "notes.md", "size": 21, "modified": null, "text": "# Notes\n\nFirst point\n",
            "encoding": "UTF-8", "binary": false, "complete": true, "characters": 21, "lines": 3,
            "first_line": 1, "last_line": 3, "next_offset": null, "next_column": null,
        })
    );
}

#[tokio::test]
async fn a_long_file_is_read_page_by_page_without_a_gap_or_a_repeat() {
    let lines: Vec<String> =
        (1..=5_012).map(|number| format!("line {number} of the log\n")).collect();
    let place = Place::with(&[("big.log", &lines.concat())]).await;
    let (mut text, mut offset, mut pages) = (String::new(), Some(1), 0);
    while let Some(line) = offset {
        let output = place.call("read_file", json!({"path": "big.log", "offset": line})).await;
        assert!(output.content.chars().count() <= 16_000);
        let (status, page) = parts(&output);
        let facts = structured(&output);
        let (last, next) = (facts["last_line"].as_u64().unwrap(), facts["next_offset"].as_u64());
        let expected = match next {
            Some(next) => format!("go on with offset {next}; do not read again from the start."),
            None => "to the end.".to_owned(),
        };
        assert!(status.ends_with(&expected), "{status}");
        assert_eq!(next.unwrap_or(5_013), last + 1);
        text += page;
        offset = next;
        pages += 1;
    }
    assert_eq!(text, lines.concat());
    assert!(pages > 5, "{pages}");
    let output = place.call("read_file", json!({"path": "big.log", "limit": 200})).await;
    let status = "Read big.log: lines 1–200 of 5,012; go on with offset 201; do not read again from \
                  the start.";
    assert_eq!(parts(&output), (status, lines[..200].concat().as_str()));
    let output =
        place.call("read_file", json!({"path": "big.log", "offset": 5012, "limit": 9})).await;
    assert_eq!(
        parts(&output),
        ("Read big.log: line 5,012 of 5,012, to the end.", lines[5_011].as_str())
    );
    let output = place.call("read_file", json!({"path": "big.log", "offset": 6000})).await;
    let status = "Read big.log: nothing, because it ends before line 6,000; it has 5,012 lines.";
    assert_eq!(parts(&output), (status, ""));
}

#[tokio::test]
async fn one_huge_line_is_cut_and_can_be_read_on() {
    let items: Vec<String> = (0..4_000).map(|number| format!("{{\"n\":{number}}}")).collect();
    let whole = format!("{{\"items\":[{}]}}", items.join(","));
    let place = Place::with(&[("big.json", &whole), ("cn.txt", &"中".repeat(40_000))]).await;
    let output = place.call("read_file", json!({"path": "big.json"})).await;
    let (status, text) = parts(&output);
    assert!(text.starts_with("{\"items\":[{\"n\":0}") && text.len() > 15_000);
    let next = text.len() + 1;
    assert!(
        status.ends_with(&format!("go on with column {next}; do not read again from the start."))
    );
    assert!(!status.contains("offset"), "{status}");
    let output = place.call("read_file", json!({"path": "big.json", "column": next})).await;
    assert!(whole[next - 1..].starts_with(parts(&output).1));
    let output = place.call("read_file", json!({"path": "cn.txt"})).await;
    let text = parts(&output).1;
    assert!(text.chars().count() > 15_000 && text.chars().all(|character| character == '中'));
    assert!(output.content.chars().count() <= 16_000);
}

#[tokio::test]
async fn other_encodings_and_line_ends_are_said() {
    let place = Place::new().await;
    place.file("latin.txt", b"na\xefve");
    place.file(
        "gbk.c",
        b"// \xcb\xb5\xc3\xf7\xa3\xba\xbc\xdb\xb8\xf1\xb1\xed\nint a = 1;\n// \xbd\xe1\xca\xf8\n",
    );
    place.file("bom.txt", b"\xef\xbb\xbfa\r\nb\r\n");
    place.file("wide.txt", b"\xff\xfea\0\n\0");
    for (path, expected) in [
        (
            "latin.txt",
            "Read latin.txt: 5 characters, 1 line, complete. Decoded from windows-1252.\nnaïve",
        ),
        (
            "gbk.c",
            "Read gbk.c: 27 characters, 3 lines, complete. Decoded from GBK.\n\
             // 说明：价格表\nint a = 1;\n// 结束\n",
        ),
        (
            "bom.txt",
            "Read bom.txt: 6 characters, 2 lines, complete. The file starts with a byte order mark. \
             Lines end in CRLF.\na\r\nb\r\n",
        ),
        (
            "wide.txt",
            "Read wide.txt: 2 characters, 1 line, complete. Decoded from UTF-16LE. The file starts \
             with a byte order mark.\na\n",
        ),
    ] {
        let content = place.call("read_file", json!({"path": path})).await.content;
        let content =
            content.replace(" Bytes that do not fit the encoding are shown as U+FFFD.", "");
        assert_eq!(content, expected);
    }
}

#[tokio::test]
async fn a_binary_file_is_described_and_not_dumped() {
    let place = Place::new().await;
    place.file("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0");
    let output = place.call("read_file", json!({"path": "logo.png"})).await;
    let said = "Read logo.png: PNG image, 18 bytes; it is binary, so no text is shown.\n";
    assert_eq!(output.content, said);
    assert_eq!(structured(&output)["binary"], true);
}

#[tokio::test]
async fn a_huge_file_is_answered_quickly_and_within_bounds() {
    let place = Place::new().await;
    let sparse = fs::File::create(place.ws.join("huge.log")).unwrap();
    sparse.set_len(2 << 30).unwrap();
    let text = fs::File::create(place.ws.join("text.log")).unwrap();
    let line = "a line of a log that is long\n".repeat(4_000);
    text.write_all_at(line.as_bytes(), 0).unwrap();
    // The rest of it is a hole: no line ends, and too much to be looked through in a moment.
    text.set_len(2 << 30).unwrap();
    let before = resident();
    let began = Instant::now();
    let output = place.call("read_file", json!({"path": "huge.log"})).await;
    let said =
        "Read huge.log: binary data, 2,147,483,648 bytes; it is binary, so no text is shown.\n";
    assert_eq!(output.content, said);
    let output = place.call("read_file", json!({"path": "text.log", "limit": 3})).await;
    let (status, page) = parts(&output);
    assert_eq!(page, &line[..87]);
    assert!(status.contains("; go on with offset 4; do not"), "{status}");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(resident().saturating_sub(before) < 32 << 20);
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[tokio::test]
async fn what_is_no_file_is_told_with_a_way_out() {
    let place = Place::with(&[("tests/a.txt", "x"), ("A.md", ""), ("notes/a.md", "")]).await;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.ws.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for (path, kind, said) in [
        (
            "tests",
            FailureKind::Unsupported,
            r#"`tests` is a folder, not a file; use list_dir with {"path": "tests"}."#,
        ),
        (
            "pipe",
            FailureKind::Unsupported,
            "`pipe` is a named pipe, not a file; only regular files can be used.",
        ),
        ("a.md", FailureKind::NotFound, "No file `a.md`. Nearest: `A.md`, `notes/a.md`."),
        (
            "tests/a.txt/b",
            FailureKind::NotFound,
            "`tests/a.txt` on the way to `tests/a.txt/b` is not a folder, so nothing is below it.",
        ),
        (
            "zzz.unknown",
            FailureKind::NotFound,
            "No file `zzz.unknown`, and none with a similar name. See what is there with list_dir, \
             or search by name with find_files.",
        ),
    ] {
        let failed = place.fail("read_file", json!({"path": path})).await;
        assert_eq!(failed, (kind, said.to_owned()));
    }
}

#[tokio::test]
async fn arguments_that_cannot_be_meant_are_refused() {
    let place = Place::with(&[("a.md", "a")]).await;
    for arguments in [
        json!({"path": ""}),
        json!({"path": "a\u{0}.md"}),
        json!({"path": "x".repeat(300)}),
        json!({"path": "a.md", "offset": 0}),
        json!({"path": "a.md", "offset": -1}),
        json!({"path": "a.md", "limit": 0}),
        json!({"path": "a.md", "lines": 3}),
        json!({"path": 3}),
        json!({}),
    ] {
        let failure = place.served.invoke("read_file", arguments.clone()).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::InvalidArguments, "{arguments}");
        assert!(!failure.violations.is_empty(), "{arguments}");
    }
}

#[tokio::test]
async fn names_that_are_no_text_can_be_read_as_they_are_shown() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let place = Place::new().await;
    fs::write(place.ws.join(OsStr::from_bytes(b"caf\xe9.txt")), "bytes").unwrap();
    place.file("line\nbreak.txt", "control");
    place.file(r"literal\x41.txt", "literal");
    let listed = place.call("list_dir", json!({})).await.content;
    for (shown, text) in [
        (r"caf\xe9.txt", "bytes"),
        (r"line\u{a}break.txt", "control"),
        (r"literal\\x41.txt", "literal"),
    ] {
        assert!(listed.contains(&format!("\n{shown}  ")), "{listed}");
        let output = place.call("read_file", json!({"path": shown})).await;
        assert_eq!(parts(&output).1, text);
        assert!(output.content.starts_with(&format!("Read {shown}: ")));
    }
    // The name itself comes first.
    let output = place.call("read_file", json!({"path": r"literal\x41.txt"})).await;
    assert_eq!(parts(&output).1, "literal");
}

#[tokio::test]
async fn links_inside_are_followed_and_the_file_is_named() {
    let place = Place::with(&[("docs/guide.md", "guide\n")]).await;
    symlink("docs/guide.md", place.ws.join("GUIDE")).unwrap();
    let output = place.call("read_file", json!({"path": "GUIDE"})).await;
    assert_eq!(output.content, "Read docs/guide.md: 6 characters, 1 line, complete.\nguide\n");
}
