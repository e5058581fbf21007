//! When a role that died is started again: pure, time comes in as an argument.
//!
//! Each role has a backoff and a budget of its own: roles that fall one after the other, each once,
//! are no role that cannot live. Next: `control`.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::order::RoleName;

/// Restarts of one role within [`WINDOW`] before the stack gives up.
const BUDGET: usize = 5;
/// How long a restart counts.
const WINDOW: Duration = Duration::from_mins(1);
/// The wait before the first restart of a role; doubled for each further one within the window.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What was started again, and when.
#[derive(Debug)]
pub(crate) struct Restarts {
    first_wait: Duration,
    recent: VecDeque<(Instant, RoleName)>,
    total: BTreeMap<RoleName, u64>,
}

impl Default for Restarts {
    fn default() -> Self {
        Self::new(FIRST_WAIT)
    }
}

impl Restarts {
    /// With another wait before the first restart.
    pub(crate) fn new(first_wait: Duration) -> Self {
        Self { first_wait, recent: VecDeque::new(), total: BTreeMap::new() }
    }

    /// How long to wait before `role`, which died at `now`, is started again. `None` = its budget
    /// is used up.
    pub(crate) fn after_death(&mut self, role: RoleName, now: Instant) -> Option<Duration> {
        while self.recent.front().is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.recent.pop_front();
        }
        let before = self.recent.iter().filter(|(_, other)| *other == role).count();
        if before >= BUDGET {
            return None;
        }
        self.recent.push_back((now, role));
        *self.total.entry(role).or_default() += 1;
        let doublings = u32::try_from(before).unwrap_or(u32::MAX).min(16);
        Some(self.first_wait.saturating_mul(1 << doublings).min(LONGEST_WAIT))
    }

    /// The sentence for the end that a used-up budget means; `logs` is the folder of the logs.
    pub(crate) fn gave_up(&self, role: RoleName, logs: &Path) -> String {
        let counts: Vec<String> =
            self.total.iter().map(|(role, count)| format!("{role} {count}")).collect();
        format!(
            "{role} ended again after {BUDGET} restarts within {} s ({}): giving up. Why it ends is \
             in {}",
            WINDOW.as_secs(),
            counts.join(", "),
            logs.join(format!("{role}.jsonl")).display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_for_each_role_until_the_budget_is_used_up() {
        let (mut restarts, now) = (Restarts::default(), Instant::now());
        let mut die = |role| restarts.after_death(role, now).map(|wait| wait.as_millis());
        assert_eq!(die(RoleName::Files), Some(100));
        assert_eq!(die(RoleName::Files), Some(200));
        assert_eq!(die(RoleName::Shell), Some(100));
        assert_eq!(die(RoleName::Files), Some(400));
        assert_eq!(die(RoleName::Files), Some(800));
        assert_eq!(die(RoleName::Files), Some(1600));
        assert_eq!(die(RoleName::Files), None);
        // What another role used up is not this one's.
        assert_eq!(die(RoleName::Shell), Some(200));
        let sentence = restarts.gave_up(RoleName::Files, Path::new("/state/logs"));
        assert!(sentence.contains("(files 5, shell 2)"), "{sentence}");
        assert!(sentence.ends_with("/state/logs/files.jsonl"), "{sentence}");
    }

    #[tokio::test(start_paused = true)]
    async fn old_deaths_are_forgotten() {
        let (mut restarts, now) = (Restarts::default(), Instant::now());
        for _ in 0..BUDGET {
            restarts.after_death(RoleName::Gateway, now);
        }
        let later = now + WINDOW;
        assert_eq!(restarts.after_death(RoleName::Gateway, later), Some(FIRST_WAIT));
    }
}
