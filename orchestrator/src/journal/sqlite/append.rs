//! One append inside a transaction: is the caller still the owner, is the session where it thinks,
//! then the events, linked to those before them.
//!
//! Everything is checked before anything is written, so an append that is refused leaves no trace.
//! Next: `known`.

use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use crate::journal::AppendError;
use crate::journal::chain::{GENESIS, Hash};
use crate::journal::convert;
use crate::journal::fault::Fault;
use crate::journal::prepared::Prepared;
use crate::journal::row::StoredSession;

use super::blob;
use super::known::Known;

impl Prepared {
    /// Appends inside the open transaction: the session's last sequence number, or why it was
    /// refused.
    ///
    /// # Errors
    /// A fault of the database; then the transaction must be rolled back, and `known` forgotten.
    pub(super) fn apply(
        &self,
        connection: &Connection,
        known: &mut Known,
    ) -> Result<Result<u64, AppendError>, Fault> {
        if !known.is_owner(connection, self.partition, self.epoch)? {
            return Ok(Err(AppendError::Fenced));
        }
        let stored = match known.session(&self.session) {
            Some(stored) => stored.clone(),
            None => match StoredSession::find(connection, &self.session)? {
                Some(stored) if !is_whole(connection, &stored)? => {
                    return Ok(Err(AppendError::Conflict));
                }
                Some(stored) => stored,
                None => return self.open(connection, known),
            },
        };
        if stored.row.partition != self.partition {
            let (is, was) = (stored.row.partition, self.partition);
            let text = format!("the session lies in partition {is}, not {was}");
            return Ok(Err(AppendError::Backend(text)));
        }
        if stored.row.last_seq.wrapping_add(1) != self.expected_seq {
            return self.repeated(connection, &stored);
        }
        let links = self.links(stored.head);
        let row = self.after(stored.row);
        let last_seq = row.last_seq;
        let head = links.last().copied().unwrap_or(stored.head);
        StoredSession::update(connection, stored.key, &row, &head)?;
        self.insert(connection, stored.key, stored.head, &links)?;
        known.note(StoredSession { row, head, ..stored });
        Ok(Ok(last_seq))
    }

    fn open(
        &self,
        connection: &Connection,
        known: &mut Known,
    ) -> Result<Result<u64, AppendError>, Fault> {
        if self.expected_seq != 1 {
            return Ok(Err(AppendError::Conflict));
        }
        let Some(row) = self.opening_row() else {
            let text = "the first event of a session must open it".to_owned();
            return Ok(Err(AppendError::Backend(text)));
        };
        let row = self.after(row);
        let last_seq = row.last_seq;
        let links = self.links(GENESIS);
        let head = links.last().copied().unwrap_or(GENESIS);
        let key = StoredSession::insert(connection, &row, &head)?;
        self.insert(connection, key, GENESIS, &links)?;
        known.note(StoredSession { key, row, head, is_sealed: true });
        Ok(Ok(last_seq))
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

/// Whether a session's row, and the event that it says is its last, are as they were written. The
/// head is compared with the event's own: a changed head would break the chain for good.
fn is_whole(connection: &Connection, stored: &StoredSession) -> Result<bool, Fault> {
    Ok(stored.is_sealed
        && link_at(connection, stored.key, stored.row.last_seq)? == Some(stored.head))
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
