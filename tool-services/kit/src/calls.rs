//! Runs each call in a task of its own, keyed by team, session and call id. Streams subscribe to it
//! and losing one ends nothing: only [`Calls::cancel`], the call's own deadline and [`Calls::drain`]
//! do. Fence and outcomes lie under one lock, so that an owner is checked and a call claimed before
//! any work. Next: who is let in, `calls/admit.rs`; then what happens inside the task.

mod admit;
mod durable;
mod perform;
mod running;
mod subscription;
mod undo;

use std::{
    collections::HashSet,
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
use tracing::{Instrument as _, Span, info, warn};

pub(crate) use self::{
    perform::panic_text,
    running::Running,
    subscription::Subscription,
    undo::{Undoing, Wanted as WantedBack},
};
use self::{
    perform::{Ended, Work, perform},
    running::{Admission, Ends},
};
use crate::{
    Intents,
    call::{Call, Facts},
    fence::{Fence, Fenced, Owner},
    outcomes::{Digest, Key, Known, Outcomes},
    served::Served,
    store::{Fault, Opened, Store},
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
    /// Always there for [`Mode::Start`]; else absent if the tool is not served any more.
    pub(crate) start: Option<Box<Start>>,
}

/// Whether a call may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Start it, or subscribe to it if it was started already.
    Start,
    /// Only subscribe. Its arguments are compared if it has any.
    Attach { has_arguments: bool },
}

/// What it takes to start a call, or to find out what became of it.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) tool: Arc<dyn Served>,
    pub(crate) arguments: Bytes,
    pub(crate) facts: Facts,
    pub(crate) deadline: Instant,
}

/// Why a message was refused; nothing was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Fenced(Fenced),
    OtherIncarnation,
    Draining,
    Full,
    UnknownCall,
    OutcomeGone,
    OtherArguments,
    Busy,
    Store(Fault),
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
    /// Where what was done is kept for the next incarnation; only of a service that changes things.
    store: Option<Store>,
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
    /// Other incarnations that keep, or kept, their records in our store.
    kin: HashSet<String>,
    draining: bool,
}

impl Calls {
    /// No calls yet; at most `capacity` at once.
    pub(crate) fn new(incarnation: String, capacity: usize, opened: Option<Opened>) -> Self {
        let mut ledger = Ledger::default();
        let store = opened.map(|Opened { store, floors }| {
            for owner in floors {
                // More than are kept in memory cannot be in the store.
                let _ = ledger.fence.pass(&owner);
            }
            store
        });
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let ledger = Mutex::new(ledger);
        Self { shared: Arc::new(Shared { incarnation, capacity, store, ledger, tasks, stop }) }
    }

    /// Starts the call or attaches to it.
    pub(crate) async fn invoke(&self, mut wanted: Wanted) -> Result<Subscription, Refusal> {
        self.shared.admit(&wanted.owner, &wanted.incarnation).await?;
        loop {
            let running = match self.meet(&mut wanted)? {
                Met::Settled(outcome) => return Ok(Subscription::settled(outcome)),
                Met::Running(running) => running,
            };
            let admitted = running.admitted().await;
            if wanted.is_stated() && !running.is_stated {
                // What was found was not compared with what is wanted.
                continue;
            }
            match admitted {
                Ok(()) => return Ok(Subscription::running(&running)),
                // Somebody only asked for a call that was not started: now it may be.
                Err(Refusal::UnknownCall) if wanted.mode == Mode::Start => {}
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// What a call that is only judged sees of the store. It is not claimed, so it keeps nothing.
    pub(crate) fn intents(&self, key: Key, tool: &str) -> Intents {
        let store = self.shared.store.clone();
        store.map_or_else(Intents::default, |store| Intents::new(store, Arc::new(key), tool))
    }

    /// Asks a call to end. False if there is no such call.
    pub(crate) async fn cancel(&self, owner: &Owner, key: &Key) -> Result<bool, Refusal> {
        self.shared.fence(owner).await?;
        let ledger = self.shared.ledger();
        match ledger.outcomes.find(key) {
            Some(Known::Running(running)) => {
                running.cancel.cancel();
                Ok(true)
            }
            Some(Known::Settled { .. } | Known::Gone) => Ok(true),
            None => Ok(false),
        }
    }

    /// Drops the outcomes of settled calls. What the store cannot drop now expires there.
    pub(crate) async fn forget(&self, keys: Vec<Key>) {
        let settled: Vec<Key> = {
            let mut ledger = self.shared.ledger();
            for key in &keys {
                ledger.outcomes.forget(key);
            }
            let is_running =
                |key: &Key| matches!(ledger.outcomes.find(key), Some(Known::Running(_)));
            keys.into_iter().filter(|key| !is_running(key)).collect()
        };
        if let Some(store) = &self.shared.store
            && let Err(fault) = store.forget(settled).await
        {
            warn!(%fault, "outcomes were not forgotten");
        }
    }

    /// Drops all that is kept of a session's calls, those at work excepted.
    pub(crate) async fn forget_session(&self, team: &str, session: &str) -> Result<(), Fault> {
        self.shared.ledger().outcomes.forget_session(team, session);
        match &self.shared.store {
            Some(store) => store.forget_session(team, session).await,
            None => Ok(()),
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

    /// What is known of a call in this process; claims it if nothing is.
    fn meet(&self, wanted: &mut Wanted) -> Result<Met, Refusal> {
        let mut ledger = self.shared.ledger();
        // Again under the lock under which the call is claimed: a newer owner may have come.
        ledger.fence.pass(&wanted.owner).map_err(Refusal::Fenced)?;
        match ledger.outcomes.find(&wanted.key) {
            Some(Known::Running(running)) => {
                if running.is_stated {
                    wanted.compare(&running.digest)?;
                }
                Ok(Met::Running(running))
            }
            Some(Known::Settled { digest, outcome }) => {
                wanted.compare(&digest)?;
                Ok(Met::Settled(outcome))
            }
            Some(Known::Gone) => Err(Refusal::OutcomeGone),
            None => self.begin(&mut ledger, wanted).map(Met::Running),
        }
    }

    /// Begins the task of a call that this process knows nothing of.
    fn begin(&self, ledger: &mut Ledger, wanted: &mut Wanted) -> Result<Arc<Running>, Refusal> {
        let start = wanted.start.take();
        let changes = start.as_ref().is_none_or(|it| !it.tool.about().behaviour.read_only);
        // What changes nothing is not in the store.
        let store = self.shared.store.clone().filter(|_| changes);
        if wanted.mode == Mode::Start {
            if ledger.draining {
                return Err(Refusal::Draining);
            }
            if ledger.outcomes.running() >= self.shared.capacity
                || (changes && ledger.outcomes.is_full())
            {
                return Err(Refusal::Full);
            }
        } else if store.is_none() {
            return Err(Refusal::UnknownCall);
        }
        let key = Arc::new(wanted.key.clone());
        let (glimpses, _) = broadcast::channel(GLIMPSES);
        let (settle, settled) = watch::channel(None);
        let begun = if store.is_some() { Admission::Asked } else { Admission::Given };
        let (admission, admitted) = watch::channel(begun);
        let cancel = CancellationToken::new();
        let running = Arc::new(Running {
            digest: wanted.digest,
            is_stated: wanted.is_stated(),
            changes,
            cancel: cancel.clone(),
            glimpses,
            admission: admitted,
            settled,
        });
        ledger.outcomes.claim(Arc::clone(&key), Arc::clone(&running));
        let (ends, shared) = (Ends { admission, settle }, Arc::clone(&self.shared));
        match (store, start) {
            (Some(store), start) => {
                let claimed =
                    durable::Claimed { shared, store, key, ends, running: Arc::clone(&running) };
                let task = claimed.run(wanted.owner.clone(), wanted.mode, start);
                self.shared.tasks.spawn(task.instrument(Span::current()));
            }
            (None, Some(start)) => {
                let call = Call::telling(start.facts, start.deadline, running.glimpses.clone());
                let work = Work::new(start.tool, start.arguments, call);
                let task = async move {
                    let ended = perform(work, &shared.tasks, &cancel, &shared.stop).await;
                    ends.settle.send_replace(Some(shared.settle(&key, ended)));
                };
                self.shared.tasks.spawn(task.instrument(Span::current()));
            }
            (None, None) => {
                ledger.outcomes.release(&key);
                return Err(Refusal::UnknownCall);
            }
        }
        Ok(running)
    }
}

/// What was met under a call's key.
enum Met {
    Running(Arc<Running>),
    Settled(Arc<wire::Outcome>),
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Nothing panics while it holds the lock, and each change to the ledger is one step.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers in this process how a call ended.
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
    fn is_stated(&self) -> bool {
        match self.mode {
            Mode::Start => true,
            Mode::Attach { has_arguments } => has_arguments,
        }
    }

    fn compare(&self, digest: &Digest) -> Result<(), Refusal> {
        if self.is_stated() && self.digest != *digest {
            Err(Refusal::OtherArguments)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
