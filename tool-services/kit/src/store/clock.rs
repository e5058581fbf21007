//! The time of a store, by which its records age: the wall clock once, when the file was made; from
//! then on what passes while the store is open. So no clock that is wrong, or jumps, makes a record
//! old before its time, and a call that is forgotten too early could be made twice.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _};
use rustix::time::{ClockId, clock_gettime};

/// The time of one store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    base: i64,
    since: Duration,
}

impl Clock {
    /// Goes on from the last time that the file tells of.
    pub(super) fn open(connection: &Connection) -> rusqlite::Result<Self> {
        let last = connection
            .query_row(
                "SELECT max(at) FROM (
                    SELECT max(at) AS at FROM call UNION ALL SELECT max(at) FROM undo
                    UNION ALL SELECT max(began) FROM life)",
                [],
                |row| row.get::<_, Option<i64>>(0),
            )
            .optional()?;
        Ok(Self { base: last.flatten().unwrap_or_else(wall), since: since_boot() })
    }

    /// Seconds since 1970, as this store counts them.
    pub(super) fn now(&self) -> i64 {
        let open = since_boot().saturating_sub(self.since).as_secs();
        self.base.saturating_add(i64::try_from(open).unwrap_or(i64::MAX))
    }
}

fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Goes on while the machine sleeps, and nobody sets it.
fn since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
