//! The partitions that this orchestrator owns: claimed in discovery, then in the journal, and only
//! then ours. Which partitions should move where is left to discovery.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use callboard_discovery::{Discovery, Held, Registration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    journal::{Epoch, JournalError, SessionRow},
    run::ids::SessionId,
    session::{Ownership, Sessions},
};

/// How often sessions are looked for whose time has come.
const WAKE_EVERY: Duration = Duration::from_secs(1);
/// Pause before a claim that the journal did not answer is repeated.
const CLAIM_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// What this orchestrator owns now. Clones share it.
#[derive(Clone, Debug)]
pub struct Partitions {
    count: u32,
    owned: Arc<RwLock<BTreeMap<u32, Epoch>>>,
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

    /// Under which right we may act for a session; `None` if we do not own its partition.
    pub fn owned(&self, session: &SessionId) -> Option<Ownership> {
        let partition = self.of(session);
        let owned = self.owned.read().unwrap_or_else(PoisonError::into_inner);
        owned.get(&partition).map(|epoch| Ownership { partition, epoch: *epoch })
    }

    /// The partitions that are owned.
    pub fn all(&self) -> Vec<u32> {
        self.owned.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    fn set(&self, owned: BTreeMap<u32, Epoch>) {
        let count = u64::try_from(owned.len()).unwrap_or(u64::MAX);
        callboard_telemetry::metrics::partitions_owned(count);
        *self.owned.write().unwrap_or_else(PoisonError::into_inner) = owned;
    }
}

/// Claims partitions and wakes what is unfinished in them, until `shutdown`.
///
/// # Errors
/// Discovery takes no claims of this registration.
pub async fn hold(
    sessions: Arc<Sessions>,
    discovery: Arc<dyn Discovery>,
    registration: &Registration,
    shutdown: CancellationToken,
) -> Result<(), callboard_discovery::Error> {
    let partitions = sessions.shared().partitions.clone();
    let mut held = discovery.claim(registration, partitions.count).await?;
    let mut replaced = sessions.shared().journal.replaced();
    let mut tick = tokio::time::interval(WAKE_EVERY);
    loop {
        while let Err(error) = take(&sessions, &held).await {
            warn!(%error, "partitions not claimed in the journal yet");
            let pause = tokio::time::sleep(CLAIM_AGAIN_AFTER);
            if shutdown.run_until_cancelled(pause).await.is_none() {
                return Ok(());
            }
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
                _ = tick.tick() => wake_due(&sessions).await,
            }
        }
    }
}

/// Makes what discovery says the truth here: lets go what was lost, claims what is new.
async fn take(sessions: &Arc<Sessions>, held: &watch::Receiver<Held>) -> Result<(), JournalError> {
    let shared = sessions.shared();
    let held = Arc::clone(&held.borrow());
    let before = shared.partitions.owned.read().unwrap_or_else(PoisonError::into_inner).clone();
    let generation = shared.journal.generation().await?;
    let wanted: BTreeMap<u32, Epoch> = held
        .iter()
        .map(|(partition, revision)| (*partition, Epoch { generation, revision: *revision }))
        .collect();
    let mut owned = before.clone();
    owned.retain(|partition, epoch| wanted.get(partition) == Some(epoch));
    let new: Vec<(u32, Epoch)> =
        wanted.into_iter().filter(|(partition, _)| !owned.contains_key(partition)).collect();
    shared.partitions.set(owned.clone());
    sessions.stop_lost();
    if new.is_empty() {
        return Ok(());
    }
    let accepted = shared.journal.claim(&new, &shared.incarnation).await?;
    if accepted.len() < new.len() {
        error!(
            refused = new.len() - accepted.len(),
            "the journal has seen newer claims: if discovery was restored from a backup, raise \
             the generation of the deployment"
        );
    }
    owned.extend(new.into_iter().filter(|(partition, _)| accepted.contains(partition)));
    shared.partitions.set(owned);
    info!(partitions = accepted.len(), "partitions claimed");
    let unfinished = shared.journal.unfinished(&accepted).await?;
    wake(sessions, &unfinished);
    Ok(())
}

async fn wake_due(sessions: &Arc<Sessions>) {
    let shared = sessions.shared();
    let now = crate::session::wall_ms();
    match shared.journal.due(&shared.partitions.all(), now).await {
        Ok(due) => wake(sessions, &due),
        Err(error) => warn!(%error, "sessions that are due cannot be listed"),
    }
}

fn wake(sessions: &Arc<Sessions>, rows: &[SessionRow]) {
    for row in rows {
        if let Err(error) = sessions.wake(&row.id) {
            warn!(session = %row.id, %error, "session not woken");
        }
    }
}
