//! Follows a run or a session across orchestrators: when a stream breaks, it is taken up again after
//! the last fact that was told, at whoever owns the session then. Facts come once and in order.
//!
//! Dropping a follower ends nothing but the watching.

mod source;

use std::time::Duration;

use callboard_proto::agent::{
    AttachRequest, DirectResult, Fact, GetSessionRequest, GetSessionResponse, Glimpse,
    InvokeToolRequest, Principal, RunSummary, StartRequest, Watch,
};
use tokio::time::{Instant, sleep};
use tonic::Status;
use tracing::{debug, warn};

use self::source::{Piece, Source};
use super::{Ask, Client, Orchestrators, answer, request, stream};
use crate::problem::{Kind, Problem};

/// Pauses before the second attempt after a break, doubled for each further one, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Type of the fact that a run is over.
const RUN_ENDED: &str = "run.ended";

/// What is followed.
#[derive(Debug)]
pub(crate) enum Follow {
    /// What happens in a session after a number; on and on, or until it has nothing more to do.
    Events(AttachRequest),
    /// A run, begun by this request.
    Run(Box<StartRequest>),
    /// A direct call, begun by this request.
    Direct(Box<InvokeToolRequest>),
}

/// What a follower tells.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    /// A durable event.
    Fact(Fact),
    /// Something that is being made.
    Glimpse(Glimpse),
    /// How the run ended; the last of a run.
    Run(Box<RunSummary>),
    /// How the direct call ended; the last of a call.
    Direct(Box<DirectResult>),
}

/// Follows one thing.
pub(crate) struct Follower {
    orchestrators: Orchestrators,
    principal: Option<Principal>,
    session: String,
    follow: Follow,
    watch: Watch,
    /// The run that is followed; empty for all.
    run: String,
    /// Number of the last fact that was told, or passed over as another run's.
    last: u64,
    source: Option<Source>,
    was_sent: bool,
    stage: Stage,
    /// Since when nothing new came, and the next pause; none while the stream flows.
    stalled: Option<(Instant, Duration)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Following,
    /// The end of the run was told; its result is to be asked for.
    Ended,
    /// The last thing was told.
    Done,
}

impl Follower {
    /// Follows what the request says; it is sent when the follower is first asked.
    pub(crate) fn new(orchestrators: Orchestrators, follow: Follow) -> Self {
        let (principal, session, watch) = match &follow {
            Follow::Events(attach) => (&attach.principal, &attach.session, attach.watch()),
            Follow::Run(start) => (&start.principal, &start.session, start.watch()),
            Follow::Direct(call) => (&call.principal, &call.session, call.watch()),
        };
        let (run, last) = match &follow {
            Follow::Events(attach) => (String::new(), attach.after),
            Follow::Run(start) => (start.run.clone(), 0),
            Follow::Direct(call) => (call.run.clone(), 0),
        };
        Self {
            orchestrators,
            principal: principal.clone(),
            session: session.clone(),
            watch,
            run,
            last,
            follow,
            source: None,
            was_sent: false,
            stage: Stage::Following,
            stalled: None,
        }
    }

    /// The session.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The run: the one asked for, until a fact names the one that an earlier request began.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Number of the last fact told: where a client goes on.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Opens the stream without reading it, so that a problem is known before the answer begins.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(crate) async fn open_now(&mut self) -> Result<(), Problem> {
        if self.source.is_none() {
            self.source = Some(self.open().await?);
        }
        Ok(())
    }

    /// The next thing; `None` after the end. Dropping the future loses nothing: the next call goes
    /// on.
    ///
    /// # Errors
    /// The problem that ends the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>, Problem> {
        loop {
            match self.stage {
                Stage::Following => {}
                Stage::Ended => return self.result().await.map(Some),
                Stage::Done => return Ok(None),
            }
            self.open_now().await?;
            let Some(source) = &mut self.source else { continue };
            match source.message().await {
                Ok(Some(piece)) => {
                    if let Some(told) = self.take(piece) {
                        self.stalled = None;
                        return Ok(Some(told));
                    }
                }
                Ok(None) if self.has_nothing_more().await? => return Ok(None),
                Ok(None) => self.broke(&Status::unavailable("the stream ended early")).await?,
                Err(status) if answer::is_lost(&status) || answer::owner(&status).is_some() => {
                    self.broke(&status).await?;
                }
                Err(status) => return Err(Problem::from(status)),
            }
        }
    }

    async fn open(&mut self) -> Result<Source, Problem> {
        let is_first = !std::mem::replace(&mut self.was_sent, true);
        let begin = Ask::begin(&self.session);
        match &self.follow {
            Follow::Events(attach) => self.attach(attach.until_idle).await,
            Follow::Run(start) if is_first || !self.is_begun().await? => {
                let send = async |mut client: Client| {
                    client.start(stream(StartRequest::clone(start))).await
                };
                self.orchestrators.ask(begin, send).await.map(Source::Start)
            }
            Follow::Direct(call) if is_first || !self.is_begun().await? => {
                let send = async |mut client: Client| {
                    client.invoke_tool(stream(InvokeToolRequest::clone(call))).await
                };
                self.orchestrators.ask(begin, send).await.map(Source::Invoke)
            }
            Follow::Run(_) | Follow::Direct(_) => self.attach(false).await,
        }
    }

    async fn attach(&self, until_idle: bool) -> Result<Source, Problem> {
        let watch = if self.watch == Watch::All { Watch::All } else { Watch::Facts };
        let attach = AttachRequest {
            principal: self.principal.clone(),
            session: self.session.clone(),
            after: self.last,
            watch: watch.into(),
            until_idle,
        };
        let send = async |mut client: Client| client.attach(stream(attach.clone())).await;
        self.orchestrators.ask(Ask::about(&self.session), send).await.map(Source::Attach)
    }

    /// Whether the run is in the journal, so that sending the request again would lose its first
    /// facts rather than begin it.
    async fn is_begun(&self) -> Result<bool, Problem> {
        if self.last > 0 {
            return Ok(true);
        }
        match self.look().await {
            Ok(found) => Ok(found.runs.iter().any(|run| run.id == self.run)),
            Err(problem) if problem.kind() == Kind::NotFound => Ok(false),
            Err(problem) => Err(problem),
        }
    }

    async fn look(&self) -> Result<GetSessionResponse, Problem> {
        let get =
            GetSessionRequest { principal: self.principal.clone(), session: self.session.clone() };
        let send = async |mut client: Client| client.get_session(request(get.clone())).await;
        self.orchestrators.ask(Ask::about(&self.session), send).await
    }

    /// What of a piece is told.
    fn take(&mut self, piece: Piece) -> Option<Told> {
        let is_attached = matches!(self.source, Some(Source::Attach(_)));
        match piece {
            Piece::Fact(fact) => self.take_fact(fact, is_attached),
            Piece::Glimpse(glimpse) => {
                let is_wanted = self.watch == Watch::All && self.is_ours(&glimpse.run);
                is_wanted.then_some(Told::Glimpse(glimpse))
            }
            Piece::Run(run) => {
                self.run.clone_from(&run.id);
                Some(self.done(Told::Run(run)))
            }
            Piece::Direct(result) => Some(self.done(Told::Direct(result))),
            Piece::Unknown => None,
        }
    }

    fn take_fact(&mut self, fact: Fact, is_attached: bool) -> Option<Told> {
        if fact.seq <= self.last {
            return None;
        }
        if is_attached && fact.seq != self.last + 1 {
            warn!(session = self.session, seq = fact.seq, last = self.last, "a fact is missing");
            self.source = None;
            return None;
        }
        self.last = fact.seq;
        if !is_attached && !fact.run.is_empty() {
            self.run.clone_from(&fact.run);
        }
        if !self.is_ours(&fact.run) {
            return None;
        }
        let is_run = !matches!(self.follow, Follow::Events(_));
        if is_run && is_attached && fact.r#type == RUN_ENDED {
            self.stage = Stage::Ended;
        }
        (self.watch != Watch::Result).then_some(Told::Fact(fact))
    }

    fn is_ours(&self, run: &str) -> bool {
        matches!(self.follow, Follow::Events(_)) || run == self.run
    }

    /// The result of a run whose end was seen in the session's stream.
    async fn result(&mut self) -> Result<Told, Problem> {
        let found = self.look().await?.runs.into_iter().find(|run| run.id == self.run);
        let missing = || Problem::new(Kind::Internal, "The run ended, but its result is missing.");
        let run = found.ok_or_else(missing)?;
        let told = if let Follow::Direct(_) = self.follow {
            let call = run.calls.into_iter().next();
            Told::Direct(Box::new(DirectResult { trace_id: run.trace_id, call }))
        } else {
            Told::Run(Box::new(run))
        };
        Ok(self.done(told))
    }

    /// Nothing comes after this.
    fn done(&mut self, last: Told) -> Told {
        self.source = None;
        self.stage = Stage::Done;
        last
    }

    /// True at the end of a stream that may end: the last thing was told, or the session is idle.
    async fn has_nothing_more(&mut self) -> Result<bool, Problem> {
        let Follow::Events(AttachRequest { until_idle: true, .. }) = &self.follow else {
            return Ok(false);
        };
        // A watcher that fell behind is let go in the same way as one that has seen everything.
        let session = self.look().await?.session.unwrap_or_default();
        Ok(session.last_seq <= self.last)
    }

    /// Gets ready for another attempt; gives up when nothing new came for as long as a request may
    /// wait for an owner.
    async fn broke(&mut self, status: &Status) -> Result<(), Problem> {
        self.source = None;
        let (session, last) = (&self.session, self.last);
        let Some((since, pause)) = self.stalled else {
            debug!(session, last, %status, "stream broke");
            self.stalled = Some((Instant::now(), PAUSES.0));
            return Ok(());
        };
        if since.elapsed() >= self.orchestrators.park() {
            warn!(session, last, %status, "stream given up");
            return Err(Problem::unavailable("The stream broke again and again. Try again."));
        }
        sleep(pause).await;
        self.stalled = Some((since, (pause * 2).min(PAUSES.1)));
        Ok(())
    }
}
