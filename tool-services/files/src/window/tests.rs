use std::io::Write;

use encoding_rs::{GBK, UTF_8, WINDOWS_1252};

use super::*;

const ALL: Wanted =
    Wanted { line: 1, column: 1, lines: u64::MAX, characters: 16_000, bytes: 64_000 };

fn kind(encoding: &'static encoding_rs::Encoding, mark: u8, is_open: bool) -> TextKind {
    TextKind { encoding, mark, is_open }
}

fn read_from(bytes: &[u8], kind: TextKind, wanted: Wanted) -> (Window, TextKind) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    read(&mut file, kind, wanted, &CancellationToken::new()).unwrap()
}

fn utf8(text: &str, wanted: Wanted) -> Window {
    read_from(text.as_bytes(), kind(UTF_8, 0, false), wanted).0
}

fn window(text: &str, last: u64, next: Option<Next>, total: u64) -> Window {
    Window { text: text.to_owned(), last, next, total: Total::Exactly(total), is_broken: false }
}

#[test]
fn lines_are_counted_as_wc_does_plus_an_unterminated_one() {
    for (text, lines) in [
        ("", 0),
        ("\n", 1),
        ("a", 1),
        ("a\n", 1),
        ("a\nb", 2),
        ("a\nb\n", 2),
        ("\n\n\n", 3),
        ("a\r\nb\r\n", 2),
        ("a\rb", 1),
    ] {
        assert_eq!(utf8(text, ALL), window(text, lines, None, lines), "{text:?}");
    }
}

#[test]
fn a_window_starts_and_ends_where_it_is_told_to() {
    let text = "one\ntwo\nthree\nfour\nfive";
    for (line, lines, expected) in [
        (1, 2, window("one\ntwo\n", 2, Some(Next::Line(3)), 5)),
        (3, 2, window("three\nfour\n", 4, Some(Next::Line(5)), 5)),
        (5, 2, window("five", 5, None, 5)),
        (4, 2, window("four\nfive", 5, None, 5)),
        (6, 2, window("", 5, None, 5)),
        (99, 2, window("", 98, None, 5)),
        (u64::MAX, u64::MAX, window("", u64::MAX - 1, None, 5)),
    ] {
        assert_eq!(utf8(text, Wanted { line, lines, ..ALL }), expected, "{line}, {lines}");
    }
    // Nothing follows the last line end, so there is nothing to go on with.
    assert_eq!(utf8("a\nb\n", Wanted { lines: 2, ..ALL }), window("a\nb\n", 2, None, 2));
    assert_eq!(utf8("a\nb\n", Wanted { line: 3, ..ALL }), window("", 2, None, 2));
}

#[test]
fn only_whole_lines_are_given_as_long_as_there_is_one() {
    let text = "aaaa\nbbbb\ncccc\n";
    let wanted = |characters| Wanted { characters, ..ALL };
    assert_eq!(utf8(text, wanted(12)), window("aaaa\nbbbb\n", 2, Some(Next::Line(3)), 3));
    assert_eq!(utf8(text, wanted(10)), window("aaaa\nbbbb\n", 2, Some(Next::Line(3)), 3));
    assert_eq!(utf8(text, wanted(9)), window("aaaa\n", 1, Some(Next::Line(2)), 3));
    assert_eq!(utf8(text, wanted(3)), window("aaa", 1, Some(Next::Column(4)), 3));
    assert_eq!(utf8(text, wanted(15)), window(text, 3, None, 3));
}

#[test]
fn a_long_line_is_read_piece_by_piece_to_its_end() {
    let line: String = (b'a'..=b'z').cycle().take(10_000).map(char::from).collect();
    let text = format!("first\n{line}\nlast\n");
    let (mut read, mut column) = (String::new(), 1);
    let wanted = Wanted { line: 2, characters: 3_000, ..ALL };
    for _ in 0..3 {
        let piece = utf8(&text, Wanted { column, ..wanted });
        let Some(Next::Column(next)) = piece.next else { panic!("{:?}", piece.next) };
        assert_eq!(piece.text.len(), 3_000);
        read += &piece.text;
        column = next;
    }
    assert_eq!(column, 9_001);
    let end = utf8(&text, Wanted { column, ..wanted });
    assert_eq!(end, window(&format!("{}\nlast\n", &line[9_000..]), 3, None, 3));
    read += &end.text[..1_000];
    assert_eq!(read, line);
    // A column behind the end of a line shows its end.
    assert_eq!(utf8("ab\ncd\n", Wanted { column: 9, ..ALL }), window("\ncd\n", 2, None, 2));
}

#[test]
fn a_character_is_never_cut() {
    let text = "中".repeat(40_000);
    let by_characters = utf8(&text, ALL);
    assert_eq!(by_characters.text, "中".repeat(16_000));
    assert_eq!(by_characters.next, Some(Next::Column(16_001)));
    let by_bytes = utf8(&text, Wanted { bytes: 100, ..ALL });
    assert_eq!(by_bytes.text, "中".repeat(33));
}

#[test]
fn other_encodings_are_decoded_and_counted() {
    let utf16 = |big: bool| -> Vec<u8> {
        let units = "\u{feff}héllo\n上\u{a0a}\nend".encode_utf16();
        units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let text = "héllo\n上\u{a0a}\nend";
    for (bytes, kind) in
        [(utf16(false), kind(UTF_16LE, 2, false)), (utf16(true), kind(UTF_16BE, 2, false))]
    {
        assert_eq!(read_from(&bytes, kind, ALL).0, window(text, 3, None, 3));
        let second = read_from(&bytes, kind, Wanted { line: 2, lines: 1, ..ALL }).0;
        assert_eq!(second, window("上\u{a0a}\n", 2, Some(Next::Line(3)), 3));
    }
    let gbk = b"// \xcb\xb5\xc3\xf7\n\xbd\xe1\xca\xf8\n";
    assert_eq!(read_from(gbk, kind(GBK, 0, false), ALL).0, window("// 说明\n结束\n", 2, None, 2));
    let marked = b"\xef\xbb\xbfa\nb";
    assert_eq!(read_from(marked, kind(UTF_8, 3, false), ALL).0, window("a\nb", 2, None, 2));
}

#[test]
fn what_looked_like_ascii_may_turn_out_to_be_another_encoding() {
    let mut bytes = "plain line\n".repeat(10_000).into_bytes();
    bytes.extend_from_slice(b"caf\xe9 menu, na\xefve, se\xf1or\n");
    let wanted = Wanted { line: 10_000, ..ALL };
    let (found, kind) = read_from(&bytes, kind(UTF_8, 0, true), wanted);
    assert_eq!(kind.encoding, WINDOWS_1252);
    assert_eq!(found, window("plain line\ncafé menu, naïve, señor\n", 10_001, None, 10_001));
}

#[test]
fn bytes_that_fit_no_encoding_are_said() {
    let (found, _) = read_from(b"a\xffb\n", kind(UTF_8, 0, false), ALL);
    assert_eq!(found, Window { is_broken: true, ..window("a\u{fffd}b\n", 1, None, 1) });
}

#[test]
fn windows_are_right_wherever_a_chunk_ends() {
    // Lines of many lengths, so that line ends and characters fall on every side of a chunk's end.
    let lines: Vec<String> =
        (0..4_000_usize).map(|number| format!("{number}{}\n", "é中".repeat(number % 37))).collect();
    let text = lines.concat();
    assert!(text.len() > 3 * CHUNK);
    for line in (1..4_000).step_by(97) {
        let wanted = Wanted { line: line as u64, lines: 3, ..ALL };
        let expected = lines[line - 1..(line + 2).min(4_000)].concat();
        let found = utf8(&text, wanted);
        assert_eq!(found.text, expected, "{line}");
        assert_eq!(found.total, Total::Exactly(4_000));
    }
}

#[test]
fn a_stopped_read_ends() {
    let mut file = tempfile::tempfile().unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let error = read(&mut file, kind(UTF_8, 0, false), ALL, &stop).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted);
}
