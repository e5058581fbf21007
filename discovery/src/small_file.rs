//! Reads a small text file whole: configuration, secrets. Never more of it than agreed, only UTF-8, and
//! only from a regular file: a pipe would be waited for, and a device has no end.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A larger file holds no secret, in bytes.
pub const SECRET_LIMIT: u64 = 64 * 1024;

/// The text of a regular file of at most `limit` bytes. Blocks on the file.
///
/// # Errors
/// What the file system says; `InvalidData` with words for a person where it is no regular file,
/// larger, or no UTF-8.
pub fn read(path: &Path, limit: u64) -> io::Result<String> {
    let wrong = |words: String| io::Error::new(io::ErrorKind::InvalidData, words);
    // Asked before it is opened: opening a pipe waits for its other end, opening a device may do
    // anything.
    if !std::fs::metadata(path)?.is_file() {
        return Err(wrong("it is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(wrong(format!("it is larger than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let looks_like_utf_16 = matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let what = if looks_like_utf_16 { "it is UTF-16" } else { "it is no UTF-8 text" };
        wrong(format!("{what}: save it as UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_too_large_or_no_text_is_said_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for (content, read_as) in [
            (&b"12345678"[..], Ok("12345678")),
            (b"\xef\xbb\xbfx", Ok("\u{feff}x")),
            (b"123456789", Err("it is larger than 8 bytes")),
            (b"\xff\xfea\0b\0", Err("it is UTF-16: save it as UTF-8")),
            (b"a\xffb", Err("it is no UTF-8 text: save it as UTF-8")),
        ] {
            std::fs::write(&path, content).unwrap();
            let found = read(&path, 8).map_err(|error| error.to_string());
            assert_eq!(found, read_as.map(str::to_owned).map_err(str::to_owned));
        }
    }

    #[test]
    fn a_pipe_a_device_and_a_folder_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [&pipe, Path::new("/dev/zero"), folder.path()] {
            let error = read(path, 8).unwrap_err();
            assert_eq!(error.to_string(), "it is no regular file", "{}", path.display());
        }
    }
}
