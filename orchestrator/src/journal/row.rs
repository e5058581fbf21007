//! The rows that change: sessions, partitions and the journal's own. Each carries a seal over its
//! fields, so that a flipped byte in one shows like one in an event does.
//!
//! Left to others: which changes are allowed, and the tables. Next: `blob`.

use super::chain::{Fields, Hash};
use super::convert::word::Word;
use super::{Epoch, SessionRow, SessionState};

impl Word for SessionState {
    const FIELD: &'static str = "state of a session";
    const ALL: &'static [Self] = &[Self::Idle, Self::Active, Self::Waiting];

    fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Waiting => "waiting",
        }
    }
}

/// The journal's own row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Number of the tables' schema.
    pub(super) schema: u32,
    /// The deployment's generation.
    pub(super) generation: u64,
    /// Partitions that sessions are spread over.
    pub(super) partitions: u32,
}

impl Settings {
    /// Digest over the fields.
    pub(super) fn seal(&self) -> Hash {
        let mut fields = Fields::new(b"callboard.journal.settings.1");
        fields.number(u64::from(self.schema));
        fields.number(self.generation);
        fields.number(u64::from(self.partitions));
        fields.finish()
    }
}

/// A session as it is stored.
#[derive(Clone, Debug)]
pub(super) struct StoredSession {
    /// The key that its events refer to.
    pub(super) key: i64,
    /// What others see.
    pub(super) row: SessionRow,
    /// Link of the last event.
    pub(super) head: Hash,
    /// Whether the seal fits.
    pub(super) is_sealed: bool,
}

/// The last claim of a partition.
#[derive(Clone, Debug)]
pub(super) struct StoredClaim {
    pub(super) epoch: Epoch,
    pub(super) owner: String,
    pub(super) is_sealed: bool,
}

/// Digest over the fields of a session and the link of its last event.
pub(super) fn seal_session(row: &SessionRow, head: &Hash) -> Hash {
    let mut fields = Fields::new(b"callboard.journal.session.1");
    fields.bytes(row.id.as_str().as_bytes());
    fields.number(u64::from(row.partition));
    for text in [&row.team, &row.agent, &row.title] {
        fields.bytes(text.as_bytes());
    }
    fields.bytes(row.kind.word().as_bytes());
    fields.bytes(row.state.word().as_bytes());
    fields.optional(row.wake_at_ms);
    fields.number(row.last_seq);
    fields.bytes(head);
    fields.number(row.opened_ms.cast_unsigned());
    fields.number(row.updated_ms.cast_unsigned());
    fields.finish()
}

/// Digest over the fields of a claim.
pub(super) fn seal_claim(partition: u32, epoch: Epoch, owner: &str) -> Hash {
    let mut fields = Fields::new(b"callboard.journal.partition.1");
    fields.number(u64::from(partition));
    fields.number(epoch.generation);
    fields.number(epoch.revision);
    fields.bytes(owner.as_bytes());
    fields.finish()
}
