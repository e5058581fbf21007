//! Reads a session's events in order and has each checked against the one before it.
//!
//! Left to others: the check itself. Next: `verify`.

use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::journal::Epoch;
use crate::journal::row::StoredSession;
use crate::journal::walk::{Break, Chain, StoredEvent};
use crate::run::event::Recorded;

use super::append::link_at;
use super::blob;

/// Hands at most `limit` events after number `after` to `take`. What can be taken in is; then it
/// says what is wrong.
pub(super) fn walk(
    connection: &Connection,
    stored: &StoredSession,
    (after, limit): (u64, usize),
    mut take: impl FnMut(Recorded),
) -> Result<(), Break> {
    let mut chain = Chain::new(stored);
    if after > stored.row.last_seq {
        return Ok(());
    }
    if after > 0 {
        let link = chain.seen(link_at(connection, stored.key, after))?;
        chain = Chain::at(stored, after, link)?;
    }
    let sql = "SELECT seq, generation, revision, append_id, type, schema, wall_ms, payload,
        prev_hash, hash FROM event WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?";
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = chain.seen(connection.prepare_cached(sql))?;
    let mut rows = chain.seen(statement.query(params![stored.key, after.cast_signed(), wanted]))?;
    let mut count = 0;
    while let Some(row) = chain.seen(rows.next())? {
        let event = chain.seen(from_row(row))?;
        let followed = chain.follow(&event)?;
        let content = match followed.wanted()? {
            Some(digest) => chain.seen(blob::find(connection, &digest))?,
            None => None,
        };
        take(followed.complete(content)?);
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

/// Reads a row of the table `event`.
fn from_row<'a>(row: &'a Row<'_>) -> rusqlite::Result<StoredEvent<'a>> {
    Ok(StoredEvent {
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
