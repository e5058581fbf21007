//! What can be in the way of a path. How that is told to a model is in `workspace.rs`.

use rustix::io::Errno;

use crate::{meta::Kind, relative::RelativePath, shown::Shown};

/// Why the wall did not open something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WallError {
    /// The path is empty or holds a NUL byte.
    #[error("{reason}")]
    Malformed {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path leads out of the workspace.
    #[error("{} lies outside the workspace", Shown(.written))]
    Outside {
        /// The path as written.
        written: Vec<u8>,
    },
    /// A link on the way leads out of the workspace.
    #[error("{link} is a link that leads out of the workspace")]
    LinkOutside {
        /// The link.
        link: RelativePath,
    },
    /// A link where none is followed.
    #[error("{path} is or goes through a symbolic link")]
    Link {
        /// The link, or the path that meets it.
        path: RelativePath,
    },
    /// Links that lead in a circle, or more than 40 of them.
    #[error("too many symbolic links on the way to {path}")]
    TooManyLinks {
        /// Where it was given up.
        path: RelativePath,
    },
    /// Nothing has this name.
    #[error("{path} does not exist")]
    NotFound {
        /// The first part of the path that is missing.
        path: RelativePath,
    },
    /// A folder is needed.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// What is none.
        path: RelativePath,
    },
    /// A regular file is needed.
    #[error("{path} is a {kind}")]
    NotAFile {
        /// What is none.
        path: RelativePath,
        /// What it is.
        kind: Kind,
    },
    /// The operating system denies it to this service.
    #[error("no permission for {path}")]
    Denied {
        /// What may not be opened.
        path: RelativePath,
    },
    /// Another file system is mounted there.
    #[error("{path} lies on another file system")]
    OtherFileSystem {
        /// What lies elsewhere.
        path: RelativePath,
    },
    /// A name of more than 255 bytes, or a path of more than 4,095.
    #[error("the name is too long")]
    NameTooLong,
    /// The names changed again and again while they were being resolved.
    #[error("{path} keeps changing")]
    Unsettled {
        /// What does not hold still.
        path: RelativePath,
    },
    /// The kernel has no `openat2`, so there is no wall.
    #[error("this kernel has no openat2")]
    NoWall,
    /// Anything else that the system says.
    #[error("{path}: {errno}")]
    System {
        /// What it was about.
        path: RelativePath,
        /// What the system says.
        errno: Errno,
    },
    /// The call was cancelled.
    #[error("cancelled")]
    Stopped,
}

impl WallError {
    pub(crate) fn from_errno(errno: Errno, path: &RelativePath) -> Self {
        let path = path.clone();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::NOTDIR => Self::NotAFolder { path },
            Errno::LOOP => Self::Link { path },
            Errno::ACCESS | Errno::PERM => Self::Denied { path },
            // No step climbs and no link is followed, so only a mount point is left.
            Errno::XDEV => Self::OtherFileSystem { path },
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::AGAIN => Self::Unsettled { path },
            Errno::NOSYS => Self::NoWall,
            // What opening a socket or an absent device says.
            Errno::NXIO | Errno::NODEV => Self::NotAFile { path, kind: Kind::Socket },
            errno => Self::System { path, errno },
        }
    }
}
