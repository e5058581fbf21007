//! An actor's hand on the journal: appends in order, never awaited, and the watermark of what is
//! durable, which releases what waits for it. What nobody waits for is held back for a moment, so
//! that steps share appends.

mod held;

use std::{
    collections::VecDeque,
    future::poll_fn,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::FutureExt as _;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep_until},
};
use uuid::Uuid;

use self::held::Held;
use super::{
    error::SessionError,
    registry::Ownership,
    watchers::{Noted, RunTracker},
};
use crate::{
    crash::crash_point,
    journal::{Append, AppendError, Journal, SessionState},
    run::{event::Recorded, ids::SessionId, state::Session},
};

/// Events read at once when a session is folded.
const PAGE: usize = 512;

/// Folds a session as it was after the event `last`; `None` if it has no events.
///
/// # Errors
/// [`SessionError::Damaged`] if its events cannot be trusted, `Journal` if they cannot be read.
pub async fn load_up_to(
    journal: &dyn Journal,
    id: &SessionId,
    last: u64,
) -> Result<Option<Session>, SessionError> {
    load_and_tell(journal, id, last, |_, _| {}).await
}

/// The same; `tell` sees every event, and the session after it.
///
/// # Errors
/// As [`load_up_to`].
pub(super) async fn load_and_tell(
    journal: &dyn Journal,
    id: &SessionId,
    last: u64,
    mut tell: impl FnMut(&Recorded, &Session),
) -> Result<Option<Session>, SessionError> {
    let mut session = Session::default();
    loop {
        let left = usize::try_from(last.saturating_sub(session.last_seq)).unwrap_or(usize::MAX);
        let page = journal.read(id, session.last_seq, PAGE.min(left)).await?;
        for recorded in &page {
            fold(&mut session, recorded)?;
            tell(recorded, &session);
        }
        if page.len() < PAGE {
            return Ok((session.last_seq > 0).then_some(session));
        }
    }
}

/// Folds one event in; what panics there is damage of this session, and ends nothing else.
fn fold(session: &mut Session, recorded: &Recorded) -> Result<(), SessionError> {
    let applied = std::panic::catch_unwind(AssertUnwindSafe(|| {
        #[cfg(debug_assertions)]
        crate::crash::swallow(&recorded.event);
        session.apply(recorded)
    }));
    let what = || {
        let (seq, kind) = (recorded.seq, recorded.event.kind());
        format!("event {seq} ({kind}) cannot be folded: that is a fault of this program")
    };
    Ok(applied.map_err(|_| SessionError::Damaged(what()))??)
}

/// Something that waits for an event to be durable; told why if it never will be.
type Release = Box<dyn FnOnce(Result<(), &AppendError>) + Send>;

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Turn {
    /// An append was answered.
    Appended(Result<u64, AppendError>),
    /// What is held has waited long enough.
    Due,
}

/// An append that is not answered yet.
#[derive(Debug)]
struct InFlight {
    answer: oneshot::Receiver<Result<u64, AppendError>>,
    events: u64,
    since: Instant,
}

pub(super) struct Log {
    journal: Arc<dyn Journal>,
    session: SessionId,
    ownership: Ownership,
    tracker: RunTracker,
    /// Events not yet handed over.
    held: Held,
    /// Events that nobody may be told of yet.
    pending: VecDeque<Noted>,
    /// When what is held is due.
    timer: Option<Pin<Box<Sleep>>>,
    /// Appends that are not answered yet, in order.
    appends: VecDeque<InFlight>,
    durable: u64,
    waiting: VecDeque<(u64, Release)>,
    state: (SessionState, Option<i64>),
}

impl Log {
    pub(super) fn new(
        journal: Arc<dyn Journal>,
        session: SessionId,
        ownership: Ownership,
        folded: &Session,
    ) -> Self {
        let current = folded.current.as_ref().map(|run| run.input.run.clone());
        Self {
            journal,
            session,
            ownership,
            tracker: RunTracker::at(current.unwrap_or_default()),
            held: Held::default(),
            pending: VecDeque::new(),
            timer: None,
            appends: VecDeque::new(),
            durable: folded.last_seq,
            waiting: VecDeque::new(),
            state: (SessionState::Idle, None),
        }
    }

    /// Number of the last durable event.
    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    /// Notes an event for the next append.
    pub(super) fn push(&mut self, recorded: Recorded) {
        let run = self.tracker.run_of(&recorded.event);
        self.pending.push_back(Noted { recorded: Arc::new(recorded.clone()), run });
        self.held.push(recorded);
    }

    /// Calls `release` once the event with this number is durable, or [`Log::give_up`] was called.
    pub(super) fn when_durable(
        &mut self,
        seq: u64,
        release: impl FnOnce(Result<(), &AppendError>) + Send + 'static,
    ) {
        if seq <= self.durable {
            release(Ok(()));
        } else {
            self.waiting.push_back((seq, Box::new(release)));
        }
    }

    /// Resolves once everything noted so far is durable; fails if it never will be.
    pub(super) fn tail_is_durable(&mut self) -> oneshot::Receiver<()> {
        let (told, durable) = oneshot::channel();
        let tail = self.pending.back().map_or(self.durable, |noted| noted.recorded.seq);
        self.when_durable(tail, move |durable| {
            if durable.is_ok() {
                // Whoever waited may have gone.
                let _ = told.send(());
            }
        });
        durable
    }

    /// Hands events over, with the state that the session has after them: at once if somebody waits
    /// for one of them or the state has changed, else a little later together with what follows.
    pub(super) fn flush(&mut self, state: SessionState, wake_at_ms: Option<i64>) {
        let is_unchanged = self.state == (state, wake_at_ms);
        if self.held.is_empty() && is_unchanged {
            return;
        }
        let waited_for = self.waiting.back().map(|(seq, _)| *seq);
        if is_unchanged && self.held.may_wait(waited_for) {
            return;
        }
        self.state = (state, wake_at_ms);
        self.append();
    }

    /// Hands over what is held, if anything is.
    pub(super) fn hand_over(&mut self) {
        if !self.held.is_empty() {
            self.append();
        }
    }

    fn append(&mut self) {
        let (state, wake_at_ms) = self.state;
        let events = self.held.take();
        let count = events.len();
        crash_point!("append.before_submit");
        let expected_seq = events.first().map_or(self.tail() + 1, |first| first.seq);
        let answer = self.journal.submit(Append {
            session: self.session.clone(),
            partition: self.ownership.partition,
            epoch: self.ownership.epoch,
            append_id: Uuid::now_v7(),
            expected_seq,
            events,
            state,
            wake_at_ms,
        });
        let events = u64::try_from(count).unwrap_or(u64::MAX);
        self.appends.push_back(InFlight { answer, events, since: Instant::now() });
        self.timer = None;
    }

    /// True if everything is durable.
    pub(super) fn is_settled(&self) -> bool {
        self.held.is_empty() && self.appends.is_empty()
    }

    /// The next append that was answered; pending for ever if none is under way.
    pub(super) async fn appended(&mut self) -> Result<u64, AppendError> {
        poll_fn(|context| self.poll_appended(context)).await
    }

    fn poll_appended(&mut self, context: &mut Context<'_>) -> Poll<Result<u64, AppendError>> {
        let Some(first) = self.appends.front_mut() else { return Poll::Pending };
        let Poll::Ready(answer) = first.answer.poll_unpin(context) else { return Poll::Pending };
        callboard_telemetry::metrics::journal_append(first.events, first.since.elapsed());
        self.appends.pop_front();
        Poll::Ready(answer.unwrap_or(Err(AppendError::Closed)))
    }

    /// What is to be done next; pending for ever if nothing is under way.
    pub(super) async fn next(&mut self) -> Turn {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Turn> {
        if let Poll::Ready(answer) = self.poll_appended(context) {
            return Poll::Ready(Turn::Appended(answer));
        }
        let Some(due) = self.held.due() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        timer.poll_unpin(context).map(|()| Turn::Due)
    }

    /// Moves the watermark: releases what waited and gives the events that may be told now.
    pub(super) fn advance(&mut self, durable: u64) -> Vec<Noted> {
        self.durable = self.durable.max(durable);
        let told = self.pending.iter().take_while(|noted| noted.recorded.seq <= durable).count();
        let noted = self.pending.drain(..told).collect();
        while self.waiting.front().is_some_and(|(seq, _)| *seq <= self.durable) {
            if let Some((_, release)) = self.waiting.pop_front() {
                release(Ok(()));
            }
        }
        noted
    }

    /// Tells all that wait that what they wait for was not written, or that nobody knows, and why.
    pub(super) fn give_up(&mut self, why: &AppendError) {
        for (_, release) in self.waiting.drain(..) {
            release(Err(why));
        }
    }

    fn tail(&self) -> u64 {
        self.pending.back().map_or(self.durable, |noted| noted.recorded.seq)
    }
}
