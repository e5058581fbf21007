//! How many calls of one tool may be under way at once, in all and of one team, and how many a team may
//! make in a minute. Over it a call waits, as long as its deadline allows, and is then told when to
//! come back.
//!
//! Who waits for whom is decided in `limits/queue.rs`, how often in `limits/bucket.rs`. Other limits of
//! a call are sizes (`arguments`, `settle`) and time: `deadline`, which is next.

mod bucket;
mod queue;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

use self::bucket::Bucket;
use self::queue::Queue;
use super::config::{self, Config};
use super::failure::{Failure, Kind};
use super::pattern::Globs;
use crate::catalog::Descriptor;

/// When a call that found no place may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Buckets beyond which the full ones are forgotten.
const MANY_BUCKETS: usize = 10_000;

/// The places and rates of all teams and tools.
#[derive(Debug)]
pub struct Limits {
    reading: Bounds,
    changing: Bounds,
    rates: Globs<u32>,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
    buckets: Mutex<HashMap<(String, String), Bucket>>,
}

/// What holds for a tool.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Places of one team.
    of_team: usize,
    /// Places in all.
    of_all: usize,
    /// Calls a minute of one team; 0 for any number.
    per_minute: u32,
}

/// The places of one tool.
#[derive(Debug)]
struct Gate {
    queue: Mutex<Queue<oneshot::Sender<()>>>,
}

/// A place that is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    gate: Arc<Gate>,
    team: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.free(&self.team);
    }
}

impl Gate {
    fn queue(&self) -> MutexGuard<'_, Queue<oneshot::Sender<()>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self, team: &str) {
        let next = self.queue().leave(team);
        if let Some(next) = next {
            // Whoever does not wait any more frees the place itself.
            let _ = next.send(());
        }
    }
}

/// Somebody who waits for a place. Dropped before it came, it waits no longer.
struct Waiting<'a> {
    gate: &'a Gate,
    team: &'a str,
    ticket: u64,
    has_place: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.has_place || self.gate.queue().withdraw(self.team, self.ticket) {
            return;
        }
        self.gate.free(self.team);
    }
}

impl Limits {
    /// The limits of a configuration.
    ///
    /// # Errors
    /// A glob that cannot be read.
    pub fn new(config: &Config) -> Result<Self, config::Error> {
        let count = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        Ok(Self {
            reading: Bounds {
                of_team: count(config.concurrency),
                of_all: count(config.concurrency_total),
                per_minute: config.rate,
            },
            changing: Bounds {
                of_team: count(config.concurrency_changing),
                of_all: count(config.concurrency_changing_total),
                per_minute: config.rate_changing,
            },
            rates: Globs::new("orchestrator.calls.rates", &config.rates)?,
            gates: Mutex::default(),
            buckets: Mutex::default(),
        })
    }

    /// Waits until the team may make a call of the tool and has a place for it, until `deadline` at
    /// the latest. Dropping the future takes nothing.
    ///
    /// # Errors
    /// A [`Failure`] of kind `rate_limited`.
    pub async fn enter(
        &self,
        team: &str,
        tool: &Descriptor,
        deadline: Instant,
    ) -> Result<Place, Failure> {
        let bounds = if tool.is_read_only() { self.reading } else { self.changing };
        let own = tool.calls_per_minute.unwrap_or(bounds.per_minute);
        let per_minute = self.rates.of(&tool.name).copied().unwrap_or(own);
        if per_minute > 0 {
            self.may_call((team, tool), per_minute, deadline).await?;
        }
        self.place(team, tool, bounds, deadline).await
    }

    /// Waits until the rate allows a call.
    async fn may_call(
        &self,
        (team, tool): (&str, &Descriptor),
        per_minute: u32,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let now = Instant::now();
        let key = (team.to_owned(), tool.name.clone());
        let taken = {
            let mut buckets = self.buckets();
            if buckets.len() > MANY_BUCKETS {
                buckets.retain(|_, bucket| !bucket.is_full(now));
            }
            let bucket = buckets.entry(key.clone()).or_insert_with(|| Bucket::full(now));
            bucket.take(per_minute, (now, deadline))
        };
        let at = taken.map_err(|wait| {
            let calls = if per_minute == 1 { "call" } else { "calls" };
            let words = format!(
                "the team may make {per_minute} {calls} of `{}` a minute, and has made them",
                tool.name
            );
            Failure { retry_after: Some(wait), ..Failure::new(Kind::RateLimited, words) }
        })?;
        if at > now {
            let mut unused = PutBack { limits: self, key: Some(key), per_minute };
            sleep_until(at).await;
            unused.key = None;
        }
        Ok(())
    }

    /// Waits for a place.
    async fn place(
        &self,
        team: &str,
        tool: &Descriptor,
        bounds: Bounds,
        deadline: Instant,
    ) -> Result<Place, Failure> {
        let gate = self.gate(&tool.name, bounds);
        let (told, place) = oneshot::channel();
        let entered = gate.queue().enter(team, told);
        if let Err(ticket) = entered {
            let mut waiting = Waiting { gate: &gate, team, ticket, has_place: false };
            waiting.has_place = matches!(timeout_at(deadline, place).await, Ok(Ok(())));
            if !waiting.has_place {
                return Err(full(tool, bounds));
            }
        }
        Ok(Place { gate, team: team.to_owned() })
    }

    fn gate(&self, tool: &str, bounds: Bounds) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(tool) {
            return Arc::clone(gate);
        }
        let queue = Mutex::new(Queue::new(bounds.of_team, bounds.of_all));
        let gate = Arc::new(Gate { queue });
        gates.insert(tool.to_owned(), Arc::clone(&gate));
        gate
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<(String, String), Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a call back that was given up before it might be made.
struct PutBack<'a> {
    limits: &'a Limits,
    key: Option<(String, String)>,
    per_minute: u32,
}

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key
            && let Some(bucket) = self.limits.buckets().get_mut(key)
        {
            bucket.put_back(self.per_minute);
        }
    }
}

fn full(tool: &Descriptor, bounds: Bounds) -> Failure {
    let message = format!(
        "too many calls of `{}` are under way: a team may have {}, all teams together {}; let some \
         of them finish first",
        tool.name, bounds.of_team, bounds.of_all
    );
    Failure { retry_after: Some(RETRY_AFTER), ..Failure::new(Kind::RateLimited, message) }
}

#[cfg(test)]
mod tests;
