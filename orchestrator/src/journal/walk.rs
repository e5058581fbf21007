//! Follows a session's events along the hash chain, each checked against the one before it.
//!
//! Left to others: where the events come from, and what a break means for whom. Next: `fault`.

use std::cmp::Ordering;

use callboard_proto::journal as wire;
use uuid::Uuid;

use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use super::chain::{self, GENESIS, Hash};
use super::fault::Fault;
use super::row::StoredSession;
use super::{Epoch, JournalError, blob, convert};

/// Where a session's chain cannot be followed further.
#[derive(Debug)]
pub(super) enum Break {
    /// The event was changed or lost.
    Damaged { seq: u64, what: String },
    /// The event is as it was written, but not for this version.
    Unknown { seq: u64, what: String },
    /// The database failed.
    Failed(Fault),
}

impl Break {
    /// The error of a session that breaks so.
    pub(super) fn of(self, session: &SessionId) -> JournalError {
        let session = session.clone();
        match self {
            Self::Damaged { seq, what } => JournalError::Damaged { session, seq, what },
            Self::Unknown { seq, what } => JournalError::Unknown { session, seq, what },
            Self::Failed(fault) => fault.into(),
        }
    }
}

/// The last event that was followed.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    stored: &'a StoredSession,
    seq: u64,
    link: Hash,
}

/// An event that follows, where its shared text may still be missing.
#[derive(Debug)]
pub(super) struct Followed {
    seq: u64,
    wall_ms: i64,
    kind: String,
    wire: wire::Event,
}

impl<'a> Chain<'a> {
    /// Before the first event of a session.
    pub(super) fn new(stored: &'a StoredSession) -> Self {
        Self { stored, seq: 0, link: GENESIS }
    }

    /// At event `after`, whose link is `link` if it is there.
    pub(super) fn at(
        stored: &'a StoredSession,
        after: u64,
        link: Option<Hash>,
    ) -> Result<Self, Break> {
        match link {
            Some(link) => Ok(Self { stored, seq: after, link }),
            None => Err(Break::Damaged { seq: after, what: "it is missing".to_owned() }),
        }
    }

    /// The event after the last one, if it is what was written.
    pub(super) fn follow(&mut self, event: &StoredEvent<'_>) -> Result<Followed, Break> {
        let seq = self.seq + 1;
        if event.seq != seq {
            return Err(self.damaged("it is missing"));
        }
        if event.previous != self.link {
            return Err(self.damaged("it does not follow the event before it"));
        }
        let link = chain::link(&self.link, &event.linked(self.stored.row.id.as_str()));
        if event.link != link {
            return Err(self.damaged("it was changed"));
        }
        let wire = convert::decode(event.payload, event.schema)
            .map_err(|error| Break::Unknown { seq, what: error.to_string() })?;
        self.seq = seq;
        self.link = link;
        Ok(Followed { seq, wall_ms: event.wall_ms, kind: event.kind.to_owned(), wire })
    }

    /// Checks that the last event is the session's last.
    pub(super) fn end(&self) -> Result<(), Break> {
        match self.seq.cmp(&self.stored.row.last_seq) {
            Ordering::Less => Err(self.damaged("it is missing")),
            Ordering::Greater => Err(Break::Damaged {
                seq: self.stored.row.last_seq + 1,
                what: "it is not of this session".to_owned(),
            }),
            Ordering::Equal if self.link != self.stored.head => Err(Break::Damaged {
                seq: self.seq,
                what: "it is not what the session ended with".to_owned(),
            }),
            Ordering::Equal => Ok(()),
        }
    }

    /// A fault of the database where the next event should be.
    pub(super) fn seen<T, E: Into<Fault>>(&self, result: Result<T, E>) -> Result<T, Break> {
        result.map_err(|error| failed(error.into(), self.seq + 1))
    }

    fn damaged(&self, what: &str) -> Break {
        Break::Damaged { seq: self.seq + 1, what: what.to_owned() }
    }
}

impl Followed {
    /// The digest of the shared text that it lacks.
    pub(super) fn wanted(&self) -> Result<Option<Hash>, Break> {
        blob::wanted(&self.wire).map_err(|fault| failed(fault, self.seq))
    }

    /// The event, with the shared text that the journal has under the digest that it wants.
    pub(super) fn complete(mut self, content: Option<Vec<u8>>) -> Result<Recorded, Break> {
        let seq = self.seq;
        blob::attach(&mut self.wire, content).map_err(|fault| failed(fault, seq))?;
        convert::from_wire(self.wire, (seq, self.wall_ms), &self.kind)
            .map_err(|error| Break::Unknown { seq, what: error.to_string() })
    }
}

/// A fault of the database at an event.
pub(super) fn failed(fault: Fault, seq: u64) -> Break {
    match fault {
        Fault::Damaged(what) => Break::Damaged { seq, what },
        fault => Break::Failed(fault),
    }
}

/// A row of the table `event`.
#[derive(Debug)]
pub(super) struct StoredEvent<'a> {
    pub(super) seq: u64,
    pub(super) epoch: Epoch,
    pub(super) append_id: Uuid,
    pub(super) kind: &'a str,
    pub(super) schema: u32,
    pub(super) wall_ms: i64,
    pub(super) payload: &'a [u8],
    pub(super) previous: Hash,
    pub(super) link: Hash,
}

impl StoredEvent<'_> {
    fn linked<'a>(&'a self, session: &'a str) -> chain::Row<'a> {
        chain::Row {
            session,
            seq: self.seq,
            epoch: self.epoch,
            append_id: self.append_id,
            kind: self.kind,
            schema: self.schema,
            wall_ms: self.wall_ms,
            payload: self.payload,
        }
    }
}
