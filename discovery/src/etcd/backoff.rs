//! Pauses between tries of what must succeed in the end: they double up to a bound, with jitter so
//! that a cluster that comes back is not met by everyone at once.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    /// After a success.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }

    /// The pause before the next try.
    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (self.next * 2).min(LONGEST);
        pause.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_start_over_after_a_success() {
        let mut backoff = Backoff::new();
        let pauses: Vec<Duration> = (0..8).map(|_| backoff.pause()).collect();
        for (pause, bound) in pauses.iter().zip([50, 100, 200, 400, 800, 1600, 2000, 2000]) {
            let bound = Duration::from_millis(bound);
            assert!(*pause >= bound / 2 && *pause <= bound, "{pauses:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= FIRST);
    }
}
