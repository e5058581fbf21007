//! What is done about a model call that failed: pure decisions, taken by [`Models`](super::Models).
//!
//! Backoff with full jitter; a provider's `Retry-After` is waited for or not waited for at all.

use std::time::Duration;

use tokio::time::Instant;

use super::error::{ModelError, ModelErrorKind};

/// First backoff; doubled with each try.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest backoff.
const BACKOFF_CAP: Duration = Duration::from_secs(8);
/// With another model in the list, nobody waits longer than this for one that asked for a pause.
const PATIENCE_WITH_ALTERNATIVE: Duration = Duration::from_secs(10);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Ask the same model again after this long.
    Retry(Duration),
    /// Ask the next model, or fail where there is none.
    GiveUp,
}

/// Everything that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// Tries made so far.
    pub(super) tries: u32,
    /// Tries allowed after the first.
    pub(super) retries: u32,
    /// Time left for all tries.
    pub(super) remaining: Duration,
    /// Whether another model comes after this one.
    pub(super) has_next: bool,
    /// Random number from 0 to 1.
    pub(super) jitter: f64,
}

pub(super) fn decide(error: &ModelError, situation: &Situation) -> Decision {
    if !error.kind.is_transient() || situation.tries > situation.retries {
        return Decision::GiveUp;
    }
    let doubled = BACKOFF.saturating_mul(1 << situation.tries.saturating_sub(1).min(10));
    let backoff = doubled.min(BACKOFF_CAP).mul_f64(situation.jitter.clamp(0.0, 1.0));
    let wait = match error.retry_after {
        Some(pause) if situation.has_next && pause > PATIENCE_WITH_ALTERNATIVE => {
            return Decision::GiveUp;
        }
        // All who were told the same pause must not come back at the same instant.
        Some(pause) => pause + backoff.min(BACKOFF),
        None => backoff,
    };
    // A try that the deadline would end before it began is none.
    if wait < situation.remaining { Decision::Retry(wait) } else { Decision::GiveUp }
}

/// Keeps retries from multiplying an outage: at most a tenth of the calls, plus one a second.
#[derive(Debug)]
pub(super) struct Budget {
    tokens: f64,
    at: Instant,
}

const BUDGET_CAP: f64 = 20.0;
const BUDGET_PER_CALL: f64 = 0.1;
const BUDGET_PER_SECOND: f64 = 1.0;

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self { tokens: BUDGET_CAP, at: now }
    }

    /// Adds what time has earned.
    pub(super) fn refill(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = (self.tokens + seconds * BUDGET_PER_SECOND).min(BUDGET_CAP);
    }

    /// Adds what one call has earned.
    pub(super) fn deposit(&mut self) {
        self.tokens = (self.tokens + BUDGET_PER_CALL).min(BUDGET_CAP);
    }

    /// Takes one retry out; false if there is none.
    pub(super) fn withdraw(&mut self) -> bool {
        let has_one = self.tokens >= 1.0;
        if has_one {
            self.tokens -= 1.0;
        }
        has_one
    }
}

/// The error for a call whose tries took all the time there was.
pub(super) fn out_of_time(whole: Duration) -> ModelError {
    let seconds = whole.as_secs_f64();
    ModelError::new(
        ModelErrorKind::Timeout,
        format!("the model gave no complete reply within {seconds} s (whole_timeout_ms)"),
    )
}

/// One error out of those of all models that were asked.
pub(super) fn summary(failures: &[(&String, ModelError, u32)]) -> ModelError {
    let Some((_, last, _)) = failures.last() else {
        return ModelError::new(ModelErrorKind::InvalidRequest, "no model was named");
    };
    let sentences: Vec<String> = failures
        .iter()
        .map(|(name, error, tries)| match tries {
            0 | 1 => format!("{name}: {}", error.message),
            tries => format!("{name}: {} (tried {tries} times)", error.message),
        })
        .collect();
    ModelError { message: sentences.join("; "), ..last.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ModelErrorKind, retry_after_s: Option<u64>) -> ModelError {
        let retry_after = retry_after_s.map(Duration::from_secs);
        ModelError { retry_after, ..ModelError::new(kind, "no") }
    }

    fn situation() -> Situation {
        let remaining = Duration::from_mins(2);
        Situation { tries: 1, retries: 2, remaining, has_next: false, jitter: 1.0 }
    }

    #[test]
    fn the_table_holds() {
        use ModelErrorKind::{InvalidRequest, RateLimited, Timeout, Unavailable};
        let ms = |ms| Decision::Retry(Duration::from_millis(ms));
        let base = situation();
        let rows = [
            ("first backoff", error(Unavailable, None), base, ms(250)),
            ("doubled", error(Unavailable, None), Situation { tries: 2, ..base }, ms(500)),
            ("jitter", error(Timeout, None), Situation { jitter: 0.5, ..base }, ms(125)),
            ("used up", error(Timeout, None), Situation { tries: 3, ..base }, Decision::GiveUp),
            ("final", error(InvalidRequest, None), base, Decision::GiveUp),
            ("pause kept", error(RateLimited, Some(12)), base, ms(12_250)),
            ("pause too long", error(RateLimited, Some(300)), base, Decision::GiveUp),
            (
                "another model is sooner",
                error(RateLimited, Some(12)),
                Situation { has_next: true, ..base },
                Decision::GiveUp,
            ),
            (
                "a short pause is waited for",
                error(RateLimited, Some(2)),
                Situation { has_next: true, jitter: 0.0, ..base },
                ms(2_000),
            ),
            (
                "no time left",
                error(Unavailable, None),
                Situation { remaining: Duration::from_millis(100), ..base },
                Decision::GiveUp,
            ),
        ];
        for (what, error, situation, expected) in rows {
            assert_eq!(decide(&error, &situation), expected, "{what}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_bounded_over_all_calls() {
        let mut budget = Budget::new(Instant::now());
        let granted = (0..100).filter(|_| budget.withdraw()).count();
        assert_eq!(granted, 20);
        (0..20).for_each(|_| budget.deposit());
        assert!(budget.withdraw());
        tokio::time::advance(Duration::from_secs(3)).await;
        budget.refill(Instant::now());
        let granted = (0..100).filter(|_| budget.withdraw()).count();
        assert!((3..=4).contains(&granted), "{granted}");
    }

    #[test]
    fn the_summary_names_every_model_that_was_asked() {
        let (a, b) = ("openai:a".to_owned(), "openai:b".to_owned());
        let first = error(ModelErrorKind::Unavailable, None);
        let second = error(ModelErrorKind::RateLimited, Some(3));
        let error = summary(&[(&a, first, 3), (&b, second, 1)]);
        assert_eq!(error.message, "openai:a: no (tried 3 times); openai:b: no");
        assert_eq!(error.kind, ModelErrorKind::RateLimited);
        assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
    }
}
