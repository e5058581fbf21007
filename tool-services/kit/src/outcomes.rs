//! What became of each call, by key, so that a repeat is answered with the first outcome and never
//! runs twice. In memory: it lives as long as this incarnation. Pure; `calls.rs` holds it under one
//! lock with the fence. A call that was never started leaves no record, nor does one that changes
//! nothing and failed for a passing reason: sent again, it is tried again.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use callboard_proto::tool as wire;
use prost::Message as _;
use tokio::time::Instant;

use crate::calls::Running;

/// Bytes of remembered outcomes; over it the oldest lose their content.
const CONTENT: usize = 16 * 1024 * 1024;
/// Outcomes of calls that change nothing; the oldest are dropped, for they may run again.
const READS: usize = 10_000;
/// How long such an outcome is kept.
const READ_AGE: Duration = Duration::from_mins(10);
/// Outcomes of calls that change something; over it new ones are refused until some are forgotten.
const CHANGES: usize = 100_000;
/// How long the outcome of a change that nobody forgot is kept.
const CHANGE_AGE: Duration = Duration::from_hours(30 * 24);
/// Marks of forgotten changes, against a start that was under way while its call was settled.
const MARKS: usize = 32_768;

/// What names a call: ids are unique within a session only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) team: String,
    pub(crate) session: String,
    pub(crate) call_id: String,
}

/// SHA-256 of what the call was asked to do.
pub(crate) type Digest = [u8; 32];

/// What is known of a call.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It is at work.
    Running(Arc<Running>),
    /// It ended so.
    Settled { digest: Digest, outcome: Arc<wire::Outcome> },
    /// It was started and ended; how is no longer known.
    Gone,
}

/// The records of all calls.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    records: HashMap<Arc<Key>, Record>,
    reads: BTreeMap<u64, Arc<Key>>,
    changes: BTreeMap<u64, Arc<Key>>,
    /// Changes that still have their content, oldest first.
    full: BTreeMap<u64, Arc<Key>>,
    content: usize,
    next: u64,
    marks: Marks,
}

#[derive(Debug)]
enum Record {
    Running(Arc<Running>),
    Settled(Settled),
}

#[derive(Debug)]
struct Settled {
    number: u64,
    at: Instant,
    digest: Digest,
    /// Absent once its content was dropped to save memory.
    outcome: Option<Arc<wire::Outcome>>,
    size: usize,
}

impl Outcomes {
    /// What is known of a call; nothing if it may be started.
    pub(crate) fn find(&self, key: &Key) -> Option<Known> {
        match self.records.get(key) {
            Some(Record::Running(running)) => Some(Known::Running(Arc::clone(running))),
            Some(Record::Settled(settled)) => Some(match &settled.outcome {
                Some(outcome) => {
                    Known::Settled { digest: settled.digest, outcome: Arc::clone(outcome) }
                }
                None => Known::Gone,
            }),
            None => self.marks.contains(key).then_some(Known::Gone),
        }
    }

    /// True while another change must not be started, because its outcome could not be remembered.
    pub(crate) fn is_full(&self) -> bool {
        self.changes.len() >= CHANGES
    }

    /// Records that a call is at work.
    pub(crate) fn claim(&mut self, key: Arc<Key>, running: Arc<Running>) {
        self.records.insert(key, Record::Running(running));
    }

    /// Drops the claim of a call that was not started after all.
    pub(crate) fn release(&mut self, key: &Key) {
        if let Some(Record::Running(_)) = self.records.get(key) {
            self.records.remove(key);
        }
    }

    /// Records how a claimed call ended, or drops the claim if it may simply be tried again.
    pub(crate) fn settle(&mut self, key: &Arc<Key>, outcome: Arc<wire::Outcome>, now: Instant) {
        let Some(Record::Running(running)) = self.records.get(key) else { return };
        let (digest, changes) = (running.digest, running.changes);
        // Remembered, the failure would be the answer to every retry at this instance.
        if !changes && is_passing(&outcome) {
            return self.release(key);
        }
        let number = self.next;
        self.next += 1;
        let size = outcome.encoded_len();
        self.content += size;
        let settled = Settled { number, at: now, digest, outcome: Some(outcome), size };
        self.records.insert(Arc::clone(key), Record::Settled(settled));
        if changes {
            self.changes.insert(number, Arc::clone(key));
            self.full.insert(number, Arc::clone(key));
        } else {
            self.reads.insert(number, Arc::clone(key));
        }
        self.expire(now);
        self.shed();
    }

    /// Drops the outcome of a settled call; one that is at work keeps its record.
    pub(crate) fn forget(&mut self, key: &Key) {
        let Some(Record::Settled(settled)) = self.records.get(key) else { return };
        if self.changes.contains_key(&settled.number) {
            self.marks.add(key);
        }
        self.remove(key);
    }

    /// Drops the outcomes of all settled calls of a session.
    pub(crate) fn forget_session(&mut self, team: &str, session: &str) {
        let is_its = |key: &&Arc<Key>| key.team == team && key.session == session;
        let keys: Vec<Arc<Key>> = self.records.keys().filter(is_its).cloned().collect();
        for key in &keys {
            self.forget(key);
        }
    }

    /// Calls at work.
    pub(crate) fn running(&self) -> usize {
        self.records.len() - self.reads.len() - self.changes.len()
    }

    fn expire(&mut self, now: Instant) {
        while let Some(key) = self.reads.values().next().cloned() {
            if self.reads.len() <= READS && self.age(&key, now) < READ_AGE {
                break;
            }
            self.remove(&key);
        }
        while let Some(key) = self.changes.values().next().cloned() {
            if self.age(&key, now) < CHANGE_AGE {
                break;
            }
            self.marks.add(&key);
            self.remove(&key);
        }
    }

    /// Reads go first, for they may run again; a change keeps its record and loses its content.
    fn shed(&mut self) {
        while self.content > CONTENT {
            if let Some(key) = self.reads.values().next().cloned() {
                self.remove(&key);
                continue;
            }
            let Some((_, key)) = self.full.pop_first() else { break };
            if let Some(Record::Settled(settled)) = self.records.get_mut(&key) {
                settled.outcome = None;
                self.content -= std::mem::take(&mut settled.size);
            }
        }
    }

    fn age(&self, key: &Key, now: Instant) -> Duration {
        match self.records.get(key) {
            Some(Record::Settled(settled)) => now.saturating_duration_since(settled.at),
            Some(Record::Running(_)) | None => Duration::ZERO,
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(Record::Settled(settled)) = self.records.remove(key) {
            self.content -= settled.size;
            self.reads.remove(&settled.number);
            self.changes.remove(&settled.number);
            self.full.remove(&settled.number);
        }
    }
}

/// Whether a call failed for a reason that may be gone the next time.
fn is_passing(outcome: &wire::Outcome) -> bool {
    let Some(wire::outcome::Result::Failure(failure)) = &outcome.result else { return false };
    matches!(
        failure.kind(),
        wire::FailureKind::Unavailable
            | wire::FailureKind::Timeout
            | wire::FailureKind::RateLimited
    )
}

/// Hashes of the keys that were forgotten last. A false match refuses a start, which is safe.
#[derive(Debug, Default)]
struct Marks {
    hashes: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Marks {
    fn contains(&self, key: &Key) -> bool {
        !self.hashes.is_empty() && self.hashes.contains(&hash(key))
    }

    fn add(&mut self, key: &Key) {
        let hash = hash(key);
        if !self.hashes.insert(hash) {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > MARKS
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
    }
}

fn hash(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
