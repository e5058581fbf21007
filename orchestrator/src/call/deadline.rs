//! How long a call may take: the smaller of what its run has left and what its tool asks for, over
//! all of its attempts. Services are told the same number (`grpc-timeout`); our own timer gives them
//! a moment more, so that what they say of a timeout is heard.
//!
//! Pure. Who waits until then is `attempts`, which is next.

use std::time::Duration;

use tokio::time::Instant;

/// Kept back of the run's time, so that the run ends in words and not in the middle of a call.
pub const RESERVE: Duration = Duration::from_millis(50);
/// How much longer than the service we wait.
pub const GRACE: Duration = Duration::from_millis(80);

/// The end of a call's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
}

impl Deadline {
    /// The deadline of a call that begins now.
    pub fn new(now: Instant, run_remaining: Duration, tool: Duration) -> Self {
        Self { at: now + run_remaining.saturating_sub(RESERVE).min(tool) }
    }

    /// When it is.
    pub fn at(self) -> Instant {
        self.at
    }

    /// What is left for an attempt that begins now; `None` if that is nothing worth beginning.
    pub fn left(self, now: Instant) -> Option<Duration> {
        let left = self.at.saturating_duration_since(now);
        (left >= Duration::from_millis(1)).then_some(left)
    }

    /// When we stop waiting for an answer.
    pub fn give_up(self) -> Instant {
        self.at + GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_smaller_of_both_times_counts() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        for (run, tool, left) in [
            (ms(600_000), ms(30_000), Some(ms(30_000))),
            (ms(1_000), ms(30_000), Some(ms(950))),
            (ms(51), ms(30_000), Some(ms(1))),
            (ms(50), ms(30_000), None),
            (ms(0), ms(30_000), None),
            (Duration::MAX, ms(10), Some(ms(10))),
        ] {
            let deadline = Deadline::new(now, run, tool);
            assert_eq!(deadline.left(now), left, "{run:?} {tool:?}");
            assert_eq!(deadline.give_up(), deadline.at() + GRACE);
        }
        let deadline = Deadline::new(now, ms(10_000), ms(100));
        assert_eq!(deadline.left(now + ms(40)), Some(ms(60)));
        assert_eq!(deadline.left(now + ms(100)), None);
    }
}
