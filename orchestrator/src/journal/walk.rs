//! Follows a session's events along the hash chain, each checked against the one before it.
//!
//! Left to others: what a break means for whom. Next: `verify`.

use std::cmp::Ordering;

use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use super::append::link_at;
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

/// Hands at most `limit` events after number `after` to `take`. What can be taken in is; then it
/// says what is wrong.
pub(super) fn walk(
    connection: &Connection,
    stored: &StoredSession,
    (after, limit): (u64, usize),
    mut take: impl FnMut(Recorded),
) -> Result<(), Break> {
    let mut chain = Chain { connection, stored, seq: after, link: GENESIS };
    if after > stored.row.last_seq {
        return Ok(());
    }
    if after > 0 {
        chain.link = chain
            .seen(link_at(connection, stored.key, after))?
            .ok_or_else(|| Break::Damaged { seq: after, what: "it is missing".to_owned() })?;
    }
    let sql = "SELECT seq, generation, revision, append_id, type, schema, wall_ms, payload,
        prev_hash, hash FROM event WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?";
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = chain.seen(connection.prepare_cached(sql))?;
    let mut rows = chain.seen(statement.query(params![stored.key, after.cast_signed(), wanted]))?;
    let mut count = 0;
    while let Some(row) = chain.seen(rows.next())? {
        take(chain.follow(row)?);
        count += 1;
    }
    if count == limit { Ok(()) } else { chain.end() }
}

/// Number of events that can be trusted.
pub(super) fn count(connection: &Connection, stored: &StoredSession) -> u64 {
    let mut good = 0;
    // How it ends does not matter here.
    let _ = walk(connection, stored, (0, usize::MAX), |recorded| good = recorded.seq);
    good
}

/// The last event that was followed.
struct Chain<'a> {
    connection: &'a Connection,
    stored: &'a StoredSession,
    seq: u64,
    link: Hash,
}

impl Chain<'_> {
    /// The event after the last one, if it is what was written.
    fn follow(&mut self, row: &Row<'_>) -> Result<Recorded, Break> {
        let seq = self.seq + 1;
        let stored = self.seen(StoredEvent::from_row(row))?;
        if stored.seq != seq {
            return Err(self.damaged("it is missing"));
        }
        if stored.previous != self.link {
            return Err(self.damaged("it does not follow the event before it"));
        }
        let link = chain::link(&self.link, &stored.linked(self.stored.row.id.as_str()));
        if stored.link != link {
            return Err(self.damaged("it was changed"));
        }
        let unknown =
            |error: convert::ConvertError| Break::Unknown { seq, what: error.to_string() };
        let mut wire = convert::decode(stored.payload, stored.schema).map_err(unknown)?;
        self.seen(blob::attach(self.connection, &mut wire))?;
        let place = (seq, stored.wall_ms);
        let recorded = convert::from_wire(wire, place, stored.kind).map_err(unknown)?;
        self.seq = seq;
        self.link = link;
        Ok(recorded)
    }

    /// Checks that the last event is the session's last.
    fn end(&self) -> Result<(), Break> {
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
    fn seen<T, E: Into<Fault>>(&self, result: Result<T, E>) -> Result<T, Break> {
        result.map_err(|error| match error.into() {
            Fault::Damaged(what) => self.damaged(&what),
            fault => Break::Failed(fault),
        })
    }

    fn damaged(&self, what: &str) -> Break {
        Break::Damaged { seq: self.seq + 1, what: what.to_owned() }
    }
}

/// A row of the table `event`.
struct StoredEvent<'a> {
    seq: u64,
    epoch: Epoch,
    append_id: Uuid,
    kind: &'a str,
    schema: u32,
    wall_ms: i64,
    payload: &'a [u8],
    previous: Hash,
    link: Hash,
}

impl<'a> StoredEvent<'a> {
    fn from_row(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            epoch: Epoch {
                generation: row.get::<_, i64>(1)?.cast_unsigned(),
                revision: row.get::<_, i64>(2)?.cast_unsigned(),
            },
            append_id: Uuid::from_bytes(row.get(3)?),
            kind: row.get_ref(4)?.as_str()?,
            schema: row.get(5)?,
            wall_ms: row.get(6)?,
            payload: row.get_ref(7)?.as_blob()?,
            previous: row.get(8)?,
            link: row.get(9)?,
        })
    }

    fn linked(&self, session: &'a str) -> chain::Row<'a> {
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
