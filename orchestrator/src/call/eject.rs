//! How an instance is doing, from what its calls told: latency, load, failures in a row.
//!
//! Pure: time comes in as a value. Whoever keeps failing at being reached is left out for a while
//! and let back by one probe; what a tool says of its own failure never counts. Which instance a
//! call goes to is decided in `pick`.

use std::time::Duration;

use tokio::time::Instant;

/// Transport failures in a row after which an instance is left out.
pub const FAILURES: u32 = 5;
/// How long it is left out at first; each time it fails its probe, twice as long.
pub const FIRST_EJECTION: Duration = Duration::from_secs(5);
/// How long at most.
pub const LONGEST_EJECTION: Duration = Duration::from_mins(2);
/// After this time without news, a latency counts a third (1/e) of what it did.
const DECAY: Duration = Duration::from_secs(10);
/// Latency assumed of an instance that was never called: short, so that it is soon tried.
const FRESH: Duration = Duration::from_millis(1);
/// Added to every latency, so that load counts even where calls take no time.
const FLOOR: Duration = Duration::from_micros(100);
/// A failure counts as this slow at least, or whoever fails fast would look like the fastest.
const PENALTY: Duration = Duration::from_secs(1);

/// State of one instance, as this orchestrator sees it.
#[derive(Clone, Debug)]
pub struct Health {
    /// Peak-sensitive moving average of the latency, in seconds.
    latency: f64,
    updated: Instant,
    in_flight: u32,
    failures: u32,
    ejections: u32,
    ejected_until: Option<Instant>,
    is_probing: bool,
}

impl Health {
    /// An instance that nobody knows yet.
    pub fn new(now: Instant) -> Self {
        Self {
            latency: FRESH.as_secs_f64(),
            updated: now,
            in_flight: 0,
            failures: 0,
            ejections: 0,
            ejected_until: None,
            is_probing: false,
        }
    }

    /// Calls under way.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// What another call would cost there: latency times calls under way.
    pub fn cost(&self, now: Instant) -> f64 {
        (self.decayed(now) + FLOOR.as_secs_f64()) * f64::from(self.in_flight + 1)
    }

    /// True while it is left out. Once the time is over, one call probes it, and until that call
    /// has ended it stays left out for others.
    pub fn is_ejected(&self, now: Instant) -> bool {
        self.ejected_until.is_some_and(|until| now < until || self.is_probing)
    }

    /// A call goes there.
    pub fn started(&mut self, now: Instant) {
        self.in_flight += 1;
        self.is_probing |= self.ejected_until.is_some_and(|until| now >= until);
    }

    /// A call that went there is over, `took` after it was sent: `was_reached` is false if no
    /// answer came that a working service gives.
    pub fn ended(&mut self, now: Instant, took: Duration, was_reached: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let seen = if was_reached { took } else { took.max(PENALTY) };
        self.observe(now, seen.as_secs_f64());
        if was_reached {
            self.failures = 0;
            self.ejections = 0;
            self.ejected_until = None;
            self.is_probing = false;
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let has_failed_probe = std::mem::take(&mut self.is_probing);
        if has_failed_probe || (self.failures >= FAILURES && self.ejected_until.is_none()) {
            let doubled =
                FIRST_EJECTION.saturating_mul(2_u32.saturating_pow(self.ejections.min(16)));
            self.ejected_until = Some(now + doubled.min(LONGEST_EJECTION));
            self.ejections = self.ejections.saturating_add(1);
        }
    }

    /// A call that went there was given up by us; it says nothing about the instance.
    pub fn dropped(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.is_probing = false;
    }

    /// Peaks are believed at once, better times slowly.
    fn observe(&mut self, now: Instant, seen: f64) {
        let known = self.decayed(now);
        self.latency = if seen > known {
            seen
        } else {
            let weight = decay(now.saturating_duration_since(self.updated));
            // Even a quick succession of calls moves the average a little.
            let weight = weight.min(0.9);
            known * weight + seen * (1.0 - weight)
        };
        self.updated = now;
    }

    /// What is left of the last latency after a time without news.
    fn decayed(&self, now: Instant) -> f64 {
        self.latency * decay(now.saturating_duration_since(self.updated))
    }
}

fn decay(idle: Duration) -> f64 {
    (-idle.as_secs_f64() / DECAY.as_secs_f64()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn fail(health: &mut Health, now: Instant, times: u32) {
        for _ in 0..times {
            health.started(now);
            health.ended(now, MS, false);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn five_failures_in_a_row_eject_and_a_success_forgets_them() {
        let now = Instant::now();
        let mut health = Health::new(now);
        fail(&mut health, now, FAILURES - 1);
        assert!(!health.is_ejected(now));
        health.started(now);
        health.ended(now, MS, true);
        fail(&mut health, now, FAILURES - 1);
        assert!(!health.is_ejected(now), "the row was broken");
        fail(&mut health, now, 1);
        assert!(health.is_ejected(now));
        assert!(health.is_ejected(now + FIRST_EJECTION - MS));
        assert!(!health.is_ejected(now + FIRST_EJECTION), "a probe is let through");
    }

    #[tokio::test(start_paused = true)]
    async fn one_probe_at_a_time_decides_about_coming_back() {
        let start = Instant::now();
        let mut health = Health::new(start);
        fail(&mut health, start, FAILURES);
        let mut now = start + FIRST_EJECTION;
        health.started(now);
        assert!(health.is_ejected(now), "others wait for the probe");
        health.ended(now, MS, false);
        assert!(health.is_ejected(now + FIRST_EJECTION), "twice as long");
        now += FIRST_EJECTION * 2;
        assert!(!health.is_ejected(now));
        health.started(now);
        health.ended(now, MS, true);
        assert!(!health.is_ejected(now));
        fail(&mut health, now, 1);
        assert!(!health.is_ejected(now), "the record is clean again");
    }

    #[tokio::test(start_paused = true)]
    async fn an_ejection_never_grows_past_its_bound() {
        let mut now = Instant::now();
        let mut health = Health::new(now);
        fail(&mut health, now, FAILURES);
        for _ in 0..40 {
            now += LONGEST_EJECTION;
            assert!(!health.is_ejected(now));
            fail(&mut health, now, 1);
        }
        assert!(health.is_ejected(now + LONGEST_EJECTION - MS));
        assert!(!health.is_ejected(now + LONGEST_EJECTION));
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_we_gave_up_lets_the_next_one_through() {
        let start = Instant::now();
        let mut health = Health::new(start);
        fail(&mut health, start, FAILURES);
        let now = start + FIRST_EJECTION;
        health.started(now);
        health.dropped();
        assert!(!health.is_ejected(now));
        assert_eq!(health.in_flight(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn cost_grows_with_load_and_latency_and_peaks_fade() {
        let start = Instant::now();
        let mut slow = Health::new(start);
        let mut fast = Health::new(start);
        for health in [&mut slow, &mut fast] {
            health.started(start);
        }
        slow.ended(start, MS * 100, true);
        fast.ended(start, MS * 10, true);
        assert!(slow.cost(start) > fast.cost(start) * 9.0);
        for _ in 0..9 {
            fast.started(start);
        }
        assert!(fast.cost(start) > slow.cost(start) * 0.9, "ten at once are ten times the cost");
        let later = start + DECAY * 4;
        assert!(slow.cost(later) < MS.as_secs_f64() * 6.0, "{}", slow.cost(later));
    }

    #[tokio::test(start_paused = true)]
    async fn failing_fast_is_no_way_to_look_fast() {
        let now = Instant::now();
        let mut failing = Health::new(now);
        let mut working = Health::new(now);
        failing.started(now);
        failing.ended(now, MS, false);
        working.started(now);
        working.ended(now, MS * 200, true);
        assert!(failing.cost(now) > working.cost(now));
    }

    #[tokio::test(start_paused = true)]
    async fn quick_calls_in_a_row_bring_a_peak_down() {
        let now = Instant::now();
        let mut health = Health::new(now);
        health.started(now);
        health.ended(now, MS * 1_000, true);
        for _ in 0..50 {
            health.started(now);
            health.ended(now, MS, true);
        }
        assert!(health.cost(now) < 0.01, "{}", health.cost(now));
    }
}
