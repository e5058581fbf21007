//! Intents in the file, and how far a rollback has come: kept, being taken back, taken back. What
//! it takes to go back is the tool's business. Next: `tidy.rs`.

use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::{
    lives::Lives,
    tidy::{self, Limits},
};
use crate::{Intent, outcomes::Key};

/// What became of keeping an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is durable.
    Done,
    /// This process does not have the call any more: nothing may be done.
    NotOurs,
}

/// What is to be kept.
#[derive(Clone, Debug)]
pub(super) struct ToKeep {
    pub(super) tool: Arc<str>,
    pub(super) intent: Intent,
    pub(super) limits: Limits,
}

/// A wish to take a call back.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) key: Arc<Key>,
    /// Names the wish; empty if it has no name.
    pub(crate) id: String,
    /// Only asks.
    pub(crate) dry_run: bool,
    /// Whether the effect is gone afterwards; false where it is only restored beside.
    pub(crate) takes_back: bool,
}

/// What a wish meets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Began {
    /// The tool may be asked.
    Ready(Intent),
    /// This very wish was answered before.
    Answered(String),
    /// Another wish took the call back; so it was answered.
    TakenBack(String),
    /// Nothing is kept of the call.
    Nothing,
    /// The call, or a rollback of it, is at work in another process.
    Elsewhere,
}

/// The intent of a call.
pub(super) fn intent(tx: &Transaction<'_>, key: &Key) -> rusqlite::Result<Option<Intent>> {
    tx.prepare_cached(
        "SELECT facts, content FROM undo WHERE team = ?1 AND session = ?2 AND call_id = ?3",
    )?
    .query_row(params![key.team, key.session, key.call_id], |row| {
        let content = row.get::<_, Option<Vec<u8>>>(1)?.map(Bytes::from);
        Ok(Intent { facts: row.get(0)?, content })
    })
    .optional()
}

/// The facts of the intents of calls, those left out that kept none or were taken back.
pub(super) fn facts(tx: &Transaction<'_>, keys: &[Key]) -> rusqlite::Result<Vec<Intent>> {
    let mut statement = tx.prepare_cached(
        "SELECT facts FROM undo
          WHERE team = ?1 AND session = ?2 AND call_id = ?3 AND state != 2",
    )?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let facts = statement
            .query_row(params![key.team, key.session, key.call_id], |row| row.get(0))
            .optional()?;
        found.extend(facts.map(|facts| Intent { facts, content: None }));
    }
    Ok(found)
}

/// Keeps an intent, if the call is still claimed by this process.
pub(super) fn intend(
    tx: &Transaction<'_>,
    key: &Key,
    kept: &ToKeep,
    incarnation: &str,
) -> rusqlite::Result<Kept> {
    let ToKeep { tool, intent, limits } = kept;
    let is_ours = tx
        .prepare_cached(
            "SELECT 1 FROM call WHERE team = ?1 AND session = ?2 AND call_id = ?3
                AND state = 0 AND incarnation = ?4",
        )?
        .exists(params![key.team, key.session, key.call_id, incarnation])?;
    if !is_ours {
        return Ok(Kept::NotOurs);
    }
    let content = intent.content.as_deref();
    let size = intent.facts.len() + content.map_or(0, <[u8]>::len);
    tx.prepare_cached(
        "INSERT OR REPLACE INTO undo (team, session, call_id, tool, at, size, facts, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        key.team,
        key.session,
        key.call_id,
        tool,
        limits.now(),
        i64::try_from(size).unwrap_or(i64::MAX),
        intent.facts,
        content
    ])?;
    tidy::tidy_undo(tx, *limits)?;
    Ok(Kept::Done)
}

/// What a wish meets; marks that this process takes the call back, if it may.
pub(super) fn begin(
    tx: &Transaction<'_>,
    wish: &Wish,
    incarnation: &str,
    lives: &Lives,
) -> rusqlite::Result<Began> {
    let key = &wish.key;
    let worker: Option<String> = tx
        .prepare_cached(
            "SELECT incarnation FROM call
              WHERE team = ?1 AND session = ?2 AND call_id = ?3 AND state = 0",
        )?
        .query_row(params![key.team, key.session, key.call_id], |row| row.get(0))
        .optional()?;
    let found: Option<(i64, String, String, Option<String>)> = tx
        .prepare_cached(
            "SELECT state, incarnation, wish, answer FROM undo
              WHERE team = ?1 AND session = ?2 AND call_id = ?3",
        )?
        .query_row(params![key.team, key.session, key.call_id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let is_elsewhere = |who: &str| who != incarnation && lives.is_alive(who);
    if worker.as_deref().is_some_and(is_elsewhere) {
        return Ok(Began::Elsewhere);
    }
    let Some((state, undoer, answered, answer)) = found else { return Ok(Began::Nothing) };
    match (state, answer) {
        (_, Some(answer)) if !wish.id.is_empty() && wish.id == answered => {
            return Ok(Began::Answered(answer));
        }
        (2, answer) => return Ok(Began::TakenBack(answer.unwrap_or_default())),
        (1, _) if is_elsewhere(&undoer) => return Ok(Began::Elsewhere),
        _ => {}
    }
    let Some(intent) = intent(tx, key)? else { return Ok(Began::Nothing) };
    if !wish.dry_run {
        mark(tx, key, 1, incarnation)?;
    }
    Ok(Began::Ready(intent))
}

/// Records what was done, or that nothing was.
pub(super) fn end(tx: &Transaction<'_>, wish: &Wish, done: Option<&str>) -> rusqlite::Result<()> {
    let key = &wish.key;
    let Some(answer) = done else { return mark(tx, key, 0, "") };
    mark(tx, key, if wish.takes_back { 2 } else { 0 }, "")?;
    tx.prepare_cached(
        "UPDATE undo SET wish = ?4, answer = ?5
          WHERE team = ?1 AND session = ?2 AND call_id = ?3",
    )?
    .execute(params![key.team, key.session, key.call_id, wish.id, answer])?;
    if wish.takes_back {
        // One that was cut off is over by that, and never started again.
        tx.prepare_cached(
            "UPDATE call SET state = 1 WHERE team = ?1 AND session = ?2 AND call_id = ?3
                AND state = 0",
        )?
        .execute(params![key.team, key.session, key.call_id])?;
        // What was there before is there again.
        tx.prepare_cached(
            "UPDATE undo SET content = NULL, size = length(facts)
              WHERE team = ?1 AND session = ?2 AND call_id = ?3",
        )?
        .execute(params![key.team, key.session, key.call_id])?;
    }
    Ok(())
}

fn mark(tx: &Transaction<'_>, key: &Key, state: i64, incarnation: &str) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE undo SET state = ?4, incarnation = ?5
          WHERE team = ?1 AND session = ?2 AND call_id = ?3",
    )?
    .execute(params![key.team, key.session, key.call_id, state, incarnation])?;
    Ok(())
}
