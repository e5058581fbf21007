//! How names and lines are shown: names are bytes, so whatever is no plain text is escaped and can
//! neither fake a line of output nor hide in it. Which names exist is not decided here; paths are
//! in `relative.rs`, which is next.

use std::fmt::{self, Write};

/// A file name or path as people and models see it. UTF-8 is kept; bytes that are none become
/// `\xHH`, control and invisible characters `\u{HEX}`, a backslash `\\`.
///
/// ```
/// use callboard_files::shown::Shown;
/// assert_eq!(Shown(b"caf\xe9 \x1b[31m.txt").to_string(), r"caf\xe9 \u{1b}[31m.txt");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => out.write_str(r"\\")?,
                    hidden if is_hidden(hidden) => write!(out, "{}", hidden.escape_unicode())?,
                    plain => out.write_char(plain)?,
                }
            }
            for byte in chunk.invalid() {
                write!(out, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// A line of text with control and invisible characters escaped, and bytes that are no UTF-8; tabs
/// and backslashes stay.
pub fn line(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character != '\t' && is_hidden(character) {
                shown.extend(character.escape_unicode());
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// The bytes behind a name as [`Shown`] prints it, if it holds a complete escape.
pub fn unescape(shown: &str) -> Option<Vec<u8>> {
    if !shown.contains('\\') {
        return None;
    }
    let mut bytes = Vec::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((plain, escape)) = rest.split_once('\\') {
        bytes.extend_from_slice(plain.as_bytes());
        if let Some(after) = escape.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = after;
        } else if let Some(after) = escape.strip_prefix('x') {
            let digits = after.get(..2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            let (digits, after) = escape.strip_prefix("u{")?.split_once('}')?;
            let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = after;
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// Control characters, and those that take no room or turn the reading direction.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e01ef}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_leads_back_to_the_bytes() {
        for name in [
            &b"plain.txt"[..],
            "ünïcode с пробелом.md".as_bytes(),
            b"caf\xe9.txt",
            b"a\nb",
            "evil\u{202e}txt.exe".as_bytes(),
            br"back\slash",
            br"\x41",
            b"\xff\xfe",
        ] {
            let shown = Shown(name).to_string();
            let back = unescape(&shown).unwrap_or_else(|| shown.clone().into_bytes());
            assert_eq!(back, name, "{shown}");
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
    }

    #[test]
    fn half_an_escape_is_no_escape() {
        for text in [r"a\", r"a\x4", r"a\xzz", r"a\u{110000}", r"a\u{41", r"a\n", "plain", r"\xü"]
        {
            assert_eq!(unescape(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_keeps_its_text_and_shows_what_hides() {
        assert_eq!(line("a\tb \\ 中".as_bytes()), "a\tb \\ 中");
        assert_eq!(line("a\u{202e}b\r".as_bytes()), "a\\u{202e}b\\u{d}");
        assert_eq!(line(b"caf\xe9"), r"caf\xe9");
    }
}
