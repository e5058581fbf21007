//! How an instance is doing, from what its calls told: latency, load, failures in a row.
//!
//! Pure: time comes in as a value. Whoever is not there, or keeps failing at being reached, is left
//! out for a while and let back by one probe, and so is, among many, the one that fails far more often than the
//! others ([`outliers`]); what a tool says of its own failure never counts. Which instance a call
//! goes to is decided in `pick`.

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
/// Instances that must be compared for one to be an outlier.
pub const MIN_PEERS: usize = 5;
/// A success rate that is never held against anybody.
pub const POOR: f64 = 0.9;
/// Calls, faded ones counted in part, that say something about a rate.
const ENOUGH_CALLS: f64 = 10.0;
/// A failure counts as this slow at least, or whoever fails fast would look like the fastest.
const PENALTY: Duration = Duration::from_secs(1);

/// What came of a call, for the instance that it went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// It did what a working service does.
    Answered,
    /// It was there, and no answer came that a working service gives.
    Failed,
    /// Nobody was there.
    Nobody,
}

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
    /// Calls that were reached, and all calls; both fade with time.
    reached: f64,
    calls: f64,
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
            reached: 0.0,
            calls: 0.0,
        }
    }

    /// Share of the latest calls that were reached, 0 to 1; `None` while there are too few to say.
    pub fn success_rate(&self, now: Instant) -> Option<f64> {
        let left = decay(now.saturating_duration_since(self.updated));
        (self.calls * left >= ENOUGH_CALLS).then(|| self.reached / self.calls)
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

    /// A call that went there is over, `took` after it was sent. Where nobody is, nobody else is sent:
    /// discovery may list for its whole lease who has died.
    pub fn ended(&mut self, now: Instant, took: Duration, contact: Contact) {
        let was_reached = contact == Contact::Answered;
        self.in_flight = self.in_flight.saturating_sub(1);
        let left = decay(now.saturating_duration_since(self.updated));
        self.calls = self.calls * left + 1.0;
        self.reached = self.reached * left + if was_reached { 1.0 } else { 0.0 };
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
        let is_enough = self.failures >= FAILURES || contact == Contact::Nobody;
        if has_failed_probe || (is_enough && self.ejected_until.is_none()) {
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

/// Which of several instances fail far more often than the others: more than three standard
/// deviations below the mean, and less than [`POOR`]. Too few of them, or too few calls, and none
/// is.
pub fn outliers(rates: &[Option<f64>]) -> Vec<bool> {
    let known: Vec<f64> = rates.iter().copied().flatten().collect();
    if known.len() < MIN_PEERS {
        return vec![false; rates.len()];
    }
    let is_far_off = |rate: f64| {
        // One bad instance among few would hide itself in a deviation that it makes.
        let others: Vec<f64> = {
            let mut others = known.clone();
            if let Some(own) = others.iter().position(|other| other.total_cmp(&rate).is_eq()) {
                others.swap_remove(own);
            }
            others
        };
        let count = f64::from(u32::try_from(others.len()).unwrap_or(u32::MAX));
        let mean = others.iter().sum::<f64>() / count;
        let variance = others.iter().map(|other| (other - mean).powi(2)).sum::<f64>() / count;
        rate < POOR && rate < mean - 3.0 * variance.sqrt()
    };
    rates.iter().map(|rate| rate.is_some_and(is_far_off)).collect()
}

fn decay(idle: Duration) -> f64 {
    (-idle.as_secs_f64() / DECAY.as_secs_f64()).exp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn fail(health: &mut Health, now: Instant, times: u32) {
        for _ in 0..times {
            health.started(now);
            health.ended(now, MS, Contact::Failed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn five_failures_in_a_row_eject_and_a_success_forgets_them() {
        let now = Instant::now();
        let mut health = Health::new(now);
        fail(&mut health, now, FAILURES - 1);
        assert!(!health.is_ejected(now));
        health.started(now);
        health.ended(now, MS, Contact::Answered);
        fail(&mut health, now, FAILURES - 1);
        assert!(!health.is_ejected(now), "the row was broken");
        fail(&mut health, now, 1);
        assert!(health.is_ejected(now));
        assert!(health.is_ejected(now + FIRST_EJECTION - MS));
        assert!(!health.is_ejected(now + FIRST_EJECTION), "a probe is let through");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_not_there_is_left_out_at_once() {
        let now = Instant::now();
        let mut health = Health::new(now);
        health.started(now);
        health.started(now);
        health.ended(now, MS, Contact::Nobody);
        assert!(health.is_ejected(now));
        // A call that was on its way says no more than the first one.
        health.ended(now + MS, MS, Contact::Nobody);
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
        health.ended(now, MS, Contact::Failed);
        assert!(health.is_ejected(now + FIRST_EJECTION), "twice as long");
        now += FIRST_EJECTION * 2;
        assert!(!health.is_ejected(now));
        health.started(now);
        health.ended(now, MS, Contact::Answered);
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
        slow.ended(start, MS * 100, Contact::Answered);
        fast.ended(start, MS * 10, Contact::Answered);
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
        failing.ended(now, MS, Contact::Failed);
        working.started(now);
        working.ended(now, MS * 200, Contact::Answered);
        assert!(failing.cost(now) > working.cost(now));
    }

    #[test]
    fn one_that_fails_far_more_often_than_many_others_is_an_outlier() {
        let good = Some(0.99);
        for (rates, bad) in [
            (vec![good, good, Some(0.98), good, Some(0.4)], vec![4]),
            (vec![good, Some(0.5), good, good, Some(0.4), good, good], vec![]),
            (vec![good, good, good, Some(0.4)], vec![]),
            (vec![good, good, good, None, Some(0.4)], vec![]),
            (vec![Some(0.5), Some(0.3), Some(0.6), Some(0.4), Some(0.2)], vec![]),
            (vec![good, good, good, good, Some(0.95)], vec![]),
            (vec![Some(0.0); 6], vec![]),
            (vec![], vec![]),
        ] {
            let found: Vec<usize> = outliers(&rates)
                .into_iter()
                .enumerate()
                .filter_map(|(nth, is_one)| is_one.then_some(nth))
                .collect();
            assert_eq!(found, bad, "{rates:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_rate_takes_some_calls_and_fades() {
        let now = Instant::now();
        let mut health = Health::new(now);
        for nth in 0..20 {
            health.started(now);
            let contact = if nth % 4 == 0 { Contact::Failed } else { Contact::Answered };
            health.ended(now, MS, contact);
        }
        assert!((health.success_rate(now).unwrap() - 0.75).abs() < 1e-9);
        assert_eq!(health.success_rate(now + DECAY), None, "twenty calls count for seven by then");
    }

    #[tokio::test(start_paused = true)]
    async fn quick_calls_in_a_row_bring_a_peak_down() {
        let now = Instant::now();
        let mut health = Health::new(now);
        health.started(now);
        health.ended(now, MS * 1_000, Contact::Answered);
        for _ in 0..50 {
            health.started(now);
            health.ended(now, MS, Contact::Answered);
        }
        assert!(health.cost(now) < 0.01, "{}", health.cost(now));
    }

    /// Something that happens to an instance.
    #[derive(Clone, Copy, Debug)]
    enum Happening {
        Started,
        Reached(u64),
        Lost(u64),
        Dropped,
        Passed(u64),
    }

    fn happening() -> impl Strategy<Value = Happening> {
        prop_oneof![
            Just(Happening::Started),
            (0..2_000_u64).prop_map(Happening::Reached),
            (0..2_000_u64).prop_map(Happening::Lost),
            Just(Happening::Dropped),
            (0..200_000_u64).prop_map(Happening::Passed),
        ]
    }

    proptest! {
        #[test]
        fn whatever_happens_health_stays_sane(happenings in prop::collection::vec(happening(), 0..80)) {
            let mut now = Instant::now();
            let mut health = Health::new(now);
            let (mut open, mut in_a_row) = (0_u32, 0_u32);
            for happening in happenings {
                match happening {
                    Happening::Started => {
                        health.started(now);
                        open += 1;
                    }
                    Happening::Reached(ms) => {
                        health.ended(now, MS * u32::try_from(ms).unwrap(), Contact::Answered);
                        (open, in_a_row) = (open.saturating_sub(1), 0);
                    }
                    Happening::Lost(ms) => {
                        health.ended(now, MS * u32::try_from(ms).unwrap(), Contact::Failed);
                        (open, in_a_row) = (open.saturating_sub(1), in_a_row + 1);
                    }
                    Happening::Dropped => {
                        health.dropped();
                        open = open.saturating_sub(1);
                    }
                    Happening::Passed(ms) => now += Duration::from_millis(ms),
                }
                prop_assert_eq!(health.in_flight(), open);
                prop_assert!(health.cost(now).is_finite() && health.cost(now) > 0.0);
                prop_assert!(health.success_rate(now).is_none_or(|rate| (0.0..=1.0).contains(&rate)));
                prop_assert!(!health.is_ejected(now) || in_a_row >= FAILURES);
                if open == 0 && !health.is_probing {
                    prop_assert!(!health.is_ejected(now + LONGEST_EJECTION));
                }
            }
        }
    }
}
