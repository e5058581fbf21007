//! Why discovery could not do what it was asked. Trouble that heals by itself (a lost watch, an
//! unanswered keep-alive) is no error: it shows in the views and in the log.

use std::{io, path::PathBuf};

use crate::{FolderError, InstanceId};

/// What went wrong, worded for the person who set it up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting that cannot work.
    #[error("setting `{key}` cannot work: {reason}")]
    Setting {
        /// Which one.
        key: &'static str,
        /// Why, and what would.
        reason: String,
    },
    /// The directory's folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file of the directory could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A living process holds this id.
    #[error("instance `{0}` is registered by a process that is alive: stop it or use another id")]
    Taken(InstanceId),
    /// No etcd member gave an answer.
    #[error(
        "etcd gave no answer at {endpoints} ({reason}): check that it runs and that the endpoints are right"
    )]
    Unavailable {
        /// Those that were tried.
        endpoints: String,
        /// The last failure.
        reason: String,
    },
    /// etcd refused the login.
    #[error("etcd refused the request ({reason}): check user, password and the user's role")]
    Denied {
        /// Its words.
        reason: String,
    },
    /// etcd answered with an error that no retry heals.
    #[error("etcd answered with an error: {0}")]
    Answer(String),
    /// The registration has ended.
    #[error("the registration has ended")]
    Closed,
}
