//! Working time of a run: what passes while it does not wait for a person.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Counts the working time of the current run.
#[derive(Debug)]
pub(super) struct WorkClock {
    before: Duration,
    working_since: Option<Instant>,
}

impl WorkClock {
    /// A clock that stands at the working time of a run that was folded.
    pub(super) fn at(elapsed_ms: u64) -> Self {
        Self { before: Duration::from_millis(elapsed_ms), working_since: None }
    }

    /// Starts again from zero, for another run.
    pub(super) fn reset(&mut self) {
        *self = Self::at(0);
    }

    /// Lets the clock run or stand.
    pub(super) fn set_working(&mut self, is_working: bool) {
        match (self.working_since, is_working) {
            (None, true) => self.working_since = Some(Instant::now()),
            (Some(_), false) => *self = Self { before: self.elapsed(), working_since: None },
            (Some(_), true) | (None, false) => {}
        }
    }

    /// Working time so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.before + self.working_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Working time so far in milliseconds.
    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Wall time, Unix time in milliseconds. It orders nothing.
pub(crate) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
