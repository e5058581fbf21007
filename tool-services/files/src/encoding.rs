//! What kind of text a file holds, or that it holds none, judged by its first bytes. Nothing is
//! decoded here: that happens line by line in `window.rs`, which is next.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, ISO_8859_2, ISO_8859_4, ISO_8859_10, ISO_8859_13, ISO_8859_15, UTF_8, UTF_16BE,
    UTF_16LE, WINDOWS_1250, WINDOWS_1252, WINDOWS_1254, WINDOWS_1257,
};

/// As many bytes as a judgement looks at.
pub const SAMPLE: usize = 64 * 1024;
/// A NUL byte as early as this means that a file is no text.
const EARLY: usize = 8 * 1024;

/// Fewer bytes than this tell one Latin alphabet badly from another.
const FEW: usize = 8;
/// Encodings that differ from windows-1252 in some accents only.
static LATIN: [&Encoding; 8] = [
    ISO_8859_2,
    ISO_8859_4,
    ISO_8859_10,
    ISO_8859_13,
    ISO_8859_15,
    WINDOWS_1250,
    WINDOWS_1254,
    WINDOWS_1257,
];

/// What a file's first bytes say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text.
    Text(TextKind),
    /// Anything else, by its usual name.
    Binary(&'static str),
}

/// How text is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextKind {
    pub(crate) encoding: &'static Encoding,
    /// Length in bytes of the mark at the start of the file.
    pub(crate) mark: u8,
    /// Whether the sample held nothing but ASCII, so that the rest may still be anything.
    pub(crate) is_open: bool,
}

impl TextKind {
    fn new(encoding: &'static Encoding, mark: u8) -> Self {
        Self { encoding, mark, is_open: false }
    }
}

/// Judges the first bytes of a file; `is_whole` says that there are no others.
pub(crate) fn judge(sample: &[u8], is_whole: bool) -> Content {
    if let Some(name) = signature(sample) {
        return Content::Binary(name);
    }
    match sample {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Content::Binary("UTF-32 text"),
        [0xef, 0xbb, 0xbf, ..] => return Content::Text(TextKind::new(UTF_8, 3)),
        [0xff, 0xfe, ..] => return Content::Text(TextKind::new(UTF_16LE, 2)),
        [0xfe, 0xff, ..] => return Content::Text(TextKind::new(UTF_16BE, 2)),
        _ => {}
    }
    let early = &sample[..sample.len().min(EARLY)];
    if early.contains(&0) {
        return utf16(early).map_or(Content::Binary("binary data"), |encoding| {
            Content::Text(TextKind::new(encoding, 0))
        });
    }
    if early.iter().filter(|byte| is_odd(**byte)).count() * 20 > early.len() {
        return Content::Binary("binary data");
    }
    Content::Text(eight_bit(sample, is_whole))
}

/// The label of the encoding of text that is no UTF-8, by a file's first bytes; `None` for UTF-8
/// and for what is no text. `is_whole` says that the file has no other bytes.
pub fn label(sample: &[u8], is_whole: bool) -> Option<&'static str> {
    match judge(sample, is_whole) {
        Content::Text(kind) if kind.encoding != UTF_8 => Some(kind.encoding.name()),
        Content::Text(_) | Content::Binary(_) => None,
    }
}

/// The likeliest encoding of bytes that are no UTF-8.
pub(crate) fn guess(bytes: &[u8], is_whole: bool) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, is_whole);
    let guess = detector.guess(None, Utf8Detection::Deny);
    // A handful of accents fits every Latin alphabet: then the most common one is meant.
    let accents = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let is_possible = !bytes.iter().any(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d));
    if accents < FEW && is_possible && LATIN.contains(&guess) {
        return WINDOWS_1252;
    }
    guess
}

fn eight_bit(sample: &[u8], is_whole: bool) -> TextKind {
    if sample.is_ascii() {
        return TextKind { is_open: !is_whole, ..TextKind::new(UTF_8, 0) };
    }
    let (mut wide, mut broken) = (0_usize, 0_usize);
    for chunk in sample.utf8_chunks() {
        wide += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    // The sample may end inside a character, and a few broken bytes do not make another encoding.
    let cut = usize::from(
        !is_whole && std::str::from_utf8(sample).is_err_and(|e| e.error_len().is_none()),
    );
    if (broken - cut.min(broken)) * 10 <= wide {
        return TextKind::new(UTF_8, 0);
    }
    TextKind::new(guess(sample, is_whole), 0)
}

/// UTF-16 without a mark: mostly Latin text has its zeros on one side only.
fn utf16(sample: &[u8]) -> Option<&'static Encoding> {
    let zeros = |side: usize| sample.iter().skip(side).step_by(2).filter(|b| **b == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    let encoding = if odd * 10 > pairs * 4 && even * 20 < pairs {
        UTF_16LE
    } else if even * 10 > pairs * 4 && odd * 20 < pairs {
        UTF_16BE
    } else {
        return None;
    };
    let (text, is_broken) = encoding.decode_without_bom_handling(sample);
    let is_text = !text.chars().any(|character| u8::try_from(character).is_ok_and(is_odd));
    (!is_broken && is_text).then_some(encoding)
}

/// Control characters that text does not have.
fn is_odd(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b))
}

/// Formats that start with bytes of their own.
fn signature(sample: &[u8]) -> Option<&'static str> {
    const KNOWN: [(usize, &[u8], &str); 25] = [
        (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
        (0, b"\xff\xd8\xff", "JPEG image"),
        (0, b"GIF87a", "GIF image"),
        (0, b"GIF89a", "GIF image"),
        (8, b"WEBP", "WebP image"),
        (8, b"WAVE", "WAV audio"),
        (0, b"%PDF-", "PDF document"),
        (0, b"PK\x03\x04", "ZIP archive (or an office document)"),
        (0, b"PK\x05\x06", "ZIP archive without entries"),
        (0, b"\x1f\x8b", "gzip data"),
        (0, b"BZh", "bzip2 data"),
        (0, b"\xfd7zXZ\0", "xz data"),
        (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
        (0, b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (0, b"\x7fELF", "ELF program or library"),
        (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
        (0, b"\0asm", "WebAssembly module"),
        (0, b"SQLite format 3\0", "SQLite database"),
        (0, b"OggS", "Ogg media"),
        (0, b"fLaC", "FLAC audio"),
        (0, b"ID3", "MP3 audio"),
        (4, b"ftyp", "MP4 media"),
        (0, b"\xca\xfe\xba\xbe", "Java class"),
        (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old office document"),
        (257, b"ustar", "tar archive"),
    ];
    let known = KNOWN.iter().find(|(at, bytes, name)| {
        let matches = sample.get(*at..).is_some_and(|rest| rest.starts_with(bytes));
        // Short marks that text could start with count only where there is no text.
        matches
            && (bytes.len() > 4
                || sample.iter().any(|b| is_odd(*b) || *b >= 0x80)
                || name.is_empty())
    });
    known.map(|(_, _, name)| *name)
}

#[cfg(test)]
mod tests {
    use encoding_rs::GBK;

    use super::*;

    fn text(encoding: &'static Encoding, mark: u8) -> Content {
        Content::Text(TextKind::new(encoding, mark))
    }

    /// The bytes were written down by Python's codecs.
    #[test]
    fn text_is_known_by_its_bytes() {
        for (bytes, expected) in [
            (&b""[..], text(UTF_8, 0)),
            (b"plain\n", text(UTF_8, 0)),
            ("naïve 中文".as_bytes(), text(UTF_8, 0)),
            (b"\xef\xbb\xbfmarked", text(UTF_8, 3)),
            (b"\xff\xfea\0\n\0", text(UTF_16LE, 2)),
            (b"\xfe\xff\0a\0\n", text(UTF_16BE, 2)),
            (b"h\0e\0l\0l\0o\0\n\0", text(UTF_16LE, 0)),
            (b"\0h\0e\0l\0l\0o\0\n", text(UTF_16BE, 0)),
            (b"na\xefve", text(WINDOWS_1252, 0)),
            (b"caf\xe9 menu\nprice = 1\nna\xefve\n", text(WINDOWS_1252, 0)),
            (b"// \xcb\xb5\xc3\xf7\xa3\xba\xbc\xdb\xb8\xf1\xb1\xed\nint a = 1;\n// \xbd\xe1\xca\xf8\n", text(GBK, 0)),
        ] {
            assert_eq!(judge(bytes, true), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_named() {
        for (bytes, name) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "PNG image"),
            (b"%PDF-1.7\n", "PDF document"),
            (b"PK\x03\x04\x14\0", "ZIP archive (or an office document)"),
            (b"\x7fELF\x02\x01\x01\0", "ELF program or library"),
            (b"RIFF\x10\0\0\0WAVEfmt ", "WAV audio"),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32 text"),
            (b"a\0\0\0\0b", "binary data"),
            (b"\x01\x02\x03\x04", "binary data"),
        ] {
            assert_eq!(judge(bytes, true), Content::Binary(name), "{bytes:?}");
        }
        assert_eq!(judge(b"ID3 tags are described here.\n", true), text(UTF_8, 0));
    }

    #[test]
    fn a_sample_may_end_inside_a_character() {
        let long = "中".repeat(30_000);
        assert_eq!(judge(&long.as_bytes()[..SAMPLE], false), text(UTF_8, 0));
    }

    #[test]
    fn one_broken_byte_among_many_does_not_change_the_encoding() {
        let mut bytes = "中文 text ".repeat(50).into_bytes();
        bytes.extend_from_slice(b"\xff and more");
        assert_eq!(judge(&bytes, true), text(UTF_8, 0));
    }
}
