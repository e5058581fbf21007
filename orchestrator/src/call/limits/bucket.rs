//! How often: a bucket that holds a minute's calls and fills evenly, kept as the one moment at which it
//! is full again (the generic cell rate algorithm, ITU-T I.371). Pure.

use std::time::Duration;

use tokio::time::Instant;

/// The span that a rate is given for.
const MINUTE: Duration = Duration::from_mins(1);

/// The calls that one team may still make of one tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    full_at: Instant,
}

impl Bucket {
    /// A full one.
    pub(super) fn full(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Whether nothing is taken out of it.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }

    /// Takes a call out, of so many a minute; when it may be made, which is `limit` at the latest.
    ///
    /// # Errors
    /// How long to wait before asking again; nothing was taken.
    pub(super) fn take(
        &mut self,
        per_minute: u32,
        (now, limit): (Instant, Instant),
    ) -> Result<Instant, Duration> {
        let one = MINUTE / per_minute.max(1);
        let full_at = self.full_at.max(now) + one;
        // It holds a minute's calls: one may be made as soon as no more than these are missing.
        let at = full_at.checked_sub(MINUTE).unwrap_or(now).max(now);
        // That a call which need not wait has no time left is for its deadline to say.
        if at > now && at > limit {
            return Err(at - now);
        }
        self.full_at = full_at;
        Ok(at)
    }

    /// Puts back a call that was not made.
    pub(super) fn put_back(&mut self, per_minute: u32) {
        let one = MINUTE / per_minute.max(1);
        self.full_at = self.full_at.checked_sub(one).unwrap_or(self.full_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_calls_at_once_then_one_by_one() {
        let start = Instant::now() + 2 * MINUTE;
        let mut bucket = Bucket::full(start);
        for _ in 0..5 {
            assert_eq!(bucket.take(5, (start, start)), Ok(start));
        }
        let late = (start + Duration::from_secs(12), start);
        assert_eq!(bucket.clone().take(5, late), Ok(late.0), "it does not wait");
        // 12 s a call.
        assert_eq!(bucket.take(5, (start, start)), Err(Duration::from_secs(12)));
        let later = start + Duration::from_secs(7);
        assert_eq!(bucket.take(5, (later, later)), Err(Duration::from_secs(5)));
        let in_time = (later, later + Duration::from_secs(5));
        assert_eq!(bucket.take(5, in_time), Ok(start + Duration::from_secs(12)));
        assert_eq!(bucket.take(5, (later, later)), Err(Duration::from_secs(17)));
        bucket.put_back(5);
        assert_eq!(bucket.take(5, (later, later)), Err(Duration::from_secs(5)));
        assert!(!bucket.is_full(later));
        assert!(bucket.is_full(start + MINUTE));
    }
}
