//! What a follower asks: the stream that goes on where the last one ended, and, where a stream does
//! not tell it, what the journal knows of the run.

use std::sync::atomic::{AtomicBool, Ordering};

use callboard_proto::agent::{
    AttachRequest, Begun, DirectResult, GetSessionRequest, GetSessionResponse, InvokeToolRequest,
    RunSummary, StartRequest, Watch,
};

use super::{
    super::{Ask, Client, stream},
    Follow, Follower, Source, Told,
};
use crate::problem::{Kind, Problem};

impl Follower {
    /// The stream that tells what comes next: the request's own, or, once it was broken, the
    /// session's.
    pub(super) async fn open(&mut self) -> Result<Source, Problem> {
        let is_first = !std::mem::replace(&mut self.was_sent, true);
        let begin = Ask::begin(&self.session);
        // Who names a session for the second time may find it opened by the first.
        let is_repeat = AtomicBool::new(!is_first);
        let is_new = |is_new: bool| is_new && !is_repeat.swap(true, Ordering::Relaxed);
        match &self.follow {
            Follow::Events(attach) => self.attach(attach.until_idle).await,
            Follow::Run(start) if is_first || !self.is_begun().await? => {
                let send = async |mut client: Client| {
                    let start = StartRequest::clone(start);
                    let is_new = is_new(start.is_new);
                    client.start(stream(StartRequest { is_new, ..start })).await
                };
                self.orchestrators.ask(begin, send).await.map(Source::Start)
            }
            Follow::Direct(call) if is_first || !self.is_begun().await? => {
                let send = async |mut client: Client| {
                    let call = InvokeToolRequest::clone(call);
                    let is_new = is_new(call.is_new);
                    client.invoke_tool(stream(InvokeToolRequest { is_new, ..call })).await
                };
                self.orchestrators.ask(begin, send).await.map(Source::Invoke)
            }
            Follow::Run(_) | Follow::Direct(_) => {
                // It is in the journal under the id that we chose, or that we were told.
                let ours = Begun { run: self.run.clone(), ..Begun::default() };
                self.begun.get_or_insert(ours);
                self.attach(false).await
            }
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
            Ok(found) => Ok(!found.runs.is_empty()),
            Err(problem) if problem.kind() == Kind::NotFound => Ok(false),
            Err(problem) => Err(problem),
        }
    }

    /// The session with the run that is followed, or, where none is, with as many as one message
    /// holds.
    async fn look(&self) -> Result<GetSessionResponse, Problem> {
        let get = GetSessionRequest {
            principal: self.principal.clone(),
            session: self.session.clone(),
            run: self.run.clone(),
            ..GetSessionRequest::default()
        };
        self.orchestrators.page(&get).await
    }

    async fn runs(&self, run: &str) -> Result<Vec<RunSummary>, Problem> {
        let whole = self.orchestrators.session(self.principal.clone(), &self.session, run).await?;
        Ok(whole.runs)
    }

    /// The result of a run whose end was seen in the session's stream.
    pub(super) async fn result(&mut self) -> Result<Told, Problem> {
        let found = self.runs(&self.run).await?.into_iter().find(|run| run.id == self.run);
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

    /// True at the end of a stream that may end: the last thing was told, or the session is idle.
    pub(super) async fn has_nothing_more(&mut self) -> Result<bool, Problem> {
        let Follow::Events(AttachRequest { until_idle: true, .. }) = &self.follow else {
            return Ok(false);
        };
        // A watcher that fell behind is let go in the same way as one that has seen everything.
        let session = self.look().await?.session.unwrap_or_default();
        let is_all = session.last_seq <= self.last;
        if is_all {
            // A client may have asked for what comes after a number that the session never reached.
            self.last = session.last_seq;
        }
        Ok(is_all)
    }
}
