//! What the system says about one open file or folder: kind, size, time, who it is. Read from a
//! descriptor, never from a path; opening is `beneath.rs`' work, which is next.

use std::fmt;

use rustix::fs::{FileType, Stat};

/// Facts about a file, a folder or whatever else has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of content or facts.
    pub changed: Timestamp,
    /// Permission bits, without set-user-id and its kin.
    pub permissions: u32,
    /// How many names it has.
    pub links: u64,
    /// Which file it is, whatever it is called.
    pub identity: Identity,
    /// User that owns it.
    pub owner: u32,
    /// Group that owns it.
    pub group: u32,
}

/// Device and inode number: the same for all names of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// What stands behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// The system did not say.
    Unknown,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Pipe => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Unknown => "unknown",
        })
    }
}

impl From<&Stat> for Meta {
    fn from(stat: &Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: Timestamp::new(stat.st_mtime, stat.st_mtime_nsec),
            changed: Timestamp::new(stat.st_ctime, stat.st_ctime_nsec),
            permissions: stat.st_mode & 0o777,
            #[allow(
                clippy::useless_conversion,
                clippy::unnecessary_fallible_conversions,
                reason = "the field is 32 bits wide on some targets"
            )]
            links: u64::from(stat.st_nlink),
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
            owner: stat.st_uid,
            group: stat.st_gid,
        }
    }
}

/// A point in time, to the nanosecond. Shown as ISO 8601 in UTC, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u64,
}

impl Timestamp {
    /// Seconds since 1970 in UTC, and nanoseconds after that.
    pub fn new(seconds: i64, nanoseconds: impl TryInto<u64>) -> Self {
        Self { seconds, nanoseconds: nanoseconds.try_into().unwrap_or(0) }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.seconds) {
            Ok(time) => time.fmt(out),
            // A file may bear any time.
            Err(_) => write!(out, "{} s after 1970", self.seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values by Python's `datetime.fromtimestamp(n, timezone.utc)`.
    #[test]
    fn a_time_is_shown_in_utc() {
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_796_067_665, "2026-11-30T19:41:05Z"),
            (i64::MIN, "-9223372036854775808 s after 1970"),
        ] {
            assert_eq!(Timestamp::new(seconds, 5_u64).to_string(), shown);
        }
    }
}
