//! Artifacts: results too large for the context, kept whole and read by page.
//!
//! [`Artifacts`] is durable before it answers, so an event may name what it was given. Which
//! results become artifacts is decided by `call::settle`; what a run may keep in all is counted by
//! the caller. Next: [`files`], the artifacts of one machine.

pub mod files;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use crate::run::ids::SessionId;

/// Name of an artifact within its session: the SHA-256 of its content, opaque to others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// The id as it travels.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ArtifactId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ArtifactId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an artifact could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The content is over the limit for one artifact.
    #[error("an artifact of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The session has no such artifact.
    #[error("the session has no artifact {0}")]
    NotFound(ArtifactId),
    /// What is stored is not what was kept.
    #[error("artifact {0} is damaged")]
    Damaged(ArtifactId),
    /// The disk is full.
    #[error("the disk of the artifacts is full")]
    Full,
    /// The store failed.
    #[error("artifacts cannot be used")]
    Io(#[source] std::io::Error),
}

/// Where artifacts are.
#[async_trait]
pub trait Artifacts: Send + Sync + 'static {
    /// Keeps `content` for a session; durable when it returns. The same content twice is kept once.
    ///
    /// # Errors
    /// `TooLarge` over [`callboard_proto::size::ARTIFACT`]; `Full` and `Io`.
    async fn put(
        &self,
        team: &str,
        session: &SessionId,
        content: Bytes,
    ) -> Result<ArtifactId, ArtifactError>;

    /// At most `limit` bytes from `offset` on, and the size of the whole. Past the end it is empty.
    ///
    /// # Errors
    /// `NotFound` for another session or team as well; `Damaged` and `Io`.
    #[expect(clippy::too_many_arguments, reason = "an owner and a page are each three words")]
    async fn read(
        &self,
        team: &str,
        session: &SessionId,
        id: &ArtifactId,
        offset: u64,
        limit: usize,
    ) -> Result<(Bytes, u64), ArtifactError>;

    /// Removes all artifacts of a session; none is no error.
    ///
    /// # Errors
    /// `Io`.
    async fn delete(&self, team: &str, session: &SessionId) -> Result<(), ArtifactError>;
}
