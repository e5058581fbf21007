//! [2] of the path of a tool call: finds the orchestrator that owns a session and asks it; next is
//! [3] `orchestrator/src/agent_service.rs`.
//!
//! A request without an owner waits for one (`orchestrators/wait.rs`). Streams are followed across
//! owners in `orchestrators/follow.rs`; whether a failed request may be sent again is decided in
//! `orchestrators/answer.rs`, that an owner was replaced is
//! noticed in `orchestrators/moved.rs`, the connections are in `orchestrators/channels.rs`, and what takes several
//! answers in `orchestrators/pages.rs`.

mod answer;
mod channels;
mod follow;
mod moved;
mod pages;
mod wait;

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use callboard_discovery::{Discovery, Instance, Role, State, transport::Credentials};
use callboard_proto::{PARTITIONS, agent::Owner, partition_of};
use callboard_telemetry::propagate;
use tokio::{sync::Semaphore, time::timeout};
use tonic::{Request, Response, Status};
use tracing::warn;

use self::{answer::Answer, channels::Channels, wait::Wait};
use crate::problem::Problem;

pub(crate) use self::{
    channels::Client,
    follow::{Follow, Follower, Told},
};

/// Requests that may wait for an owner at once.
const PARKED: usize = 1024;
/// Time for one orchestrator to answer one request.
const ANSWER: Duration = Duration::from_secs(10);
/// How often a request is passed on because another orchestrator owns the session.
const HOPS: u32 = 4;

/// What is asked, as far as finding somebody who answers needs it. Everything may be sent twice: what
/// begins or decides something carries an id or a key that makes a repeat harmless.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// The session; none for what every orchestrator can answer.
    pub(crate) session: Option<&'a str>,
    /// Whether it starts something, which an orchestrator that leaves does not take.
    pub(crate) is_new_work: bool,
}

impl<'a> Ask<'a> {
    /// Something about a session.
    pub(crate) fn about(session: &'a str) -> Self {
        Self { session: Some(session), is_new_work: false }
    }

    /// Something that begins in a session.
    pub(crate) fn begin(session: &'a str) -> Self {
        Self { is_new_work: true, ..Self::about(session) }
    }

    /// Something that every orchestrator can answer.
    pub(crate) fn any() -> Self {
        Self { session: None, is_new_work: false }
    }
}

/// The orchestrators as this gateway knows them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Orchestrators {
    shared: Arc<Shared>,
}

struct Shared {
    discovery: Arc<dyn Discovery>,
    channels: Channels,
    /// Owners that orchestrators named before discovery did, by partition.
    named: Mutex<HashMap<u32, Owner>>,
    turn: AtomicUsize,
    parked: Semaphore,
    park: Duration,
}

impl Orchestrators {
    pub(crate) fn new(
        discovery: Arc<dyn Discovery>,
        credentials: Credentials,
        park: Duration,
    ) -> Self {
        let shared = Shared {
            discovery,
            channels: Channels::new(credentials),
            named: Mutex::default(),
            turn: AtomicUsize::new(0),
            parked: Semaphore::new(PARKED),
            park,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Asks whoever owns the session, waiting for an owner and sending again where an answer is
    /// lost. `send` makes the request anew for each time; it gets a client and a request's
    /// time. Dropping the future stops waiting; what was sent may still happen.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(crate) async fn ask<T, F, A>(&self, ask: Ask<'_>, send: F) -> Result<T, Problem>
    where
        F: Fn(Client) -> A,
        A: Future<Output = Result<Response<T>, Status>>,
    {
        let mut wait = Wait::new(&self.shared);
        let mut hops = 0;
        // What the last one who answered cannot do now; said rather than that nobody answered.
        let mut away = None;
        loop {
            if let Some(instance) = self.target(ask, &mut wait) {
                let client = self.shared.channels.client(&instance)?;
                let answer = tokio::select! {
                    biased;
                    answer = timeout(ANSWER, send(client)) => match answer {
                        Ok(answer) => answer::read(answer),
                        Err(_) => Answer::Lost(Status::deadline_exceeded("no answer")),
                    },
                    () = self.has_moved(ask) => {
                        Answer::Lost(Status::unavailable("the session has another owner"))
                    }
                };
                match answer {
                    Answer::Given(response) => return Ok(response.into_inner()),
                    Answer::Moved(owner) if hops < HOPS => {
                        hops += 1;
                        if self.learn(ask, owner, &mut wait) {
                            continue;
                        }
                    }
                    Answer::Moved(_) => hops = 0,
                    Answer::NotSent(status) => warn!(instance = %instance.id, %status, "not sent"),
                    Answer::Lost(status) if answer::is_storage_away(&status) => away = Some(status),
                    Answer::Lost(status) => {
                        warn!(instance = %instance.id, %status, "answer lost, asking again");
                    }
                    Answer::Refused(status) => return Err(Problem::from(status)),
                }
                let waited = wait.after_failure().await;
                waited.map_err(|nobody| away.take().map_or(nobody, Problem::from))?;
            } else {
                wait.for_owner().await?;
            }
        }
    }

    /// Resolves once there is a newer owner to ask instead; never where every one can answer.
    async fn has_moved(&self, ask: Ask<'_>) {
        match ask.session {
            Some(session) => self.moved(session, self.revision(session)).await,
            None => std::future::pending().await,
        }
    }

    /// Every orchestrator's own answer, those left out that give none.
    pub(crate) async fn ask_each<T, F, A>(&self, send: F) -> Vec<(Instance, Option<T>)>
    where
        F: Fn(Client) -> A,
        A: Future<Output = Result<Response<T>, Status>>,
    {
        let live = Arc::clone(&self.shared.discovery.live().borrow().instances);
        let asked = live.values().filter(|instance| instance.role == Role::Orchestrator);
        let answers = asked.map(async |instance| {
            let client = self.shared.channels.client(instance).ok();
            let answer = match client {
                Some(client) => timeout(ANSWER / 4, send(client)).await.ok().and_then(Result::ok),
                None => None,
            };
            (instance.clone(), answer.map(Response::into_inner))
        });
        futures_util::future::join_all(answers).await
    }

    /// How long a request, or a stream that broke, waits for somebody who answers.
    pub(crate) fn park(&self) -> Duration {
        self.shared.park
    }

    /// Closes the connections to those that have left.
    pub(crate) fn forget_gone(&self) {
        let live = Arc::clone(&self.shared.discovery.live().borrow().instances);
        self.shared.channels.retain(|id| live.contains_key(id));
    }

    /// Who is to be asked now; `None` if there is nobody.
    fn target(&self, ask: Ask<'_>, wait: &mut Wait<'_>) -> Option<Instance> {
        let live = wait.live();
        let fits = |instance: &&Instance| {
            let takes = !ask.is_new_work || instance.state == State::Serving;
            instance.role == Role::Orchestrator && takes
        };
        let Some(session) = ask.session else {
            let serving = |i: &&Instance| fits(i) && i.state == State::Serving;
            let all: Vec<_> = live.values().filter(serving).collect();
            let turn = self.shared.turn.fetch_add(1, Ordering::Relaxed);
            return all.get(turn.checked_rem(all.len())?).map(|instance| (*instance).clone());
        };
        let partition = partition_of(session, PARTITIONS);
        let listed = wait.owners().get(&partition).cloned();
        let named = self.named().get(&partition).cloned();
        let id = match (listed, named) {
            (Some(listed), Some(named)) if named.epoch_revision > listed.revision => {
                named.instance.into()
            }
            (Some(listed), _) => listed.instance,
            (None, Some(named)) => named.instance.into(),
            (None, None) => return None,
        };
        live.get(&id).filter(fits).cloned()
    }

    /// Takes note of an owner that another orchestrator named; true if it can be asked at once.
    /// Lower epochs than a known one are ignored, and so are instances that discovery does not list.
    fn learn(&self, ask: Ask<'_>, owner: Owner, wait: &mut Wait<'_>) -> bool {
        let (Some(session), false) = (ask.session, owner.instance.is_empty()) else { return false };
        let partition = partition_of(session, PARTITIONS);
        let known = wait.owners().get(&partition).map_or(0, |listed| listed.revision);
        let is_listed = wait.live().contains_key(&owner.instance.as_str().into());
        let epoch = |owner: &Owner| (owner.epoch_generation, owner.epoch_revision);
        let mut named = self.named();
        let is_news = named.get(&partition).is_none_or(|before| epoch(before) < epoch(&owner));
        if owner.epoch_revision <= known || !is_listed || !is_news {
            return false;
        }
        named.insert(partition, owner);
        true
    }

    fn named(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Owner>> {
        // A map of plain values is whole whatever its last holder did.
        self.shared.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request with the current trace and the time that it may take.
pub(crate) fn request<T>(message: T) -> Request<T> {
    let mut request = stream(message);
    request.set_timeout(ANSWER);
    request
}

/// A request for a stream, which may take as long as the run: with the current trace alone.
pub(crate) fn stream<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    propagate::inject(request.metadata_mut());
    request
}
