//! The sessions that live in this process. Only the registry removes an actor, so that a session
//! never has two.

mod remove;

use std::{
    collections::{BTreeMap, HashMap},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use callboard_discovery::Discovery;
use futures_util::FutureExt as _;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use super::{
    actor::{Exit, SessionActor},
    clock::Clock,
    effects::Unseen,
    error::SessionError,
    handle::SessionHandle,
    mailbox::{Receiver, mailbox},
    message::Message,
    offer::Offers,
    pause::{Left, Pauses, REOPEN_AFTER},
    quarantine::Quarantine,
};
use crate::{
    call::CallPath,
    config::Config,
    journal::{Epoch, Health, Journal},
    model::Models,
    partitions::Partitions,
    run::ids::SessionId,
    status::Status,
};

/// Messages that a session may be behind.
const MAILBOX_CAPACITY: usize = 64;

/// What all sessions of a process share.
pub struct Shared {
    /// Settings.
    pub config: Config,
    /// Where events are.
    pub journal: Arc<dyn Journal>,
    /// The way to the tools.
    pub calls: Arc<CallPath>,
    /// The models.
    pub models: Arc<Models>,
    /// Sets of tools that were shown to models.
    pub offers: Offers,
    /// Where goes what nobody watches.
    pub unseen: Unseen,
    /// Whether our ownership is confirmed.
    pub discovery: Arc<dyn Discovery>,
    /// What we own.
    pub partitions: Partitions,
    /// Figures.
    pub status: Arc<Status>,
    /// What time it is where that decides something.
    pub clock: Clock,
    /// Our incarnation.
    pub incarnation: String,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("incarnation", &self.incarnation).finish_non_exhaustive()
    }
}

/// Under which right an actor acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Partition of the session.
    pub partition: u32,
    /// Epoch under which it was woken.
    pub epoch: Epoch,
}

/// The sessions that are awake.
#[derive(Debug)]
pub struct Sessions {
    shared: Arc<Shared>,
    awake: Mutex<HashMap<SessionId, Awake>>,
    tasks: TaskTracker,
    quarantine: Quarantine,
    pub(super) pauses: Pauses,
    shutdown: CancellationToken,
}

#[derive(Debug)]
struct Awake {
    handle: SessionHandle,
    ownership: Ownership,
    stop: CancellationToken,
}

impl Sessions {
    /// No session is awake yet. Actors run in `tasks` and stop at `shutdown`.
    pub fn new(shared: Arc<Shared>, tasks: TaskTracker, shutdown: CancellationToken) -> Arc<Self> {
        let (awake, quarantine) = (Mutex::default(), Quarantine::default());
        let pauses = Pauses::default();
        Arc::new(Self { shared, awake, tasks, quarantine, pauses, shutdown })
    }

    /// What all sessions share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// The session, woken if it sleeps.
    ///
    /// # Errors
    /// [`SessionError::NotOwner`]; [`SessionError::Damaged`] if it is refused.
    pub fn wake(self: &Arc<Self>, id: &SessionId) -> Result<SessionHandle, SessionError> {
        self.wake_as(id, |actor| actor)
    }

    fn wake_as(
        self: &Arc<Self>,
        id: &SessionId,
        prepare: impl FnOnce(SessionActor) -> SessionActor,
    ) -> Result<SessionHandle, SessionError> {
        let ownership = self.shared.partitions.owned(id).ok_or(SessionError::NotOwner)?;
        let mut awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = awake.get(id) {
            let is_ours = found.ownership == ownership;
            return if is_ours { Ok(found.handle.clone()) } else { Err(SessionError::Closed) };
        }
        if self.shutdown.is_cancelled() {
            return Err(SessionError::NotOwner);
        }
        let (mailbox, inbox) = mailbox(MAILBOX_CAPACITY);
        let handle = SessionHandle { mailbox };
        let stop = self.shutdown.child_token();
        if let Some(what) = self.quarantine.refusal(id, ownership) {
            return Err(SessionError::Damaged(what));
        }
        let entry = Awake { handle: handle.clone(), ownership, stop: stop.clone() };
        awake.insert(id.clone(), entry);
        callboard_telemetry::metrics::sessions_resident(
            u64::try_from(awake.len()).unwrap_or(u64::MAX),
        );
        let left = self.pauses.take(id);
        drop(awake);
        // Boxed: moving it into the task would make room for it twice.
        let mut actor = prepare(SessionActor::new(id.clone(), ownership, Arc::clone(self)));
        if let Some(left) = left {
            actor = actor.after_pause(left);
        }
        let actor = Box::new(actor);
        let registry = Arc::clone(self);
        let id = id.clone();
        self.tasks.spawn(async move {
            let (exit, left) = {
                let mut actor = actor;
                let ran = AssertUnwindSafe(actor.run(inbox, stop)).catch_unwind().await;
                let exit = ran.unwrap_or_else(|_| actor.broke());
                let left = matches!(exit, Exit::Paused).then(|| Box::new(actor.leaves()));
                (exit, left)
            };
            registry.stopped((&id, ownership), exit, left).await;
        });
        Ok(handle)
    }

    /// Runs one request against a session; a handle that closed meanwhile is asked for once more.
    ///
    /// # Errors
    /// Those of `request`, and [`SessionError::NotOwner`]; [`SessionError::Away`] at once while the
    /// journal does not answer, since nothing can be begun then.
    pub async fn with<T, F>(
        self: &Arc<Self>,
        id: &SessionId,
        request: impl Fn(SessionHandle) -> F,
    ) -> Result<T, SessionError>
    where
        F: Future<Output = Result<T, SessionError>>,
    {
        self.check_journal()?;
        match request(self.wake(id)?).await {
            Err(SessionError::Closed) => {
                // The actor folds away or stops: give it the moment that takes.
                tokio::task::yield_now().await;
                request(self.wake(id)?).await
            }
            other => other,
        }
    }

    /// The same for a session whose id nobody named before: it is not looked for in the journal. If
    /// somebody did, its first append is refused and nothing is recorded.
    ///
    /// # Errors
    /// As [`Sessions::with`].
    pub async fn with_new<T, F>(
        self: &Arc<Self>,
        id: &SessionId,
        request: impl Fn(SessionHandle) -> F,
    ) -> Result<T, SessionError>
    where
        F: Future<Output = Result<T, SessionError>>,
    {
        self.check_journal()?;
        request(self.wake_as(id, SessionActor::of_new_session)?).await
    }

    fn check_journal(&self) -> Result<(), SessionError> {
        let is_away = matches!(*self.shared.journal.health().borrow(), Health::Away(_));
        if is_away { Err(SessionError::Away) } else { Ok(()) }
    }

    /// Refuses a session that was found damaged, if it is ours.
    pub fn refuse(&self, id: &SessionId, what: &str) {
        if let Some(ownership) = self.shared.partitions.owned(id)
            && self.quarantine.refusal(id, ownership).is_none()
        {
            self.quarantine.refuse(id, ownership, what);
        }
    }

    /// Whether a session is refused: only a request for it has it looked at again.
    pub fn is_refused(&self, id: &SessionId) -> bool {
        self.quarantine.holds(id)
    }

    /// The sessions that are refused, and why.
    pub fn refused(&self) -> Vec<(SessionId, String)> {
        self.quarantine.refused()
    }

    /// Lets an idle actor go, unless a message came meanwhile.
    pub(super) fn retire(&self, id: &SessionId, inbox: &Receiver<Box<Message>>) -> bool {
        let mut awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner);
        // Who has the handle sends without this lock; who sends too late meets a closed inbox and
        // asks again.
        inbox.is_empty() && awake.remove(id).is_some()
    }

    /// Stops the actors of partitions that are no longer owned under the epoch they were woken in.
    pub fn stop_lost(&self) {
        self.quarantine.keep(|id, ownership| self.shared.partitions.owned(id) == Some(ownership));
        self.pauses.keep(|id| self.shared.partitions.owned(id).is_some());
        let awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, session) in awake.iter() {
            if self.shared.partitions.owned(id) != Some(session.ownership) {
                session.stop.cancel();
            }
        }
    }

    /// In which partitions sessions are awake, and how many.
    pub fn awake_in(&self) -> BTreeMap<u32, usize> {
        let awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = BTreeMap::new();
        for session in awake.values() {
            *count.entry(session.ownership.partition).or_default() += 1;
        }
        count
    }

    pub(super) fn each_awake(&self, act: impl Fn(&SessionHandle)) {
        let awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner);
        awake.values().for_each(|session| act(&session.handle));
    }

    async fn stopped(
        self: &Arc<Self>,
        (id, ownership): (&SessionId, Ownership),
        exit: Exit,
        left: Option<Box<Left>>,
    ) {
        {
            let mut awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever wakes it next finds it.
            if let Some(left) = left {
                self.pauses.put(id, left);
            }
            awake.remove(id);
            callboard_telemetry::metrics::sessions_resident(
                u64::try_from(awake.len()).unwrap_or(u64::MAX),
            );
        }
        match exit {
            Exit::Retired => self.quarantine.release(id),
            Exit::Stopped => {}
            Exit::Removed => self.end_removal(id).await,
            Exit::Fenced => warn!(session = %id, "another owner has taken over"),
            Exit::Damaged(what) => self.quarantine.refuse(id, ownership, &what),
            Exit::Broke(what) if self.quarantine.crashed(id, ownership, &what) => {}
            Exit::Paused => self.resume(id).await,
            Exit::AppendFailed(what) | Exit::Broke(what) => {
                warn!(session = %id, what, "stopped at a fault; the session is folded anew");
                let pause = tokio::time::sleep(REOPEN_AFTER);
                let is_over = self.shutdown.run_until_cancelled(pause).await.is_none();
                if is_over {
                    return;
                }
                if let Err(error) = self.wake_as(id, SessionActor::after_failure) {
                    warn!(session = %id, %error, "session not reopened");
                }
            }
        }
    }
}
