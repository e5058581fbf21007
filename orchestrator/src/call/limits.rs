//! How many calls of one tool a team may have under way at once. Over it a call waits, as long as
//! its deadline allows, and is then told to come back later.
//!
//! Other limits of a call are sizes (`arguments`, `settle`) and time: `deadline`, which is next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::config::Config;
use super::failure::{Failure, Kind};
use crate::catalog::Descriptor;

/// When a call that found no place may try again.
const RETRY_AFTER: std::time::Duration = std::time::Duration::from_secs(1);

/// The places of all teams and tools.
#[derive(Debug)]
pub struct Limits {
    reading: usize,
    changing: usize,
    places: Mutex<HashMap<(String, String), Arc<Semaphore>>>,
}

/// A place that is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Limits {
    /// The limits of a configuration.
    pub fn new(config: &Config) -> Self {
        let count = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        Self {
            reading: count(config.concurrency),
            changing: count(config.concurrency_changing),
            places: Mutex::new(HashMap::new()),
        }
    }

    /// Waits for a place, in the order of asking, until `deadline`.
    ///
    /// # Errors
    /// A [`Failure`] of kind `rate_limited`.
    pub async fn enter(
        &self,
        team: &str,
        tool: &Descriptor,
        deadline: Instant,
    ) -> Result<Place, Failure> {
        let places = self.places_of(team, tool);
        if let Ok(Ok(permit)) = timeout_at(deadline, places.acquire_owned()).await {
            return Ok(Place { _permit: permit });
        }
        let limit = if tool.is_read_only() { self.reading } else { self.changing };
        let message = format!(
            "the team has {limit} calls of `{}` under way, which is the limit; let some of them \
             finish first",
            tool.name
        );
        let failure = Failure::new(Kind::RateLimited, message);
        Err(Failure { retry_after: Some(RETRY_AFTER), ..failure })
    }

    fn places_of(&self, team: &str, tool: &Descriptor) -> Arc<Semaphore> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (team.to_owned(), tool.name.clone());
        let limit = if tool.is_read_only() { self.reading } else { self.changing };
        let of_tool = places
            .entry(key)
            .or_insert_with(|| Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))));
        Arc::clone(of_tool)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::catalog::tool::sample;

    fn limits(concurrency: u32) -> Limits {
        Limits::new(&Config { concurrency, concurrency_changing: 1, ..Config::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_over_the_limit_waits_for_a_place_and_gets_it() {
        let limits = Arc::new(limits(2));
        let tool = sample::descriptor("files", "look");
        let deadline = Instant::now() + Duration::from_secs(5);
        let first = limits.enter("blue", &tool, deadline).await.unwrap();
        let _second = limits.enter("blue", &tool, deadline).await.unwrap();
        let (waiting, asked) = (Arc::clone(&limits), tool.clone());
        let third = tokio::spawn(async move { waiting.enter("blue", &asked, deadline).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!third.is_finished());
        drop(first);
        assert!(third.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_finds_no_place_in_time_is_told_when_to_come_back() {
        let limits = limits(1);
        let tool = sample::descriptor("files", "look");
        let start = Instant::now();
        let _held = limits.enter("blue", &tool, start).await.unwrap();
        let deadline = start + Duration::from_millis(300);
        let failure = limits.enter("blue", &tool, deadline).await.unwrap_err();
        assert_eq!(failure.kind, Kind::RateLimited);
        assert_eq!(failure.retry_after, Some(RETRY_AFTER));
        assert_eq!(Instant::now(), deadline);
        assert!(limits.enter("red", &tool, start).await.is_ok(), "another team has its own places");
        let other = sample::descriptor("files", "other");
        assert!(limits.enter("blue", &other, start).await.is_ok(), "another tool, too");
    }

    #[tokio::test(start_paused = true)]
    async fn tools_that_change_things_have_fewer_places() {
        let limits = limits(8);
        let mut tool = sample::descriptor("files", "write");
        tool.annotations.read_only = false;
        let now = Instant::now();
        let _held = limits.enter("blue", &tool, now).await.unwrap();
        assert!(limits.enter("blue", &tool, now).await.is_err());
    }
}
