//! Keeps the file within its limits: drops what is old, then the oldest of what is too much. A call
//! that is not settled keeps its records, whatever their age.

use rusqlite::{Transaction, params};

use super::{StoreSettings, clock::Clock};

/// Seconds that an outcome is kept which nobody forgot.
const CALL_AGE: i64 = 30 * 24 * 3600;
/// Seconds that a mark of a forgotten call is kept, and how many of them.
const MARK_AGE: i64 = 24 * 3600;
const MARKS: i64 = 32_768;
/// Bytes of outcomes; over it the oldest lose their content.
const CONTENT: i64 = 64 * 1024 * 1024;

/// What the file may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Calls that are remembered.
    pub(super) calls: i64,
    undo_bytes: i64,
    undo_age: i64,
    clock: Clock,
}

impl Limits {
    pub(super) fn new(settings: &StoreSettings, clock: Clock) -> Self {
        Self {
            clock,
            calls: i64::from(settings.calls),
            undo_bytes: i64::try_from(settings.undo_bytes).unwrap_or(i64::MAX),
            undo_age: i64::try_from(settings.undo_age.as_secs()).unwrap_or(i64::MAX),
        }
    }

    /// The time of records.
    pub(super) fn now(&self) -> i64 {
        self.clock.now()
    }
}

/// Drops what is over the limits.
pub(super) fn tidy(tx: &Transaction<'_>, limits: Limits) -> rusqlite::Result<()> {
    let now = limits.now();
    tx.execute(
        "DELETE FROM call WHERE state = 1 AND at < CASE is_forgotten WHEN 1 THEN ?1 ELSE ?2 END",
        params![now - MARK_AGE, now - CALL_AGE],
    )?;
    tx.execute(
        "DELETE FROM call WHERE id IN (
            SELECT id FROM call WHERE is_forgotten = 1 ORDER BY id DESC LIMIT -1 OFFSET ?1)",
        [MARKS],
    )?;
    tidy_outcomes(tx)?;
    tx.execute("DELETE FROM life WHERE began < ?1", [now - 4 * CALL_AGE])?;
    undo(tx, limits, now)
}

/// Drops the content of the oldest outcomes, if they are too much by now.
pub(super) fn tidy_outcomes(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let size: i64 = tx
        .prepare_cached("SELECT coalesce(sum(size), 0) FROM call WHERE size > 0")?
        .query_row([], |row| row.get(0))?;
    if size > CONTENT {
        tx.execute(
            "UPDATE call SET outcome = NULL, size = 0 WHERE id IN (
                SELECT id FROM (
                    SELECT id, sum(size) OVER (ORDER BY id DESC) AS total
                      FROM call WHERE size > 0)
                 WHERE total > ?1)",
            [CONTENT],
        )?;
    }
    Ok(())
}

/// Makes room for intents, if there are too many by now.
pub(super) fn tidy_undo(tx: &Transaction<'_>, limits: Limits) -> rusqlite::Result<()> {
    let size: i64 = tx
        .prepare_cached("SELECT coalesce(sum(size), 0) FROM undo")?
        .query_row([], |row| row.get(0))?;
    if size > limits.undo_bytes { undo(tx, limits, limits.now()) } else { Ok(()) }
}

fn undo(tx: &Transaction<'_>, limits: Limits, now: i64) -> rusqlite::Result<()> {
    tx.execute(
        "DELETE FROM undo WHERE state != 1
            AND id IN (
                SELECT id FROM (
                    SELECT id, at, sum(size) OVER (ORDER BY id DESC) AS total FROM undo)
                 WHERE at < ?1 OR total > ?2)
            AND NOT EXISTS (
                SELECT 1 FROM call WHERE call.state = 0 AND call.team = undo.team
                   AND call.session = undo.session AND call.call_id = undo.call_id)",
        params![now.saturating_sub(limits.undo_age), limits.undo_bytes],
    )?;
    Ok(())
}
