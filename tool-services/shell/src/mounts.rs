//! Where file systems are mounted, as the kernel lists it for this process.
//!
//! Left to others: what to do about them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Where file systems are mounted below `path`, from it; `list` is a `mountinfo` of `/proc`.
pub(crate) fn below(list: &Path, path: &Path) -> Vec<OsString> {
    let mounts = std::fs::read(list).unwrap_or_default();
    let points = mounts.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        let point = PathBuf::from(OsString::from_vec(unescaped(point)));
        Some(point.strip_prefix(path).ok()?.as_os_str().to_owned())
    });
    points.filter(|point| !point.is_empty()).collect()
}

/// Undoes the kernel's way to write a space, a tab, a newline or a backslash: `\040`.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_below_a_folder_are_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let list = "21 1 8:1 / / rw - ext4 /dev/a rw\n\
                    22 21 0:5 / /w rw - tmpfs t rw\n\
                    23 22 0:6 / /w/a\\040b rw - tmpfs t rw\n\
                    24 21 0:7 / /work rw - tmpfs t rw\n";
        std::fs::write(file.path(), list).unwrap();
        assert_eq!(below(file.path(), Path::new("/w")), ["a b"]);
        assert_eq!(below(file.path(), Path::new("/")), ["w", "w/a b", "work"]);
    }

    #[test]
    fn names_are_read_as_the_kernel_writes_them() {
        assert_eq!(unescaped(b"/a\\040b\\134c"), b"/a b\\c");
        assert_eq!(unescaped(b"/a\\9"), b"/a\\9");
        assert_eq!(unescaped(b"/a\\04"), b"/a\\04");
    }
}
