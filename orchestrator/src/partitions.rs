//! The partitions that this orchestrator owns: claimed in discovery, then in the journal, and only
//! then ours. Who should own which is said by discovery; what moves is handed over in `handover`, and
//! what is unfinished is woken at the pace of `wake`.

mod handover;
mod wake;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use callboard_discovery::{Discovery, Held, Registration};
use tokio::{sync::watch, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use self::{handover::Handover, wake::WakeQueue};
use crate::{
    crash::crash_point,
    journal::{Epoch, JournalError},
    run::ids::SessionId,
    session::{Ownership, Sessions},
};

/// How often sessions are looked for whose time has come.
const WAKE_EVERY: Duration = Duration::from_secs(1);
/// How often the queue of sessions to wake, and what is being handed over, are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Pauses before a claim that the journal did not answer is repeated: the first, and the longest.
const CLAIM_AGAIN_AFTER: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(4));

/// What this orchestrator owns now. Clones share it.
#[derive(Clone, Debug)]
pub struct Partitions {
    count: u32,
    owned: Arc<RwLock<Owned>>,
}

#[derive(Debug, Default)]
struct Owned {
    epochs: BTreeMap<u32, Epoch>,
    /// Those of them in which nothing begins any more: they are being handed over.
    leaving: BTreeSet<u32>,
}

impl Partitions {
    /// Nothing is owned yet of `count` partitions.
    pub fn new(count: u32) -> Self {
        Self { count, owned: Arc::default() }
    }

    /// The partition of a session.
    pub fn of(&self, session: &SessionId) -> u32 {
        callboard_proto::partition_of(session.as_str(), self.count)
    }

    /// Under which right we may act for a session; `None` if we do not own its partition, or hand
    /// it over.
    pub fn owned(&self, session: &SessionId) -> Option<Ownership> {
        let partition = self.of(session);
        let owned = self.read();
        let epoch = owned.epochs.get(&partition).filter(|_| !owned.leaving.contains(&partition));
        epoch.map(|epoch| Ownership { partition, epoch: *epoch })
    }

    /// The partitions that are owned and not handed over.
    pub fn all(&self) -> Vec<u32> {
        let owned = self.read();
        owned.epochs.keys().filter(|it| !owned.leaving.contains(it)).copied().collect()
    }

    /// Whether a partition is being handed over to another owner.
    pub fn is_leaving(&self, partition: u32) -> bool {
        self.read().leaving.contains(&partition)
    }

    fn epochs(&self) -> BTreeMap<u32, Epoch> {
        self.read().epochs.clone()
    }

    fn set(&self, epochs: BTreeMap<u32, Epoch>) {
        let count = u64::try_from(epochs.len()).unwrap_or(u64::MAX);
        callboard_telemetry::metrics::partitions_owned(count);
        let mut owned = self.owned.write().unwrap_or_else(PoisonError::into_inner);
        owned.leaving.retain(|partition| epochs.contains_key(partition));
        owned.epochs = epochs;
    }

    /// Nothing begins in these from now on.
    fn leave(&self, partitions: &[u32]) {
        let mut owned = self.owned.write().unwrap_or_else(PoisonError::into_inner);
        owned.leaving.extend(partitions);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Owned> {
        self.owned.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Claims partitions for the deployment, wakes what is unfinished in them and hands over what another
/// should own, until `shutdown`.
///
/// # Errors
/// Discovery takes no claims of this registration.
pub async fn hold(
    sessions: Arc<Sessions>,
    (discovery, deployment): (Arc<dyn Discovery>, &str),
    registration: &Registration,
    shutdown: CancellationToken,
) -> Result<(), callboard_discovery::Error> {
    let partitions = sessions.shared().partitions.clone();
    let mut held = discovery.claim(registration, partitions.count).await?;
    let mut replaced = sessions.shared().journal.replaced();
    let mut health = sessions.shared().journal.health();
    let mut queue = WakeQueue::default();
    let mut handover = Handover::new(Arc::clone(&sessions), discovery.live(), registration);
    let (mut due, mut look) = (every(WAKE_EVERY), every(LOOK_EVERY));
    loop {
        let own = (registration, deployment);
        let mut again_after = CLAIM_AGAIN_AFTER.0;
        while let Err(error) = take(&sessions, &held, own, &mut queue).await {
            if again_after == CLAIM_AGAIN_AFTER.0 {
                warn!(%error, "partitions not claimed in the journal yet");
            }
            let pause = tokio::time::sleep(again_after);
            if shutdown.run_until_cancelled(pause).await.is_none() {
                return Ok(());
            }
            again_after = (again_after * 2).min(CLAIM_AGAIN_AFTER.1);
        }
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                changed = held.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return Ok(()),
                },
                Ok(()) = replaced.changed() => {
                    warn!("the journal is another one than before: all is claimed anew");
                    partitions.set(BTreeMap::new());
                    sessions.stop_lost();
                    break;
                }
                Ok(()) = health.changed() => {
                    let now = health.borrow_and_update().clone();
                    sessions.tell_health(&now);
                }
                _ = look.tick() => {
                    queue.wake_some(&sessions);
                    handover.look().await;
                }
                _ = due.tick() => {
                    sessions.shared().clock.watch();
                    queue.add_due(&sessions).await;
                }
            }
        }
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Makes what discovery says the truth here: lets go what was lost, claims what is new.
async fn take(
    sessions: &Arc<Sessions>,
    held: &watch::Receiver<Held>,
    (registration, deployment): (&Registration, &str),
    queue: &mut WakeQueue,
) -> Result<(), JournalError> {
    let shared = sessions.shared();
    let held = Arc::clone(&held.borrow());
    let mut owned = shared.partitions.epochs();
    owned.retain(|partition, epoch| held.get(partition) == Some(&epoch.revision));
    // What was lost is let go whether or not the journal answers.
    shared.partitions.set(owned.clone());
    sessions.stop_lost();
    let generation = shared.journal.generation().await?;
    owned.retain(|_, epoch| epoch.generation == generation);
    let epoch = |revision: &u64| Epoch { generation, revision: *revision };
    let new: Vec<(u32, Epoch)> = held
        .iter()
        .filter(|(partition, _)| !owned.contains_key(partition))
        .map(|(partition, revision)| (*partition, epoch(revision)))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    // It may have been given to another one since we started.
    shared.journal.belong(deployment).await?;
    crash_point!("claim.before_journal");
    let accepted = shared.journal.claim(&new, &shared.incarnation).await?;
    crash_point!("claim.after_journal");
    let accepted: BTreeSet<u32> = accepted.into_iter().collect();
    let (won, refused): (Vec<_>, Vec<_>) =
        new.into_iter().partition(|(partition, _)| accepted.contains(partition));
    owned.extend(won);
    shared.partitions.set(owned);
    sessions.stop_lost();
    info!(partitions = accepted.len(), "partitions claimed");
    if !refused.is_empty() {
        error!(
            refused = refused.len(),
            "the journal has seen newer claims: if etcd was restored from a backup, run `callboard \
             journal raise-generation` once"
        );
        // A key that gives no right keeps others from claiming it.
        let refused = refused.into_iter().map(|(partition, _)| partition).collect();
        if let Err(error) = registration.let_go(refused).await {
            warn!(%error, "claims that the journal refused are not given back yet");
        }
    }
    let accepted: Vec<u32> = accepted.into_iter().collect();
    queue.add(&shared.journal.unfinished(&accepted).await?);
    queue.wake_some(sessions);
    Ok(())
}
