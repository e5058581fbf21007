//! A log file that starts anew at 10 MiB and keeps five files: `ROLE.jsonl`, then `.1` to `.4`, the
//! oldest last. `logs/writer.rs` is its only writer.
//!
//! Two processes of one role in one folder get files of their own (`ROLE-2.jsonl`, …): a lock that
//! the kernel frees at death says which are taken.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Bytes of a file after which the next line starts a new one.
pub(super) const FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Files kept, the one being written among them.
const FILES: u32 = 5;
/// Processes of one role that can log to one folder.
const SLOTS: u32 = 64;

/// The open file and how much is in it.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
    /// Held as long as this process writes here.
    _lock: File,
}

impl RotatingFile {
    /// Opens the first file of `role` in `folder` that no other process writes, and appends to it.
    pub(super) fn open(folder: &Path, role: &str) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        for slot in 1..=SLOTS {
            let name = if slot == 1 { role.to_owned() } else { format!("{role}-{slot}") };
            let lock = private().open(folder.join(format!("{name}.lock")))?;
            match lock.try_lock() {
                Ok(()) => return Self::append(folder.join(format!("{name}.jsonl")), lock),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{SLOTS} processes of role {role} log here already")))
    }

    /// A file on a disk without space.
    #[cfg(test)]
    pub(super) fn full_disk(folder: &Path) -> Self {
        let mut file = Self::open(folder, "full").unwrap();
        file.file = private().open("/dev/full").unwrap();
        file
    }

    fn append(path: PathBuf, lock: File) -> io::Result<Self> {
        let file = private().append(true).open(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, file, written, limit: FILE_BYTES, _lock: lock })
    }

    /// Appends one line, in a new file if this one is full.
    ///
    /// # Errors
    /// What the file system says; the next line tries again.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.written > 0 && self.written + line.len() as u64 > self.limit {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.written += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..FILES).rev() {
            let from = if number == 1 { self.path.clone() } else { self.numbered(number - 1) };
            match fs::rename(from, self.numbered(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = private().append(true).open(&self.path)?;
        self.written = 0;
        Ok(())
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }
}

/// Logs may name what nobody else should see.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    use super::RotatingFile;

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.contains(".jsonl"));
        names.sort();
        names
    }

    #[test]
    fn five_files_are_kept_and_no_line_is_torn() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = RotatingFile::open(folder.path(), "gateway").unwrap();
        file.limit = 30;
        for number in 0..100 {
            file.write(format!("line {number:04}\n").as_bytes()).unwrap();
        }
        let kept = [
            "gateway.jsonl",
            "gateway.jsonl.1",
            "gateway.jsonl.2",
            "gateway.jsonl.3",
            "gateway.jsonl.4",
        ];
        assert_eq!(names(folder.path()), kept);
        // Three lines of ten bytes fill a file; the last holds the hundredth alone.
        let mut expected = 100;
        for (name, lines) in kept.iter().zip([1, 3, 3, 3, 3]) {
            let text = fs::read_to_string(folder.path().join(name)).unwrap();
            let first = expected - lines;
            let whole: Vec<_> = (first..expected).map(|n| format!("line {n:04}\n")).collect();
            assert_eq!(text, whole.concat(), "{name}");
            expected = first;
        }
    }

    #[test]
    fn a_line_longer_than_a_file_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = RotatingFile::open(folder.path(), "gateway").unwrap();
        file.limit = 5;
        file.write(b"longer than five\n").unwrap();
        file.write(b"next\n").unwrap();
        assert_eq!(fs::read(folder.path().join("gateway.jsonl.1")).unwrap(), b"longer than five\n");
    }

    #[test]
    fn a_restart_appends_and_a_second_process_gets_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("deep/logs");
        RotatingFile::open(&logs, "gateway").unwrap().write(b"before\n").unwrap();
        let mut first = RotatingFile::open(&logs, "gateway").unwrap();
        let mut second = RotatingFile::open(&logs, "gateway").unwrap();
        first.write(b"after\n").unwrap();
        second.write(b"other\n").unwrap();
        assert_eq!(names(&logs), ["gateway-2.jsonl", "gateway.jsonl"]);
        assert_eq!(fs::read(logs.join("gateway.jsonl")).unwrap(), b"before\nafter\n");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&logs), mode(&logs.join("gateway.jsonl"))), (0o700, 0o600));
    }
}
