//! One append inside a transaction: is the caller still the owner, is the session where it thinks,
//! then the events, linked to those before them.
//!
//! Everything is checked before anything is written, so an append that is refused leaves no trace.
//! Next: `row`.

use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use crate::journal::AppendError;
use crate::journal::chain::{GENESIS, Hash};
use crate::journal::convert;
use crate::journal::fault::Fault;
use crate::journal::prepared::Prepared;
use crate::journal::row::{StoredClaim, StoredSession};

use super::blob;

impl Prepared {
    /// Appends inside the open transaction: the session's last sequence number, or why it was
    /// refused.
    ///
    /// # Errors
    /// A fault of the database; then the transaction must be rolled back.
    pub(super) fn apply(&self, connection: &Connection) -> Result<Result<u64, AppendError>, Fault> {
        if !self.is_owner(connection)? {
            return Ok(Err(AppendError::Fenced));
        }
        let stored = StoredSession::find(connection, &self.session)?;
        let Some(stored) = stored else { return self.open(connection) };
        if !stored.is_sealed {
            return Ok(Err(AppendError::Conflict));
        }
        if stored.row.partition != self.partition {
            let (is, was) = (stored.row.partition, self.partition);
            let text = format!("the session lies in partition {is}, not {was}");
            return Ok(Err(AppendError::Backend(text)));
        }
        if stored.row.last_seq.wrapping_add(1) != self.expected_seq {
            return self.repeated(connection, &stored);
        }
        // The head is taken from the event itself: a changed head would break the chain for good.
        if link_at(connection, stored.key, stored.row.last_seq)? != Some(stored.head) {
            return Ok(Err(AppendError::Conflict));
        }
        let links = self.links(stored.head);
        let row = self.after(stored.row);
        let last_seq = row.last_seq;
        let head = links.last().copied().unwrap_or(stored.head);
        StoredSession::update(connection, stored.key, &row, &head)?;
        self.insert(connection, stored.key, stored.head, &links)?;
        Ok(Ok(last_seq))
    }

    fn is_owner(&self, connection: &Connection) -> Result<bool, Fault> {
        let claim = StoredClaim::find(connection, self.partition)?;
        Ok(claim.is_some_and(|claim| claim.is_sealed && claim.epoch == self.epoch))
    }

    fn open(&self, connection: &Connection) -> Result<Result<u64, AppendError>, Fault> {
        if self.expected_seq != 1 {
            return Ok(Err(AppendError::Conflict));
        }
        let Some(row) = self.opening_row() else {
            let text = "the first event of a session must open it".to_owned();
            return Ok(Err(AppendError::Backend(text)));
        };
        let row = self.after(row);
        let links = self.links(GENESIS);
        let head = links.last().copied().unwrap_or(GENESIS);
        let key = StoredSession::insert(connection, &row, &head)?;
        self.insert(connection, key, GENESIS, &links)?;
        Ok(Ok(row.last_seq))
    }

    /// An append that does not fit is either a repeat of one that is already in, or a conflict.
    fn repeated(
        &self,
        connection: &Connection,
        stored: &StoredSession,
    ) -> Result<Result<u64, AppendError>, Fault> {
        let count = self.events.len() as u64;
        let last = self.expected_seq.wrapping_add(count).wrapping_sub(1);
        if count > 0
            && last <= stored.row.last_seq
            && append_id_at(connection, stored.key, self.expected_seq)? == Some(self.append_id)
            && append_id_at(connection, stored.key, last)? == Some(self.append_id)
        {
            return Ok(Ok(last));
        }
        Ok(Err(AppendError::Conflict))
    }

    fn insert(
        &self,
        connection: &Connection,
        key: i64,
        head: Hash,
        links: &[Hash],
    ) -> Result<(), Fault> {
        for blob in &self.blobs {
            blob::store(connection, blob)?;
        }
        let sql = "INSERT INTO event (session, seq, generation, revision, append_id, type, schema,
            wall_ms, payload, prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let mut statement = connection.prepare_cached(sql)?;
        let mut previous = &head;
        for ((seq, event), link) in (self.expected_seq..).zip(&self.events).zip(links) {
            statement.execute(params![
                key,
                seq.cast_signed(),
                self.epoch.generation.cast_signed(),
                self.epoch.revision.cast_signed(),
                self.append_id.as_bytes(),
                event.kind,
                convert::SCHEMA,
                event.wall_ms,
                event.payload,
                previous,
                link,
            ])?;
            previous = link;
        }
        Ok(())
    }
}

/// The link of one event.
pub(super) fn link_at(connection: &Connection, key: i64, seq: u64) -> Result<Option<Hash>, Fault> {
    let sql = "SELECT hash FROM event WHERE session = ? AND seq = ?";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([key, seq.cast_signed()], |row| row.get(0)).optional()?)
}

fn append_id_at(connection: &Connection, key: i64, seq: u64) -> Result<Option<Uuid>, Fault> {
    let sql = "SELECT append_id FROM event WHERE session = ? AND seq = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let bytes: Option<[u8; 16]> =
        statement.query_row([key, seq.cast_signed()], |row| row.get(0)).optional()?;
    Ok(bytes.map(Uuid::from_bytes))
}
