//! Times: the working time of a run, which is what passes while it does not wait for a person; the
//! time that decides, which no jump of the wall clock moves; and the wall clock itself, for readers.

use std::{
    sync::atomic::{AtomicI64, Ordering::Relaxed},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;
use tracing::warn;

/// How far the wall clock may be from where it should be before that is said, in milliseconds.
const JUMP_MS: i64 = 60_000;

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

/// Wall time, Unix time in milliseconds, for those who read it. It orders and decides nothing.
pub(crate) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time that decides: what outlives a process, such as the end of an approval, is a moment of it.
/// It is what the wall clock said when the process began, and what has passed since, sleep of the
/// machine included. So a clock that is set while we run makes nobody late; between two processes the
/// skew of their clocks stays.
#[derive(Debug)]
pub struct Clock {
    began_ms: i64,
    began: Duration,
    /// How far off the wall clock was when that was last said.
    said_ms: AtomicI64,
}

impl Clock {
    /// A clock that begins now.
    pub fn new() -> Self {
        Self::at(wall_ms(), since_boot())
    }

    fn at(began_ms: i64, began: Duration) -> Self {
        Self { began_ms, began, said_ms: AtomicI64::new(0) }
    }

    /// Unix time in milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.now_at(since_boot())
    }

    fn now_at(&self, boot: Duration) -> i64 {
        let passed = boot.saturating_sub(self.began).as_millis();
        self.began_ms.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }

    /// Says so where the wall clock has jumped, once for each jump.
    pub(crate) fn watch(&self) {
        if let Some(off_ms) = self.jumped(wall_ms(), since_boot()) {
            warn!(off_ms, "the wall clock was set; deadlines stay where they were");
        }
    }

    /// How far off the wall clock is, if it has jumped since that was last asked.
    fn jumped(&self, wall_ms: i64, boot: Duration) -> Option<i64> {
        let off_ms = wall_ms.saturating_sub(self.now_at(boot));
        let has_jumped = off_ms.saturating_sub(self.said_ms.load(Relaxed)).abs() > JUMP_MS;
        has_jumped.then(|| {
            self.said_ms.store(off_ms, Relaxed);
            off_ms
        })
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Goes on while the machine sleeps, and nobody sets it.
fn since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn boot(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_decides_is_the_time_that_passes() {
        let clock = Clock::at(1_700_000_000_000, boot(50));
        assert_eq!(clock.now_at(boot(50)), 1_700_000_000_000);
        assert_eq!(clock.now_at(boot(53)), 1_700_000_003_000);
        assert_eq!(clock.now_at(boot(40)), 1_700_000_000_000, "it never goes back");
        let real = Clock::new();
        assert!((real.now_ms() - wall_ms()).abs() < JUMP_MS);
    }

    #[test]
    fn each_jump_is_said_once_and_none_moves_the_time() {
        let (clock, began) = (Clock::at(HOUR_MS * 24, boot(0)), HOUR_MS * 24);
        // Wall clock after so many seconds, and what is said then.
        for (seconds, off_ms, said) in [
            (10, 0, None),
            (20, 59_000, None),
            (30, HOUR_MS, Some(HOUR_MS)),
            (40, HOUR_MS + 100, None),
            (50, 0, Some(0)),
            (60, -HOUR_MS, Some(-HOUR_MS)),
            (70, -HOUR_MS, None),
            (80, i64::MIN, Some(i64::MIN)),
        ] {
            let now = began + i64::try_from(seconds).unwrap() * 1_000;
            let found = clock.jumped(now.saturating_add(off_ms), boot(seconds));
            let said = said.map(|said: i64| now.saturating_add(said).saturating_sub(now));
            assert_eq!(found, said, "after {seconds} s");
            assert_eq!(clock.now_at(boot(seconds)), now);
        }
    }
}
