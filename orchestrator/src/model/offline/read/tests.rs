//! Results as the tools word them.

use super::*;

fn told(text: &str) -> Told {
    match Outcome::of(text) {
        Outcome::Done(told) => told,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn calls_that_did_nothing_are_known_by_their_first_line() {
    let failed = Outcome::of("Failed (not_found): No file `a.md`. Nearest: `A.md`.");
    let message = "No file `a.md`. Nearest: `A.md`.".to_owned();
    assert_eq!(failed, Outcome::Failed { kind: "not_found".into(), message });
    for refused in [
        "Failed (blocked): `x` was blocked by the rule `r`: no.",
        "`x` was not run: a person denied it.",
        "`x` needs the approval of a person (it changes a file), and nobody is there to give it.",
        "Denied by a person: not now",
        "Not made: the run was ended first.",
    ] {
        assert!(matches!(Outcome::of(refused), Outcome::Refused(_)), "{refused}");
    }
    let unknown = "{\"status\":\"outcome_unknown\",\"call_id\":\"1\"}\nThe connection was lost.";
    assert_eq!(Outcome::of(unknown), Outcome::Unknown("The connection was lost.".into()));
    for done in ["45", "Read a.md: 3 characters, 1 line, complete.\nFailed", "Failed to see"] {
        assert!(matches!(Outcome::of(done), Outcome::Done(_)), "{done}");
    }
}

#[test]
fn lines_are_those_of_the_whole_file() {
    for (status, lines, next) in [
        ("Read notes.md: 1,240 characters, 37 lines, complete.", Some("37"), None),
        ("Read 3 lines.md: 9 characters, 1 line, complete.", Some("1"), None),
        (
            "Read a: b 7.md: 1 character, 1,234 lines, complete. Lines end in CRLF.",
            Some("1234"),
            None,
        ),
        (
            "Read a.md: lines 1–200 of 1,234; go on with offset 201; do not read again from the start.",
            Some("1234"),
            Some("201"),
        ),
        (
            "Read a.md: line 1 of 5; go on with offset 2; do not read again from the start.",
            Some("5"),
            Some("2"),
        ),
        ("Read a.md: lines 3–5 of 5, to the end.", Some("5"), None),
        ("Read a.md: nothing, because it ends before line 9; it has 4 lines.", Some("4"), None),
        ("Read x.bin: a PNG image, 90 bytes; it is binary, so no text is shown.", None, None),
    ] {
        let told = told(status);
        assert_eq!(told.lines().as_deref(), lines, "{status}");
        assert_eq!(told.next_offset().as_deref(), next, "{status}");
        assert_eq!(told.is_complete(), next.is_none(), "{status}");
    }
}

#[test]
fn listings_are_read_row_by_row() {
    let text = "Listed docs: 4 entries (2 files, 1 folder), newest first.\n\
                docs/a b.md  1,240 bytes  2026-11-30T19:41:05Z\n\
                docs/sub/  folder  2026-11-30T19:41:05Z\n\
                docs/c -> a b.md  link  2026-11-30T19:41:05Z\n\
                docs/d.txt  1 byte  2026-10-30T19:41:05Z";
    let told = told(text);
    assert_eq!(told.count_of(&["file", "files"]).as_deref(), Some("2"));
    let rows = told.rows();
    let short: Vec<_> =
        rows.iter().map(|row| (row.path.as_str(), row.is_file, row.size.as_deref())).collect();
    assert_eq!(
        short,
        [
            ("docs/a b.md", true, Some("1240")),
            ("docs/sub", false, None),
            ("docs/c -> a b.md", false, None),
            ("docs/d.txt", true, Some("1")),
        ]
    );
    assert_eq!(rows[3].changed.as_deref(), Some("2026-10-30T19:41:05Z"));
    let found = Told::of(
        "Found 1,007 files matching *.rs under x, largest first; the first 1 of 1,007 are shown.\nx/a.rs  9 bytes  2026-10-30T19:41:05Z",
    );
    assert_eq!(found.count().as_deref(), Some("1007"));
}

#[test]
fn searches_name_their_files() {
    let text = "Found 12 matches for \"in 9 files\" in 2 files under src.\n\
                Files: src/a.rs (11), src/b (1).rs (1)\n\
                src/a.rs:3: let x: u8 = 1;\n\
                src/b (1).rs:10: y";
    let told = told(text);
    assert_eq!(told.count().as_deref(), Some("12"));
    assert_eq!(told.matching_files().as_deref(), Some("2"));
    assert_eq!(told.named_files(), (vec!["src/a.rs".into(), "src/b (1).rs".into()], true));
    let place = Place { path: "src/a.rs".into(), line: "3".into(), text: "let x: u8 = 1;".into() };
    assert_eq!(told.places()[0], place);
    let one = Told::of("Found 1 match for \"x\" in 1 file under src.\nsrc/a.rs:3: x");
    assert_eq!(one.named_files(), (vec!["src/a.rs".into()], true));
    let many = Told::of(
        "Found 90 matches for \"x\" in 50 files under src.\nFiles: a (1), b (2), and 48 more files\na:1: x",
    );
    assert_eq!(many.named_files(), (vec!["a".into(), "b".into()], false));
}

#[test]
fn a_note_about_the_rest_says_how_to_read_on() {
    let text = "Found 3 files\na\nb\n[Shown: the first 20 of 30 characters, 3 of 4 lines. The call succeeded; do not repeat it. Read on with read_more {\"id\": \"x}\", \"offset\": 20}.]";
    let read = told(text);
    assert_eq!(read.body, "a\nb");
    let more = ("read_more".to_owned(), "{\"id\": \"x}\", \"offset\": 20}".to_owned());
    assert_eq!(read.more, Some(more));
    let end = told("c\nd\n[Bytes 20 to 30 of 30: this is the end.]");
    assert_eq!((end.page().as_str(), end.more), ("c\nd", None));
    let both = told(
        "a\nb\n[Not as it was: 1 invisible character is left out.]\n[Shown: the first 3 of 9 characters, 2 of 4 lines. Read on with read_more {\"id\": \"x\", \"offset\": 3}.]",
    );
    assert_eq!((both.page().as_str(), both.more.is_some()), ("a\nb", true));
    let changed = told("a\n[Not as it was: 1 template token is broken up.]");
    assert_eq!((changed.page().as_str(), changed.more), ("a", None));
    let plain = told("a\n[not a note]");
    assert_eq!(plain.body, "[not a note]");
}

#[test]
fn values_are_found_however_they_are_worded() {
    for (text, expected) in [
        ("45", "45"),
        ("4242", "4242"),
        ("-7591.79", "-7591.79"),
        ("(12000 * 0.045) / 12 = 45", "45"),
        ("The result is 4242.", "4242"),
        ("10 / 3 ≈ 3.3333", "3.3333"),
        ("1.5e30", "1.5e30"),
        ("1/3", "1/3"),
        ("about 7,591.79 in all", "7,591.79"),
        ("nothing", "nothing"),
    ] {
        assert_eq!(value(&Told::of(text)), expected, "{text}");
    }
}
