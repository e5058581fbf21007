//! The actor: a thin shell around the fold. It hands events to the log, folds them in, and keeps
//! running what [`Session::next`] asks for. It never awaits anything but its own select.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Span, debug, error, info};

use super::{
    clock::{WorkClock, wall_ms},
    error::SessionError,
    leave::refuse_all,
    log::{Log, Turn},
    mailbox::Receiver,
    message::Message,
    pause::Left,
    registry::{Ownership, Sessions, Shared},
    report::{Report, Reports},
    rollback::Waiter,
    running::{Running, Step},
    watchers::Watchers,
};
use crate::{
    crash::crash_point,
    journal::{AppendError, SessionState},
    run::{
        effect::{Effect, Key},
        event::{Event, OwnerTaken, Recorded, RunEnded, RunStatus},
        ids::{RunId, SessionId},
        state::{ApplyError, Run, Session},
    },
};

/// Why an actor stopped.
#[derive(Debug)]
pub(super) enum Exit {
    /// It was idle and folded away.
    Retired,
    /// It has done all that it was there for, and is to be removed.
    Removed,
    /// The process drains, or the partition moved.
    Stopped,
    /// Another owner has claimed the partition.
    Fenced,
    /// The journal takes nothing now; the session is folded anew after a while, and those who follow
    /// it stay.
    Paused,
    /// An append failed: what is durable is known to the journal alone.
    AppendFailed(String),
    /// Its events cannot be trusted.
    Damaged(String),
    /// It panicked, or wanted to note what does not follow: a fault of ours.
    Broke(String),
}

pub(super) struct SessionActor {
    pub(super) id: SessionId,
    pub(super) ownership: Ownership,
    pub(super) registry: Arc<Sessions>,
    pub(super) shared: Arc<Shared>,
    pub(super) session: Session,
    pub(super) log: Log,
    pub(super) watchers: Watchers,
    /// Those who wait for the end of a rollback.
    pub(super) waiters: Vec<Waiter>,
    pub(super) clock: WorkClock,
    /// Span of the current run.
    pub(super) span: Option<Span>,
    pub(super) running: Running,
    pub(super) reports: Reports,
    /// Bytes of the reply glimpsed so far.
    pub(super) glimpsed: u64,
    /// Trace context for the next event.
    pub(super) trace_context: String,
    pub(super) exit: Option<Exit>,
    /// True until an append is accepted, after one that was not: nothing starts before.
    pub(super) is_unproven: bool,
    /// What an earlier actor left, until an append is accepted.
    pub(super) left: Option<Box<Left>>,
    /// What those who follow were last told about the journal; empty once it is well.
    pub(super) said: &'static str,
    /// True if the journal holds nothing of the session.
    is_new: bool,
    /// True if another one was the last to write, and the journal does not say yet that it is us now.
    is_taken_over: bool,
    /// When what still runs is given up, once the actor has been told to stop.
    pub(super) leaves_at: Option<Instant>,
}

impl SessionActor {
    pub(super) fn new(id: SessionId, ownership: Ownership, registry: Arc<Sessions>) -> Self {
        let shared = Arc::clone(registry.shared());
        let session = Session::default();
        let log = Log::new(Arc::clone(&shared.journal), id.clone(), ownership, &session);
        Self {
            id,
            ownership,
            registry,
            shared,
            session,
            log,
            watchers: Watchers::default(),
            waiters: Vec::new(),
            clock: WorkClock::at(0),
            span: None,
            running: Running::default(),
            reports: Reports::default(),
            glimpsed: 0,
            trace_context: String::new(),
            exit: None,
            is_unproven: false,
            left: None,
            said: "",
            is_new: false,
            is_taken_over: false,
            leaves_at: None,
        }
    }

    /// The same for a session whose last append failed: until one is accepted, nothing starts, or
    /// a full disk would have the same work done again and again.
    pub(super) fn after_failure(self) -> Self {
        Self { is_unproven: true, ..self }
    }

    /// The same for a session that nobody has named before.
    pub(super) fn of_new_session(self) -> Self {
        Self { is_new: true, ..self }
    }

    pub(super) async fn run(
        &mut self,
        mut inbox: Receiver<Box<Message>>,
        stop: CancellationToken,
    ) -> Exit {
        // Boxed: it is over long before the rest.
        if let Err(error) = Box::pin(self.wake()).await {
            return refuse_all(&mut inbox, &error).await;
        }
        self.advance();
        let idle_after = Duration::from_millis(self.shared.config.idle_ms);
        while self.exit.is_none() {
            let (may_retire, rests) = (self.may_retire(), self.rests());
            let idle_after =
                if self.session.opened.is_some() { idle_after } else { Duration::ZERO };
            let leaves_at = self.leaves_at;
            tokio::select! {
                biased;
                () = stop.cancelled(), if leaves_at.is_none() => self.begin_to_leave(),
                () = until(leaves_at) => self.exit = Some(Exit::Stopped),
                turn = self.log.next() => match turn {
                    Turn::Appended(appended) => self.appended(appended),
                    Turn::Due => self.log.hand_over(),
                },
                next = self.running.next(&mut self.reports) => match next {
                    Step::Report(report) => self.report(report),
                    Step::Ended(key, done) => self.done(&key, done),
                },
                message = inbox.recv(), if leaves_at.is_none() => match message {
                    Some(message) => self.handle(*message),
                    None => self.exit = Some(Exit::Stopped),
                },
                // Only then it may be folded away.
                () = self.watchers.left(), if rests => self.watchers.let_go(),
                () = tokio::time::sleep(idle_after), if may_retire => {
                    if self.registry.retire(&self.id, &inbox) {
                        self.exit = Some(Exit::Retired);
                    }
                }
            }
            self.advance();
            if self.leaves_at.is_some() && self.is_only_timing() {
                self.exit.get_or_insert(Exit::Stopped);
            }
        }
        self.leave().await
    }

    /// Folds the journal and notes that we carry on.
    async fn wake(&mut self) -> Result<(), SessionError> {
        if self.is_new {
            return Ok(());
        }
        crash_point!("session.before_fold");
        let folded = self.fold().await?;
        crash_point!("session.after_fold");
        let Some(session) = folded else { return Ok(()) };
        self.session = session;
        let journal = Arc::clone(&self.shared.journal);
        self.log = Log::new(journal, self.id.clone(), self.ownership, &self.session);
        if let Some(run) = &self.session.current {
            self.clock = WorkClock::at(run.elapsed_ms);
            self.span = Some(run_span(&self.id, run));
            self.shared.status.run_begins();
        }
        self.is_taken_over = self.session.owner != self.shared.incarnation || self.is_unproven;
        if self.is_taken_over && (self.is_unproven || !self.session.is_idle()) {
            self.take_over()?;
        }
        Ok(())
    }

    /// Notes that we carry on: at once where there is something to carry on, else before the first
    /// event of ours, so that whoever only looks at a session changes nothing.
    fn take_over(&mut self) -> Result<(), ApplyError> {
        self.is_taken_over = false;
        let owner = self.shared.incarnation.clone();
        // That belongs to the event that comes next.
        let trace_context = std::mem::take(&mut self.trace_context);
        let taken = self.try_record(Event::OwnerTaken(OwnerTaken { owner }));
        self.trace_context = trace_context;
        taken
    }

    /// A report that came and was not looked at yet.
    pub(super) fn unheard(&mut self) -> Option<Report> {
        self.reports.now()
    }

    /// Does at once what follows from the state, then keeps the right effects running.
    pub(super) fn advance(&mut self) {
        while self.exit.is_none() {
            let effects = self.session.next();
            match &effects[..] {
                [Effect::Record(event)] => self.record(event.clone()),
                [Effect::StartRun(run)] => self.start_run(run),
                _ => {
                    self.reconcile(effects);
                    break;
                }
            }
        }
        let current = self.session.current.as_deref();
        let is_waiting = current.is_some_and(Run::is_waiting);
        self.clock.set_working(current.is_some() && !is_waiting);
        let wake_at = current.filter(|_| is_waiting).and_then(|run| {
            run.calls()
                .filter(|call| call.settled.is_none())
                .filter_map(|call| Some(call.asked.as_ref()?.expires_ms))
                .min()
        });
        let state = match (self.session.is_idle(), is_waiting) {
            (true, _) => SessionState::Idle,
            (false, true) => SessionState::Waiting,
            (false, false) => SessionState::Active,
        };
        if self.session.opened.is_some() && self.exit.is_none() {
            self.log.flush(state, wake_at);
        }
        if self.running.is_empty() {
            self.reports.rest();
        }
        if state == SessionState::Idle && self.log.is_settled() {
            self.watchers.idle();
        }
    }

    fn reconcile(&mut self, wanted: Vec<Effect>) {
        let keyed: Vec<_> = wanted.into_iter().filter_map(|e| Some((e.key()?, e))).collect();
        self.running.keep(|key| keyed.iter().any(|(wanted, _)| wanted == key));
        for (key, effect) in keyed {
            if self.leaves_at.is_none() && !self.running.contains(&key) {
                self.start(key, effect);
            }
        }
    }

    /// Notes a fact that must follow; if it does not, we are wrong and stop.
    pub(super) fn record(&mut self, event: Event) {
        let kind = event.kind();
        if let Err(error) = self.try_record(event) {
            error!(session = %self.id, kind, %error, "event does not follow");
            self.exit = Some(Exit::Broke(error.to_string()));
        }
    }

    /// Notes a fact if it follows.
    pub(super) fn try_record(&mut self, event: Event) -> Result<(), ApplyError> {
        if self.is_taken_over {
            self.take_over()?;
        }
        let recorded = Recorded {
            seq: self.session.last_seq + 1,
            wall_ms: wall_ms(),
            elapsed_ms: self.clock.elapsed_ms(),
            trace_context: std::mem::take(&mut self.trace_context),
            event,
        };
        self.session.apply(&recorded)?;
        if let Event::RunEnded(ended) = &recorded.event {
            self.run_ended(ended);
        }
        self.log.push(recorded);
        Ok(())
    }

    fn start_run(&mut self, run: &RunId) {
        let agent = &self.shared.config.agent;
        let Some(waiting) = self.session.waiting.front() else { return };
        let Some(opened) = &self.session.opened else { return };
        let started = agent.begin(opened, &waiting.input);
        let span = callboard_telemetry::span::run(
            &agent.name,
            self.id.as_str(),
            run.as_str(),
            &waiting.trace_context,
        );
        debug!(parent: &span, session = %self.id, run = %run, agent = agent.name, "run starts");
        self.trace_context = callboard_telemetry::propagate::traceparent_of(&span);
        self.span = Some(span);
        self.clock.reset();
        self.clock.set_working(true);
        self.shared.status.run_begins();
        callboard_telemetry::metrics::run_started();
        self.record(Event::RunStarted(started));
    }

    fn run_ended(&mut self, ended: &RunEnded) {
        let Some(run) = self.session.ended.last() else { return };
        let (input, output) = run.tokens();
        let (status, steps) = (ended.status.as_str(), run.replies());
        let duration = Duration::from_millis(run.elapsed_ms);
        if let Some(span) = self.span.take() {
            info!(
                parent: &span, session = %self.id, run = %ended.run, status, steps,
                duration_ms = run.elapsed_ms, input_tokens = input, output_tokens = output,
                "run ends"
            );
            if ended.status == RunStatus::Failed {
                callboard_telemetry::span::fail(&span, &ended.reason, "the run failed");
            }
        }
        callboard_telemetry::metrics::run_ended(status, duration, steps);
        let has_failed = ended.status == RunStatus::Failed;
        self.shared.status.run_ended(has_failed, input + output, wall_ms());
        self.shared.status.run_leaves();
    }

    pub(super) fn appended(&mut self, appended: Result<u64, AppendError>) {
        match appended {
            Ok(durable) => {
                crash_point!("append.after_durable");
                self.is_unproven = false;
                self.left = None;
                for noted in self.log.advance(durable) {
                    let ended = match &noted.recorded.event {
                        Event::RunEnded(ended) => self.session.run(&ended.run).cloned(),
                        _ => None,
                    };
                    self.watchers.fact(&noted, ended.map(Arc::new).as_ref());
                }
            }
            Err(error) => self.append_failed(&error),
        }
    }

    /// True if folding away loses nothing: no work, no append under way, nobody listening.
    fn may_retire(&mut self) -> bool {
        self.rests()
            && self.is_only_timing()
            && self.log.is_settled()
            && self.reports.is_empty()
            && self.watchers.is_empty()
    }

    /// True if there is nothing to do before somebody comes.
    fn rests(&self) -> bool {
        self.session.is_idle() || self.session.current.as_deref().is_some_and(Run::is_waiting)
    }

    /// True if what runs may be dropped at any time: timers, and what is asked for again and again.
    fn is_only_timing(&self) -> bool {
        self.running.keys().all(|key| matches!(key, Key::Lapse(_) | Key::Expire | Key::Forget))
    }
}

/// Resolves at a moment; never if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The span of a run that another actor began: a new one in the same trace.
fn run_span(id: &SessionId, run: &Run) -> Span {
    callboard_telemetry::span::run(
        &run.started.agent,
        id.as_str(),
        run.input.run.as_str(),
        &run.trace_context,
    )
}
