//! Runs each call in a task of its own, keyed by team, session and call id. Streams subscribe to it
//! and losing one ends nothing: only [`Calls::cancel`], the call's own deadline and [`Calls::drain`]
//! do. Fence and outcomes lie under one lock, so that an owner is checked and a call claimed before
//! any work. Next: what happens inside the task, `calls/perform.rs`.

mod perform;
mod subscription;

use std::{
    collections::HashSet,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use callboard_proto::tool as wire;
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument as _, Span, error, info, warn};

use self::perform::{Ended, Work, perform};
pub(crate) use self::{perform::panic_text, subscription::Subscription};
use crate::{
    call::{Call, Facts, Glimpse},
    fence::{Fence, Fenced, Owner},
    outcomes::{Digest, Key, Known, Outcomes},
    served::Served,
};

/// Glimpses that a slow stream may lag behind before it loses the oldest.
const GLIMPSES: usize = 16;
/// After the limit of a drain, the time in which stopped calls may end by themselves.
pub(crate) const DRAIN_GRACE: Duration = Duration::from_secs(2);

/// A call as it was asked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) owner: Owner,
    pub(crate) incarnation: String,
    pub(crate) key: Key,
    pub(crate) digest: Digest,
    pub(crate) mode: Mode,
}

/// Whether a call may be started.
#[derive(Debug)]
pub(crate) enum Mode {
    /// Start it, or subscribe to it if it was started already.
    Start(Box<Start>),
    /// Only subscribe. Its arguments are compared if it has any.
    Attach { has_arguments: bool },
}

/// What it takes to start a call.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) tool: Arc<dyn Served>,
    pub(crate) arguments: Bytes,
    pub(crate) facts: Facts,
    pub(crate) deadline: Instant,
}

/// Why a message was refused; nothing was started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Fenced(Fenced),
    OtherIncarnation,
    Draining,
    Full,
    UnknownCall,
    OutcomeGone,
    OtherArguments,
    Busy,
}

/// A call at work.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) digest: Digest,
    /// Whether its tool can change something.
    pub(crate) changes: bool,
    cancel: CancellationToken,
    glimpses: broadcast::Sender<Glimpse>,
    settled: watch::Receiver<Option<Arc<wire::Outcome>>>,
}

/// All calls of a service.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    incarnation: String,
    capacity: usize,
    ledger: Mutex<Ledger>,
    tasks: TaskTracker,
    /// Fires when a drain has waited long enough.
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct Ledger {
    fence: Fence,
    outcomes: Outcomes,
    undoing: HashSet<Key>,
    draining: bool,
}

/// The right to take back one call; dropping it gives the right back.
#[derive(Debug)]
pub(crate) struct Undoing {
    shared: Arc<Shared>,
    key: Key,
}

impl Calls {
    /// No calls yet; at most `capacity` at once.
    pub(crate) fn new(incarnation: String, capacity: usize) -> Self {
        let ledger = Mutex::default();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self { shared: Arc::new(Shared { incarnation, capacity, ledger, tasks, stop }) }
    }

    /// Starts the call or attaches to it.
    pub(crate) fn invoke(&self, wanted: Wanted) -> Result<Subscription, Refusal> {
        let mut ledger = self.shared.ledger();
        self.shared.admit(&mut ledger, &wanted.owner, &wanted.incarnation)?;
        match ledger.outcomes.find(&wanted.key) {
            Some(Known::Running(running)) => {
                wanted.compare(&running.digest)?;
                Ok(Subscription::running(&running))
            }
            Some(Known::Settled { digest, outcome }) => {
                wanted.compare(&digest)?;
                Ok(Subscription::settled(outcome))
            }
            Some(Known::Gone) => Err(Refusal::OutcomeGone),
            None => match wanted.mode {
                Mode::Attach { .. } => Err(Refusal::UnknownCall),
                Mode::Start(start) => self.start(&mut ledger, wanted.key, wanted.digest, *start),
            },
        }
    }

    /// Asks a call to end. False if there is no such call.
    pub(crate) fn cancel(&self, owner: &Owner, key: &Key) -> Result<bool, Refusal> {
        let mut ledger = self.shared.ledger();
        ledger.fence.pass(owner).map_err(Refusal::Fenced)?;
        match ledger.outcomes.find(key) {
            Some(Known::Running(running)) => {
                running.cancel.cancel();
                Ok(true)
            }
            Some(Known::Settled { .. } | Known::Gone) => Ok(true),
            None => Ok(false),
        }
    }

    /// Lets a rollback pass under the same rules as a call that starts, one at a time for a call.
    pub(crate) fn undo(
        &self,
        owner: &Owner,
        incarnation: &str,
        key: Key,
    ) -> Result<Undoing, Refusal> {
        let mut ledger = self.shared.ledger();
        self.shared.admit(&mut ledger, owner, incarnation)?;
        if ledger.draining {
            return Err(Refusal::Draining);
        }
        let is_running = matches!(ledger.outcomes.find(&key), Some(Known::Running(_)));
        if is_running || !ledger.undoing.insert(key.clone()) {
            return Err(Refusal::Busy);
        }
        Ok(Undoing { shared: Arc::clone(&self.shared), key })
    }

    /// Drops the outcomes of settled calls.
    pub(crate) fn forget(&self, keys: impl IntoIterator<Item = Key>) {
        let mut ledger = self.shared.ledger();
        for key in keys {
            ledger.outcomes.forget(&key);
        }
    }

    /// Starts nothing more, waits for the calls at work up to `limit`, then stops them.
    pub(crate) async fn drain(&self, limit: Duration) {
        self.shared.ledger().draining = true;
        self.shared.tasks.close();
        if timeout(limit, self.shared.tasks.wait()).await.is_ok() {
            return;
        }
        info!(calls = self.shared.ledger().outcomes.running(), "stopping calls that did not end");
        self.shared.stop.cancel();
        if timeout(DRAIN_GRACE + perform::ABORT_GRACE, self.shared.tasks.wait()).await.is_err() {
            warn!("a call could not be stopped");
        }
    }

    fn start(
        &self,
        ledger: &mut Ledger,
        key: Key,
        digest: Digest,
        start: Start,
    ) -> Result<Subscription, Refusal> {
        let changes = !start.tool.about().behaviour.read_only;
        if ledger.draining {
            return Err(Refusal::Draining);
        }
        if ledger.outcomes.running() >= self.shared.capacity
            || (changes && ledger.outcomes.is_full())
        {
            return Err(Refusal::Full);
        }
        let key = Arc::new(key);
        let (glimpses, _) = broadcast::channel(GLIMPSES);
        let (settle, settled) = watch::channel(None);
        let cancel = CancellationToken::new();
        let call = Call::telling(start.facts, start.deadline, glimpses.clone());
        let running = Arc::new(Running { digest, changes, cancel, glimpses, settled });
        let subscription = Subscription::running(&running);
        ledger.outcomes.claim(Arc::clone(&key), Arc::clone(&running));

        let work = Work::new(start.tool, start.arguments, call);
        let (shared, cancel) = (Arc::clone(&self.shared), running.cancel.clone());
        let task = async move {
            let ended = perform(work, &shared.tasks, &cancel, &shared.stop).await;
            let outcome = shared.settle(&key, ended);
            settle.send_replace(Some(outcome));
        };
        self.shared.tasks.spawn(task.instrument(Span::current()));
        Ok(subscription)
    }
}

#[cfg(test)]
impl Running {
    /// A call that nobody works on or listens to.
    pub(crate) fn unheard(digest: Digest, changes: bool) -> Arc<Self> {
        let (glimpses, settled) = (broadcast::Sender::new(1), watch::channel(None).1);
        Arc::new(Self { digest, changes, cancel: CancellationToken::new(), glimpses, settled })
    }
}

impl Undoing {
    /// Does the work in a task of its own, which a lost caller does not end. None if it panicked.
    pub(crate) async fn run<F>(self, work: F) -> Option<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let tasks = self.shared.tasks.clone();
        let work = async move {
            let output = work.await;
            drop(self);
            output
        };
        match tasks.spawn(work.instrument(Span::current())).await {
            Ok(output) => Some(output),
            Err(fault) => {
                error!(%fault, "a rollback failed inside");
                None
            }
        }
    }
}

impl Drop for Undoing {
    fn drop(&mut self) {
        self.shared.ledger().undoing.remove(&self.key);
    }
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Nothing panics while it holds the lock, and each change to the ledger is one step.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fence first: a newer owner is believed even where it means another incarnation.
    fn admit(&self, ledger: &mut Ledger, owner: &Owner, incarnation: &str) -> Result<(), Refusal> {
        ledger.fence.pass(owner).map_err(Refusal::Fenced)?;
        if incarnation == self.incarnation { Ok(()) } else { Err(Refusal::OtherIncarnation) }
    }

    fn settle(&self, key: &Arc<Key>, ended: Ended) -> Arc<wire::Outcome> {
        let outcome = Arc::new(ended.outcome);
        let mut ledger = self.ledger();
        if ended.started {
            ledger.outcomes.settle(key, Arc::clone(&outcome), Instant::now());
        } else {
            ledger.outcomes.release(key);
        }
        outcome
    }
}

impl Wanted {
    fn compare(&self, digest: &Digest) -> Result<(), Refusal> {
        let stated = match self.mode {
            Mode::Start(_) => true,
            Mode::Attach { has_arguments } => has_arguments,
        };
        if stated && self.digest != *digest { Err(Refusal::OtherArguments) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
