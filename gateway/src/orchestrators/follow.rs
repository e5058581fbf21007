//! Follows a run or a session across orchestrators: when a stream breaks, it is taken up again after
//! the last fact that was told, at whoever owns the session then. Facts come once and in order.
//!
//! Dropping a follower ends nothing but the watching. What it asks is in `follow/open.rs`.

mod open;
mod source;

use std::time::Duration;

use callboard_proto::agent::{
    AttachRequest, Begun, DirectResult, Fact, Glimpse, InvokeToolRequest, Principal, RunSummary,
    StartRequest, Watch,
};
use tokio::time::{Instant, sleep};
use tonic::Status;
use tracing::{debug, warn};

use self::source::{Piece, Source};
use super::{Orchestrators, answer};
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
    /// What is known of the run's beginning.
    begun: Option<Begun>,
    /// Number of the last fact that was told, or passed over as another run's.
    last: u64,
    source: Option<Source>,
    /// Revision of the owner that the source was opened at.
    owner: u64,
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
            begun: None,
            last,
            follow,
            source: None,
            owner: 0,
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
            // Before it is asked for, so that no change is missed.
            self.owner = self.orchestrators.revision(&self.session);
            self.source = Some(self.open().await?);
        }
        Ok(())
    }

    /// Which run it is: the one that the request began, or the one that an earlier request did.
    /// Nothing that is told later is lost.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(crate) async fn begun(&mut self) -> Result<Begun, Problem> {
        loop {
            self.open_now().await?;
            if let Some(begun) = &self.begun {
                return Ok(begun.clone());
            }
            let Some(source) = &mut self.source else { continue };
            let message = tokio::select! {
                biased;
                message = source.message() => message,
                () = self.orchestrators.moved(&self.session, self.owner) => {
                    Err(Status::unavailable("the session has another owner"))
                }
            };
            match message {
                Ok(Some(piece @ Piece::Begun(_))) => {
                    self.take(piece);
                }
                Ok(Some(_)) => {
                    return Err(Problem::new(Kind::Internal, "The run has no beginning."));
                }
                Ok(None) => self.broke(&Status::unavailable("the stream ended early")).await?,
                Err(status) if answer::is_lost(&status) || answer::owner(&status).is_some() => {
                    self.broke(&status).await?;
                }
                Err(status) => return Err(Problem::from(status)),
            }
        }
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
            Piece::Ended(run) => {
                self.run = run;
                self.source = None;
                self.stage = Stage::Ended;
                None
            }
            Piece::Direct(result) => Some(self.done(Told::Direct(result))),
            Piece::Begun(begun) => {
                self.run.clone_from(&begun.run);
                self.begun = Some(begun);
                None
            }
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

    /// Nothing comes after this.
    fn done(&mut self, last: Told) -> Told {
        self.source = None;
        self.stage = Stage::Done;
        last
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
            if answer::is_storage_away(status) {
                return Err(Problem::from(status.clone()));
            }
            return Err(Problem::unavailable("The stream broke again and again. Try again."));
        }
        sleep(pause).await;
        self.stalled = Some((since, (pause * 2).min(PAUSES.1)));
        Ok(())
    }
}
