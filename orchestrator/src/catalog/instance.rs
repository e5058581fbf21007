//! One running copy of a tool service: where it is, how to reach it, and how it is doing.
//!
//! Channel and health outlive the views that name an instance; what its health means for the next
//! call is decided in `call/eject` and `call/pick`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callboard_discovery::transport::Channel;
use callboard_discovery::{InstanceId, State};
use tokio::time::Instant;

use crate::call::eject::{Contact, Health};

/// An instance of a tool service.
#[derive(Debug)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Team that owns its service.
    pub team: String,
    /// Name of its service.
    pub service: String,
    /// Random at each start.
    pub incarnation: String,
    /// Instances with the same one share outcomes durably; empty = this incarnation only.
    pub store: String,
    /// Whether it takes new calls.
    pub state: State,
    /// Workspaces that it serves; empty = any.
    pub workspaces: Vec<String>,
    /// Digest of its descriptors, as it registered them.
    pub(crate) descriptors: String,
    channel: Channel,
    health: Arc<Mutex<Health>>,
}

impl Instance {
    /// An instance as discovery tells of it, with a channel to it.
    pub(crate) fn new(record: &callboard_discovery::Instance, channel: Channel) -> Self {
        let health = Arc::new(Mutex::new(Health::new(Instant::now())));
        Self::with(record, channel, health)
    }

    /// The same copy after its record changed: what is known of it stays.
    pub(crate) fn renewed(&self, record: &callboard_discovery::Instance) -> Self {
        Self::with(record, self.channel.clone(), Arc::clone(&self.health))
    }

    fn with(
        record: &callboard_discovery::Instance,
        channel: Channel,
        health: Arc<Mutex<Health>>,
    ) -> Self {
        Self {
            id: record.id.clone(),
            team: record.team.clone(),
            service: record.name.clone(),
            incarnation: record.incarnation.clone(),
            store: record.store.clone(),
            state: record.state,
            workspaces: record.workspaces.clone(),
            descriptors: record.descriptors.clone(),
            channel,
            health,
        }
    }

    /// Calls of this orchestrator that are under way there.
    pub fn in_flight(&self) -> u32 {
        self.health().in_flight()
    }

    /// A channel to this very instance.
    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Whether it is left out for failing.
    pub(crate) fn is_ejected(&self, now: Instant) -> bool {
        self.health().is_ejected(now)
    }

    /// Share of its latest calls that were reached; `None` while there are too few.
    pub(crate) fn success_rate(&self, now: Instant) -> Option<f64> {
        self.health().success_rate(now)
    }

    /// What another call would cost there.
    pub(crate) fn cost(&self, now: Instant) -> f64 {
        self.health().cost(now)
    }

    /// Counts a call as under way until the guard is told how it went, or dropped.
    pub(crate) fn enter(&self) -> InFlight {
        let started = Instant::now();
        self.health().started(started);
        InFlight { health: Arc::clone(&self.health), started, is_over: false }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is under way at an instance.
#[derive(Debug)]
pub(crate) struct InFlight {
    health: Arc<Mutex<Health>>,
    started: Instant,
    is_over: bool,
}

impl InFlight {
    /// The call is over.
    pub(crate) fn ended(mut self, contact: Contact) -> Duration {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.started);
        self.is_over = true;
        self.health.lock().unwrap_or_else(PoisonError::into_inner).ended(now, took, contact);
        took
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.is_over {
            self.health.lock().unwrap_or_else(PoisonError::into_inner).dropped();
        }
    }
}
