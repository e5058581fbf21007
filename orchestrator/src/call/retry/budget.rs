//! How many retries a service is worth: a tenth of its calls and one a second, so that a service in
//! trouble is not called more but less.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// Retries that each call pays for.
const PER_CALL: f64 = 0.1;
/// Retries that each second pays for.
const PER_SECOND: f64 = 1.0;
/// Retries that can be saved up.
const MOST: f64 = 10.0;

/// Tokens of one service.
#[derive(Clone, Debug)]
pub struct Budget {
    tokens: f64,
    updated: Instant,
}

impl Budget {
    /// A full one.
    pub fn new(now: Instant) -> Self {
        Self { tokens: MOST, updated: now }
    }

    /// A call is made.
    pub fn earn(&mut self, now: Instant) {
        self.refill(now);
        self.tokens = (self.tokens + PER_CALL).min(MOST);
    }

    /// Takes a retry out; false if there is none left.
    pub fn spend(&mut self, now: Instant) -> bool {
        self.refill(now);
        let can = self.tokens >= 1.0;
        if can {
            self.tokens -= 1.0;
        }
        can
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.updated).as_secs_f64();
        self.tokens = (self.tokens + passed * PER_SECOND).min(MOST);
        self.updated = now;
    }
}

/// The budgets of all services, by team and name.
#[derive(Debug, Default)]
pub struct Budgets {
    services: Mutex<HashMap<(String, String), Budget>>,
}

impl Budgets {
    /// A call of a service is made.
    pub fn earn(&self, team: &str, service: &str, now: Instant) {
        self.with(team, service, now, |budget| budget.earn(now));
    }

    /// Takes a retry out of a service's budget; false if there is none left.
    pub fn spend(&self, team: &str, service: &str, now: Instant) -> bool {
        self.with(team, service, now, |budget| budget.spend(now))
    }

    fn with<T>(
        &self,
        team: &str,
        service: &str,
        now: Instant,
        act: impl FnOnce(&mut Budget) -> T,
    ) -> T {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (team.to_owned(), service.to_owned());
        act(services.entry(key).or_insert_with(|| Budget::new(now)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_service_in_trouble_gets_a_tenth_of_its_calls_and_one_a_second() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let mut granted = 0;
        for _ in 0..1_000 {
            budget.earn(start);
            granted += u32::from(budget.spend(start));
        }
        // What was saved up, and a tenth of the calls.
        assert!((108..=110).contains(&granted), "{granted}");
        assert!(!budget.spend(start));
        let later = start + Duration::from_secs(3);
        let granted = (0..10).filter(|_| budget.spend(later)).count();
        assert!((3..=4).contains(&granted), "{granted}");
    }

    #[tokio::test(start_paused = true)]
    async fn services_and_teams_do_not_share() {
        let now = Instant::now();
        let budgets = Budgets::default();
        while budgets.spend("blue", "files", now) {}
        assert!(!budgets.spend("blue", "files", now));
        assert!(budgets.spend("blue", "search", now));
        assert!(budgets.spend("red", "files", now));
    }
}
