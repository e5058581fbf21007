//! The journal: the append-only events of all sessions, and the only truth about a session.
//!
//! [`Journal`] is what the session actors know of it; they hand events over in order and never
//! wait. Who may append is decided here, by the epoch that a partition was last claimed with. What
//! the events mean is left to `run`. What every backend stores alike is in the files beside this
//! one, from `prepared` on. Then: [`sqlite`], the journal of one machine, and [`postgres`], that of
//! a cluster.

mod prepared;
mod queue;
mod row;
mod blob;
mod convert;
mod chain;
mod walk;
mod fault;
mod health;
pub mod config;
pub mod sqlite;
pub mod postgres;
#[cfg(test)]
mod generate;

use std::fmt;

use async_trait::async_trait;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

pub use self::health::Health;
use crate::run::event::{Recorded, SessionKind};
use crate::run::ids::SessionId;

/// Version of what the payloads of events mean that this program writes, and the highest that it
/// reads.
pub const PAYLOAD_SCHEMA: u32 = convert::SCHEMA;

/// Fencing number of a partition's owner; ordered by generation, then revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch {
    /// Generation of the deployment; an operator raises it after discovery was restored from a
    /// backup.
    pub generation: u64,
    /// Revision of the claim, as discovery gave it.
    pub revision: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.generation, self.revision)
    }
}

/// What a session waits for, so that its owner knows whether to wake it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionState {
    /// Nothing: the next input wakes it.
    #[default]
    Idle,
    /// It has work to do; whoever owns it must go on.
    Active,
    /// A person or a moment.
    Waiting,
}

/// Events of one turn of one session, appended together or not at all.
#[derive(Clone, Debug)]
pub struct Append {
    /// The session.
    pub session: SessionId,
    /// Its partition.
    pub partition: u32,
    /// Epoch under which the session's actor was woken.
    pub epoch: Epoch,
    /// Names the append, so that a repeat after an unclear answer changes nothing.
    pub append_id: Uuid,
    /// Sequence number of the first event; the session's last one plus 1.
    pub expected_seq: u64,
    /// The events, numbered from `expected_seq` on; the first one of a session opens it. Empty
    /// only changes `state` and `wake_at_ms`.
    pub events: Vec<Recorded>,
    /// State of the session after them.
    pub state: SessionState,
    /// When to wake the session, Unix time in milliseconds.
    pub wake_at_ms: Option<i64>,
}

/// Why an append is not in the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another owner has claimed the partition: stop acting for it.
    #[error("another owner has claimed the partition")]
    Fenced,
    /// The session is not where the caller thinks it is: fold it anew.
    #[error("the session has other events than expected")]
    Conflict,
    /// The disk is full; nothing is lost, try later.
    #[error("the journal's disk is full: {0}")]
    Full(String),
    /// The journal's server does not answer. Whether this append is in it is known once it does;
    /// a read from the start waits for that.
    #[error("the journal does not answer: {0}")]
    Unreachable(String),
    /// The journal takes no more appends. Whether this one is in it cannot be said.
    #[error("the journal is closed")]
    Closed,
    /// The journal could not take it; nothing was written.
    #[error("the journal refused an append: {0}")]
    Backend(String),
}

/// Why the journal cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The session's rows were changed or lost; other sessions are not affected.
    #[error("session {session} is damaged at event {seq}: {what}")]
    Damaged {
        /// The session.
        session: SessionId,
        /// First event that cannot be trusted.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// The session holds an event that this version does not know; a newer one wrote it.
    #[error("event {seq} of session {session} cannot be understood: {what}")]
    Unknown {
        /// The session.
        session: SessionId,
        /// The event.
        seq: u64,
        /// What is not known.
        what: String,
    },
    /// Another process holds the journal.
    #[error("the journal {path} is in use by {holder}; stop it or choose another state folder")]
    InUse {
        /// Where the journal is.
        path: String,
        /// Who holds it, such as `process 4711`.
        holder: String,
    },
    /// A newer version of the program wrote the journal.
    #[error("the journal has schema {found}, this program knows up to {known}; use a newer one")]
    Newer {
        /// Schema found.
        found: u32,
        /// Newest schema known.
        known: u32,
    },
    /// Another deployment keeps its sessions there.
    #[error(
        "the journal {place} belongs to another deployment ({found}, this one is {asked}): give \
         each a database of its own in `orchestrator.journal.url`; if this one takes the other's \
         place, because its etcd was lost, stop the other for good and run `callboard journal \
         raise-generation` once with the settings of this one"
    )]
    OtherDeployment {
        /// Where the journal is.
        place: String,
        /// The deployment that it belongs to.
        found: String,
        /// The one that asked.
        asked: String,
    },
    /// The journal as a whole cannot be used.
    #[error("the journal {path} cannot be used: {what}")]
    Unusable {
        /// Where the journal is.
        path: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// The journal's server does not answer; nothing is lost, try later.
    #[error("the journal does not answer: {0}")]
    Unreachable(String),
    /// The disk is full.
    #[error("the journal's disk is full: {0}")]
    Full(String),
    /// The journal is closed.
    #[error("the journal is closed")]
    Closed,
    /// The backend failed.
    #[error("the journal failed: {0}")]
    Backend(String),
}

/// A session as the journal lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub id: SessionId,
    /// Its partition.
    pub partition: u32,
    /// Team that it belongs to.
    pub team: String,
    /// What it is for.
    pub kind: SessionKind,
    /// Name of the agent.
    pub agent: String,
    /// Title; may be empty.
    pub title: String,
    /// What it waits for.
    pub state: SessionState,
    /// When to wake it, Unix time in milliseconds.
    pub wake_at_ms: Option<i64>,
    /// Number of its last event.
    pub last_seq: u64,
    /// Wall time of its first event, Unix time in milliseconds.
    pub opened_ms: i64,
    /// Wall time of its last event, Unix time in milliseconds.
    pub updated_ms: i64,
}

/// Something that is wrong with the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The session, where the fault is in one.
    pub session: Option<SessionId>,
    /// First event of it that cannot be trusted.
    pub seq: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// What `doctor` finds out about a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Where it is, as it may be shown.
    pub place: String,
    /// What is wrong, in the order found.
    pub damages: Vec<Damage>,
    /// What is not wrong and could be better.
    pub warnings: Vec<String>,
}

/// Where the events of all sessions are.
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Claims partitions for `owner`, an incarnation, under the epochs that discovery gave; gives
    /// those accepted. An epoch older than the last one claimed is not; the same one only from the
    /// same owner. To be done before anything else in a partition.
    ///
    /// # Errors
    /// `Closed`, `Full`, `Unreachable` and `Backend`; then no partition was claimed, or the claim
    /// can be repeated.
    async fn claim(
        &self,
        partitions: &[(u32, Epoch)],
        owner: &str,
    ) -> Result<Vec<u32>, JournalError>;

    /// Makes the journal the deployment's, named by its id, unless it is another's. To be done
    /// before anything is claimed. A journal that only one process can have belongs to whoever has
    /// it.
    ///
    /// # Errors
    /// `OtherDeployment`; `Closed`, `Full`, `Unreachable` and `Backend`.
    async fn belong(&self, deployment: &str) -> Result<(), JournalError>;

    /// The deployment's generation, for epochs.
    ///
    /// # Errors
    /// `Closed`, `Unreachable` and `Backend`.
    async fn generation(&self) -> Result<u64, JournalError>;

    /// Number of partitions that sessions are spread over; fixed when the journal was made.
    ///
    /// # Errors
    /// `Closed`, `Unreachable` and `Backend`.
    async fn partitions(&self) -> Result<u32, JournalError>;

    /// Counts how often the journal came back as another one than it was claimed in, such as a
    /// standby that was promoted and may lack what was told. Nothing that was claimed before can be
    /// appended to: all of it is to be claimed anew, and every session folded anew.
    fn replaced(&self) -> watch::Receiver<u64>;

    /// Whether appends are taken now. After [`Health::Failed`] the process must end: only who opens
    /// the journal anew knows what is in it.
    fn health(&self) -> watch::Receiver<Health>;

    /// Hands events over, without waiting. The answer, the session's last sequence number, comes
    /// once they are durable; appends of one session are done in the order of their submission,
    /// and one that fails takes those after it along. Dropping the receiver changes nothing; a
    /// sender that was dropped means `Closed`.
    fn submit(&self, append: Append) -> oneshot::Receiver<Result<u64, AppendError>>;

    /// At most `limit` events of a session after number `after`, checked against the hash chain.
    /// An unknown session has none. A read from the start waits for what was submitted before it,
    /// so that a session that is folded anew misses nothing.
    ///
    /// # Errors
    /// `Damaged` and `Unknown` concern this session only; `Closed`, `Unreachable` and `Backend`.
    async fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError>;

    /// One session.
    ///
    /// # Errors
    /// `Damaged` concerns this session only; `Closed`, `Unreachable` and `Backend`.
    async fn session(&self, session: &SessionId) -> Result<Option<SessionRow>, JournalError>;

    /// At most `limit` sessions of a team, the last opened first. Damaged ones are left out.
    ///
    /// # Errors
    /// `Closed`, `Unreachable` and `Backend`.
    async fn sessions(&self, team: &str, limit: usize) -> Result<Vec<SessionRow>, JournalError>;

    /// The sessions of these partitions that have work to do. Damaged ones are left out.
    ///
    /// # Errors
    /// `Closed`, `Unreachable` and `Backend`.
    async fn unfinished(&self, partitions: &[u32]) -> Result<Vec<SessionRow>, JournalError>;

    /// The sessions of these partitions whose time to be woken has come: `wake_at_ms <= now_ms`.
    /// Damaged ones are left out.
    ///
    /// # Errors
    /// `Closed`, `Unreachable` and `Backend`.
    async fn due(&self, partitions: &[u32], now_ms: i64) -> Result<Vec<SessionRow>, JournalError>;

    /// Removes a session and its events for good; an unknown one is no error. The caller sees to it
    /// that no actor works on it.
    ///
    /// # Errors
    /// `Closed`, `Full`, `Unreachable` and `Backend`.
    async fn delete(&self, session: &SessionId) -> Result<(), JournalError>;

    /// Checks everything, for `doctor`; what is wrong, in the order found.
    ///
    /// # Errors
    /// `Closed`, `Unreachable` and `Backend`.
    async fn verify(&self) -> Result<Vec<Damage>, JournalError>;

    /// Finishes what is queued and takes no more; returns once the journal is closed.
    async fn close(&self);
}
