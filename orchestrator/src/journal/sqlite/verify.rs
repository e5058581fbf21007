//! Checks the whole journal, for `doctor`: the file, every chain, every seal, every shared text.
//!
//! It only reads, a session at a time, so that a journal in use goes on. Mending is left to people.

use rusqlite::Connection;

use crate::journal::chain::Hash;
use crate::journal::fault::Fault;
use crate::journal::row::{StoredClaim, StoredSession};
use crate::journal::walk::Break;
use crate::journal::{Damage, JournalError, blob};
use crate::run::ids::SessionId;

use super::claim;
use super::walk;

/// Faults of the file's structure that are listed, at most.
const STRUCTURE: u32 = 20;

/// What is wrong.
pub(super) fn verify(connection: &mut Connection) -> Result<Vec<Damage>, JournalError> {
    let mut damages = Vec::new();
    collect(structure(connection), &mut damages)?;
    let keys = keys(connection);
    for key in collect(keys, &mut damages)?.unwrap_or_default() {
        let checked = session(connection, key);
        if let Some(found) = collect(checked, &mut damages)? {
            damages.extend(found);
        }
    }
    for check in [settings, orphans, claims, blobs] {
        if let Some(found) = collect(check(connection), &mut damages)? {
            damages.extend(found);
        }
    }
    Ok(damages)
}

/// A part that cannot even be read is damage as well; only other faults end the check.
fn collect<T>(
    result: Result<T, Fault>,
    damages: &mut Vec<Damage>,
) -> Result<Option<T>, JournalError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Fault::Damaged(what)) => {
            damages.push(Damage { session: None, seq: None, what });
            Ok(None)
        }
        Err(fault) => Err(fault.into()),
    }
}

fn structure(connection: &Connection) -> Result<(), Fault> {
    let sql = format!("PRAGMA integrity_check({STRUCTURE})");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let fault: String = row.get(0)?;
        if fault != "ok" {
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Fault::Damaged(faults.join("; "))) }
}

fn keys(connection: &Connection) -> Result<Vec<i64>, Fault> {
    let mut statement = connection.prepare("SELECT key FROM session ORDER BY key")?;
    let keys = statement.query_map([], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

fn session(connection: &mut Connection, key: i64) -> Result<Vec<Damage>, Fault> {
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare_cached("SELECT * FROM session WHERE key = ?")?;
    let mut rows = statement.query([key])?;
    // Deleted in the meantime.
    let Some(row) = rows.next()? else { return Ok(Vec::new()) };
    let id = row.get::<_, String>(1).map(SessionId::from).ok();
    let damage = |seq, what: String| vec![Damage { session: id.clone(), seq, what }];
    let stored = match StoredSession::from_row(row) {
        Ok(stored) => stored,
        Err(error) => return Ok(damage(None, error.to_string())),
    };
    let mut good = 0;
    match walk::walk(&transaction, &stored, (0, usize::MAX), |recorded| good = recorded.seq) {
        Err(Break::Damaged { seq, what }) => Ok(damage(Some(seq), what)),
        Err(Break::Failed(fault)) => Err(fault),
        // A newer version's event is no damage.
        Ok(()) | Err(Break::Unknown { .. }) if stored.is_sealed => Ok(Vec::new()),
        Ok(()) | Err(Break::Unknown { .. }) => {
            Ok(damage(Some(good + 1), "the session's own row was changed".to_owned()))
        }
    }
}

fn settings(connection: &Connection) -> Result<Vec<Damage>, Fault> {
    claim::settings(connection)?;
    Ok(Vec::new())
}

fn orphans(connection: &Connection) -> Result<Vec<Damage>, Fault> {
    let sql = "SELECT count(*) FROM event WHERE session NOT IN (SELECT key FROM session)";
    let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    let what = format!("{count} events belong to no session");
    Ok(if count == 0 { Vec::new() } else { vec![Damage { session: None, seq: None, what }] })
}

fn claims(connection: &Connection) -> Result<Vec<Damage>, Fault> {
    let mut statement = connection.prepare("SELECT * FROM partition")?;
    let claims = statement.query_map([], StoredClaim::from_row)?;
    let mut damages = Vec::new();
    for claim in claims {
        let (partition, claim) = claim?;
        if !claim.is_sealed {
            let what = format!("the claim of partition {partition} was changed");
            damages.push(Damage { session: None, seq: None, what });
        }
    }
    Ok(damages)
}

fn blobs(connection: &Connection) -> Result<Vec<Damage>, Fault> {
    let mut statement = connection.prepare("SELECT digest, content FROM blob")?;
    let mut rows = statement.query([])?;
    let mut damages = Vec::new();
    while let Some(row) = rows.next()? {
        let (digest, content): (Hash, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if !blob::is_intact(&digest, &content) {
            let what = "a system prompt that runs share was changed".to_owned();
            damages.push(Damage { session: None, seq: None, what });
        }
    }
    Ok(damages)
}
