use std::io::Write;

use super::*;
use crate::pattern::compile;

fn scan(text: impl AsRef<[u8]>, pattern: &str, context: usize, limit: u64) -> Scanned {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_ref()).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let (matcher, stop) = (compile(pattern, true, false).unwrap(), CancellationToken::new());
    let mut scanner = Scanner::new(&matcher, !pattern.is_ascii(), context, limit, &stop);
    scanner.scan(file).unwrap()
}

fn lines(scanned: &Scanned) -> Vec<String> {
    let row = |line: &Line| {
        format!("{}{}{}", line.number, if line.is_match { ':' } else { '-' }, line.text)
    };
    scanned.hits.lines.iter().map(row).collect()
}

#[test]
fn lines_are_found_with_their_numbers() {
    let found = scan("one\ntwo fish\r\nthree\nno fish", "fish", 0, 100);
    assert_eq!(lines(&found), ["2:two fish", "4:no fish"]);
    assert_eq!(found.hits.matches, 2);
    assert!(lines(&scan("", "fish", 0, 100)).is_empty());
    // Two in one line are one match: what is counted is lines.
    assert_eq!(scan("fish fish\n", "fish", 0, 100).hits.matches, 1);
}

#[test]
fn lines_beside_a_match_belong_to_it_and_to_no_other() {
    let text = "a\nb\nX1\nc\nd\ne\nf\nX2\ng\nh\ni\nX3\nj\n";
    let found = scan(text, "X", 1, 100);
    let expected = ["2-b", "3:X1", "4-c", "7-f", "8:X2", "9-g", "11-i", "12:X3", "13-j"];
    assert_eq!(lines(&found), expected);
    let found = scan(text, "X", 1, 2);
    assert_eq!(lines(&found), expected[..6]);
    assert_eq!(found.hits.matches, 3, "all are counted");
}

#[test]
fn a_long_line_is_shown_around_its_match() {
    let long = format!("{}needle{}\n", "中".repeat(1_000), "é".repeat(1_000));
    let found = scan(long, "needle", 0, 100);
    let text = &found.hits.lines[0].text;
    assert!(text.starts_with("…中") && text.contains("needle") && text.ends_with("é…"), "{text}");
    assert!(text.len() <= SHOWN + 6 && !text.contains("\\x"), "{text}");
    let start = format!("needle{}\n", "x".repeat(1_000));
    assert!(scan(start, "needle", 0, 100).hits.lines[0].text.starts_with("needlexxx"));
}

#[test]
fn bytes_that_are_no_text_are_escaped() {
    let found = scan(b"caf\xe9 \x1b[31mred\n", "red", 0, 100);
    assert_eq!(lines(&found), [r"1:caf\xe9 \u{1b}[31mred"]);
}

#[test]
fn a_binary_file_is_told_and_not_shown() {
    let found = scan(b"needle\0needle\n", "needle", 0, 100);
    assert!(found.is_binary);
    assert!(found.hits.lines.iter().all(|line| !line.text.contains("\\u{0}")), "{found:?}");
}

#[test]
fn words_are_found_in_other_encodings() {
    let gbk = b"// \xcb\xb5\xc3\xf7\xa3\xba\xbc\xdb\xb8\xf1\xb1\xed\nint a = 1;\n";
    assert_eq!(lines(&scan(gbk, "价格", 0, 100)), ["1:// 说明：价格表"]);
    let utf16: Vec<u8> = "\u{feff}eins\nzwei\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(lines(&scan(utf16, "zwei", 0, 100)), ["2:zwei"]);
}

#[test]
fn a_line_without_end_is_no_reason_to_eat_the_memory() {
    let file = tempfile::tempfile().unwrap();
    let line = vec![b'x'; 1024 * 1024];
    for _ in 0..10 {
        (&file).write_all(&line).unwrap();
    }
    (&file).seek(SeekFrom::Start(0)).unwrap();
    let (matcher, stop) = (compile("y", false, false).unwrap(), CancellationToken::new());
    assert!(Scanner::new(&matcher, false, 0, 1, &stop).scan(file).is_err());
}

#[test]
fn a_stopped_scan_ends() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"needle\n").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let (matcher, stop) = (compile("needle", false, false).unwrap(), CancellationToken::new());
    stop.cancel();
    assert!(Scanner::new(&matcher, false, 0, 1, &stop).scan(file).is_err());
}

#[test]
fn a_cut_falls_between_characters() {
    let text = "aé中𝄞".as_bytes();
    let starts = [0, 1, 3, 6];
    for at in 0..text.len() {
        let expected = starts.iter().copied().filter(|start| *start <= at).max().unwrap();
        assert_eq!(boundary(text, at), expected, "{at}");
    }
    assert_eq!(boundary(text, 99), text.len());
    assert_eq!(boundary(&[0x80; 20], 10), 10, "bytes that are no text are cut anywhere");
}
