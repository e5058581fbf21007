//! Claims of partitions, the generation, and the removal of sessions: what is rare.
//!
//! Who should own what is decided by `partitions`; here only whether a claim is the newest. Next:
//! `reader`.

use rusqlite::{Connection, OptionalExtension as _};

use crate::journal::fault::Fault;
use crate::journal::queue::Claim;
use crate::journal::row::{Settings, StoredClaim};

/// Claims what may be claimed; gives those partitions.
pub(super) fn apply(claim: &Claim, connection: &Connection) -> Result<Vec<u32>, Fault> {
    let current = settings(connection)?.generation;
    let mut accepted = Vec::with_capacity(claim.partitions.len());
    for &(partition, epoch) in &claim.partitions {
        if epoch.generation < current {
            continue;
        }
        let stored = StoredClaim::find(connection, partition)?;
        let is_newest = match stored {
            // A claim whose row was damaged says nothing any more; the next one heals it.
            Some(stored) if stored.is_sealed => {
                stored.epoch < epoch || (stored.epoch == epoch && stored.owner == claim.owner)
            }
            Some(_) | None => true,
        };
        if is_newest {
            StoredClaim::store(connection, partition, epoch, &claim.owner)?;
            accepted.push(partition);
        }
    }
    Ok(accepted)
}

/// The journal's own row, if it can be trusted.
pub(super) fn settings(connection: &Connection) -> Result<Settings, Fault> {
    let found = Settings::find(connection)?;
    found.ok_or_else(|| Fault::Other("the journal's settings were changed".to_owned()))
}

/// Raises the generation by 1; gives the new one.
pub(super) fn raise_generation(connection: &Connection) -> Result<u64, Fault> {
    let mut settings = settings(connection)?;
    settings.generation += 1;
    settings.store(connection)?;
    Ok(settings.generation)
}

/// Removes a session and its events.
pub(super) fn delete(connection: &Connection, session: &str) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached("SELECT key FROM session WHERE id = ?")?;
    let key: Option<i64> = statement.query_row([session], |row| row.get(0)).optional()?;
    if let Some(key) = key {
        connection.execute("DELETE FROM event WHERE session = ?", [key])?;
        connection.execute("DELETE FROM session WHERE key = ?", [key])?;
    }
    Ok(())
}
