//! A request that waits until somebody can answer it: woken by discovery, bounded in number and
//! time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use callboard_discovery::{Instance, InstanceId, LiveSet, Owners};
use tokio::{
    sync::{SemaphorePermit, watch},
    time::{Instant, sleep_until},
};

use super::Shared;
use crate::problem::Problem;

/// Pauses between two attempts at an orchestrator that does not answer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The wait of one request.
pub(super) struct Wait<'a> {
    shared: &'a Shared,
    live: watch::Receiver<LiveSet>,
    owners: watch::Receiver<Owners>,
    deadline: Instant,
    pause: Duration,
    /// A place among those that wait; taken with the first wait.
    place: Option<SemaphorePermit<'a>>,
}

impl<'a> Wait<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            live: shared.discovery.live(),
            owners: shared.discovery.owners(),
            deadline: Instant::now() + shared.park,
            pause: PAUSES.0,
            place: None,
        }
    }

    /// Who is alive; a later change wakes the wait.
    pub(super) fn live(&mut self) -> Arc<BTreeMap<InstanceId, Instance>> {
        Arc::clone(&self.live.borrow_and_update().instances)
    }

    /// Who owns what; a later change wakes the wait.
    pub(super) fn owners(&mut self) -> Owners {
        Arc::clone(&self.owners.borrow_and_update())
    }

    /// Until discovery shows a change.
    pub(super) async fn for_owner(&mut self) -> Result<(), Problem> {
        self.until(None).await
    }

    /// Until discovery shows a change or a pause is over, each longer than the one before.
    pub(super) async fn after_failure(&mut self) -> Result<(), Problem> {
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSES.1);
        self.until(Some(Instant::now() + pause)).await
    }

    async fn until(&mut self, pause: Option<Instant>) -> Result<(), Problem> {
        if self.place.is_none() {
            let place = self.shared.parked.try_acquire();
            self.place = Some(place.map_err(|_| nobody(self.shared.park))?);
        }
        let over = pause.unwrap_or(self.deadline).min(self.deadline);
        let (live, owners) = (&mut self.live, &mut self.owners);
        tokio::select! {
            () = async {
                // A view that ended brings no news: only the clock ends the wait then.
                tokio::select! {
                    Ok(()) = live.changed() => {}
                    Ok(()) = owners.changed() => {}
                    else => std::future::pending().await,
                }
            } => Ok(()),
            () = sleep_until(over) => {
                if Instant::now() >= self.deadline { Err(nobody(self.shared.park)) } else { Ok(()) }
            }
        }
    }
}

fn nobody(waited: Duration) -> Problem {
    Problem::unavailable(format!(
        "No orchestrator could answer within {} s. Is one running? Try again.",
        waited.as_secs()
    ))
}
