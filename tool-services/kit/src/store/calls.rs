//! Claims, outcomes and epochs in the file, each a step of a transaction that `writer.rs` commits.
//! What a claim finds is for `calls.rs` of the kit to act on. Next: `undo.rs`.

use std::sync::Arc;

use callboard_proto::tool as wire;
use prost::Message as _;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::{
    lives::Lives,
    tidy::{self, Limits},
};
use crate::{
    Intent,
    fence::{Epoch, Owner},
    outcomes::{Digest, Key},
};

/// An outcome of more bytes than this may not wait for the next round of tidying.
const LARGE: usize = 64 * 1024;

/// A wish to have a call.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) owner: Owner,
    pub(crate) key: Arc<Key>,
    /// Absent where the caller does not say what the call is.
    pub(crate) digest: Option<Digest>,
    /// False: only asks what became of it.
    pub(crate) may_start: bool,
}

/// What a claim finds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// Nothing: the call is now claimed by this process, if it was to be started.
    Nothing,
    /// It was begun by a process that is dead: it is now claimed by this one.
    Interrupted(Option<Intent>),
    /// It ended so.
    Settled(Arc<wire::Outcome>),
    /// It was started; how it ended is no longer known.
    Gone,
    /// It is at work in another process.
    Elsewhere,
    /// Another call has this id.
    OtherArguments,
    /// A newer owner was seen.
    Stale(Epoch),
    /// No more calls can be remembered.
    Full,
}

struct Row {
    id: i64,
    digest: Vec<u8>,
    is_ended: bool,
    incarnation: String,
    outcome: Option<Vec<u8>>,
}

/// Claims a call, or says what is known of it.
pub(super) fn claim(
    tx: &Transaction<'_>,
    claim: &Claim,
    incarnation: &str,
    lives: &Lives,
    limits: Limits,
) -> rusqlite::Result<Found> {
    if let Some(seen) = raise(tx, &claim.owner)? {
        return Ok(Found::Stale(seen));
    }
    let Some(row) = find(tx, &claim.key)? else {
        return insert(tx, claim, incarnation, limits);
    };
    if claim.digest.is_some_and(|digest| digest[..] != row.digest[..]) {
        return Ok(Found::OtherArguments);
    }
    if row.is_ended {
        let outcome = row.outcome.and_then(|bytes| wire::Outcome::decode(&bytes[..]).ok());
        return Ok(outcome.map_or(Found::Gone, |outcome| Found::Settled(Arc::new(outcome))));
    }
    // This process knows its own calls: one that only the file knows is not at work.
    if row.incarnation != incarnation && lives.is_alive(&row.incarnation) {
        return Ok(Found::Elsewhere);
    }
    tx.prepare_cached("UPDATE call SET incarnation = ?2 WHERE id = ?1")?
        .execute(params![row.id, incarnation])?;
    Ok(Found::Interrupted(super::undo::intent(tx, &claim.key)?))
}

fn find(tx: &Transaction<'_>, key: &Key) -> rusqlite::Result<Option<Row>> {
    tx.prepare_cached(
        "SELECT id, digest, state, incarnation, outcome FROM call
          WHERE team = ?1 AND session = ?2 AND call_id = ?3",
    )?
    .query_row(params![key.team, key.session, key.call_id], |row| {
        Ok(Row {
            id: row.get(0)?,
            digest: row.get(1)?,
            is_ended: row.get::<_, i64>(2)? == 1,
            incarnation: row.get(3)?,
            outcome: row.get(4)?,
        })
    })
    .optional()
}

fn insert(
    tx: &Transaction<'_>,
    claim: &Claim,
    incarnation: &str,
    limits: Limits,
) -> rusqlite::Result<Found> {
    let (true, Some(digest)) = (claim.may_start, claim.digest) else { return Ok(Found::Nothing) };
    if is_full(tx, limits)? {
        return Ok(Found::Full);
    }
    let key = &claim.key;
    tx.prepare_cached(
        "INSERT INTO call (team, session, call_id, digest, state, incarnation, at)
         VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6)",
    )?
    .execute(params![
        key.team,
        key.session,
        key.call_id,
        &digest[..],
        incarnation,
        limits.now()
    ])?;
    Ok(Found::Nothing)
}

/// Counts only where there may be too many.
fn is_full(tx: &Transaction<'_>, limits: Limits) -> rusqlite::Result<bool> {
    let span: i64 = tx
        .prepare_cached(
            "SELECT coalesce((SELECT max(id) FROM call) - (SELECT min(id) FROM call), 0)",
        )?
        .query_row([], |row| row.get(0))?;
    if span < limits.calls {
        return Ok(false);
    }
    let count: i64 = tx
        .prepare_cached("SELECT count(*) FROM call WHERE is_forgotten = 0")?
        .query_row([], |row| row.get(0))?;
    Ok(count >= limits.calls)
}

/// Records how a call ended.
pub(super) fn settle(
    tx: &Transaction<'_>,
    key: &Key,
    outcome: &wire::Outcome,
    limits: Limits,
) -> rusqlite::Result<()> {
    let bytes = outcome.encode_to_vec();
    tx.prepare_cached(
        "UPDATE call SET state = 1, at = ?4, outcome = ?5, size = length(?5)
          WHERE team = ?1 AND session = ?2 AND call_id = ?3 AND state = 0",
    )?
    .execute(params![key.team, key.session, key.call_id, limits.now(), bytes])?;
    if bytes.len() > LARGE { tidy::tidy_outcomes(tx) } else { Ok(()) }
}

/// Drops the claim of a call that was not started.
pub(super) fn release(tx: &Transaction<'_>, key: &Key, incarnation: &str) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "DELETE FROM call WHERE team = ?1 AND session = ?2 AND call_id = ?3 AND state = 0
            AND incarnation = ?4",
    )?
    .execute(params![key.team, key.session, key.call_id, incarnation])?;
    Ok(())
}

/// Drops an outcome and leaves a mark, against a start that was under way meanwhile.
pub(super) fn forget(
    tx: &Transaction<'_>,
    key: &Key,
    (incarnation, lives): (&str, &Lives),
    limits: Limits,
) -> rusqlite::Result<()> {
    let Some(row) = find(tx, key)? else { return Ok(()) };
    // The kit asks for none of its own that is at work.
    if !row.is_ended && row.incarnation != incarnation && lives.is_alive(&row.incarnation) {
        return Ok(());
    }
    tx.prepare_cached(
        "UPDATE call SET state = 1, outcome = NULL, size = 0, is_forgotten = 1, at = ?2 WHERE id = ?1",
    )?
    .execute(params![row.id, limits.now()])?;
    Ok(())
}

/// Drops what is kept of the calls of a session, but for those that are at work or are being taken back:
/// outcomes leave their marks, what would take the calls back goes.
pub(super) fn forget_session(
    tx: &Transaction<'_>,
    (team, session): (&str, &str),
    (incarnation, lives): (&str, &Lives),
    limits: Limits,
) -> rusqlite::Result<()> {
    let sql = "SELECT call_id FROM call WHERE team = ?1 AND session = ?2 AND is_forgotten = 0";
    let calls: Vec<String> = tx
        .prepare_cached(sql)?
        .query_map(params![team, session], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for call_id in calls {
        let key = Key { team: team.to_owned(), session: session.to_owned(), call_id };
        // The store does not know which calls this very process has at work.
        if find(tx, &key)?.is_some_and(|row| row.is_ended || row.incarnation != incarnation) {
            forget(tx, &key, (incarnation, lives), limits)?;
        }
    }
    tx.execute(
        "DELETE FROM undo WHERE team = ?1 AND session = ?2 AND state != 1
            AND NOT EXISTS (
                SELECT 1 FROM call WHERE call.state = 0 AND call.team = undo.team
                   AND call.session = undo.session AND call.call_id = undo.call_id)",
        params![team, session],
    )?;
    Ok(())
}

/// Raises the floor of a partition, or gives the higher one that was seen.
pub(super) fn raise(tx: &Transaction<'_>, owner: &Owner) -> rusqlite::Result<Option<Epoch>> {
    let epoch = encode(owner.epoch);
    let seen: Option<[u8; 16]> = tx
        .prepare_cached("SELECT epoch FROM floor WHERE deployment = ?1 AND partition = ?2")?
        .query_row(params![owner.deployment, owner.partition], |row| row.get(0))
        .optional()?;
    match seen {
        Some(seen) if seen > epoch => return Ok(Some(decode(seen))),
        Some(seen) if seen == epoch => return Ok(None),
        Some(_) | None => {}
    }
    tx.prepare_cached(
        "INSERT INTO floor VALUES (?1, ?2, ?3)
         ON CONFLICT (deployment, partition) DO UPDATE SET epoch = excluded.epoch",
    )?
    .execute(params![owner.deployment, owner.partition, &epoch[..]])?;
    Ok(None)
}

/// All floors.
pub(super) fn floors(connection: &Connection) -> rusqlite::Result<Vec<Owner>> {
    connection
        .prepare("SELECT deployment, partition, epoch FROM floor")?
        .query_map([], |row| {
            let epoch = decode(row.get(2)?);
            Ok(Owner { deployment: row.get(0)?, partition: row.get(1)?, epoch })
        })?
        .collect()
}

/// Notes that an incarnation keeps its records here.
pub(super) fn begin_life(
    connection: &Connection,
    incarnation: &str,
    now: i64,
) -> rusqlite::Result<()> {
    connection
        .execute("INSERT OR IGNORE INTO life VALUES (?1, ?2)", params![incarnation, now])
        .map(drop)
}

/// Whether an incarnation keeps, or kept, its records here.
pub(super) fn knows(tx: &Transaction<'_>, incarnation: &str) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM life WHERE incarnation = ?1")?.exists([incarnation])
}

/// Ordered as bytes just as the epochs are.
fn encode(epoch: Epoch) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&epoch.generation.to_be_bytes());
    bytes[8..].copy_from_slice(&epoch.revision.to_be_bytes());
    bytes
}

fn decode(bytes: [u8; 16]) -> Epoch {
    let number = |half: &[u8]| half.iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    Epoch { generation: number(&bytes[..8]), revision: number(&bytes[8..]) }
}
