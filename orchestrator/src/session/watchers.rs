//! Who is told what a session does. Nobody is ever waited for: a watcher that falls behind is let
//! go, and resumes from the last fact that it saw.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::select_all};
use tokio::sync::mpsc;

use super::message::Watch;
use crate::run::{
    event::{Event, Recorded},
    ids::{CallId, RunId},
    state::Run,
};

/// Notices that a watcher may be behind.
const WATCHER_CAPACITY: usize = 1024;

/// A durable event with the run that it belongs to.
#[derive(Clone, Debug)]
pub struct Noted {
    /// The event.
    pub recorded: Arc<Recorded>,
    /// Its run; empty for the session's own events.
    pub run: RunId,
}

/// Something that is being made; void once its fact has come.
#[derive(Clone, Debug)]
pub struct Glimpse {
    /// The run.
    pub run: RunId,
    /// Number of the model request; 0 for a tool's progress.
    pub request: u32,
    /// The call, for a tool's progress.
    pub call: CallId,
    /// Offset of the text in the reply, in bytes.
    pub offset: u64,
    /// The piece.
    pub text: String,
    /// What was glimpsed of this request so far is void.
    pub restarted: bool,
}

/// Something told to a watcher.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A durable event.
    Fact(Noted),
    /// Something that is being made.
    Glimpse(Arc<Glimpse>),
    /// The run that was watched is over; the last notice.
    Ended(Arc<Run>),
}

#[derive(Debug, Default)]
pub(super) struct Watchers {
    all: Vec<Watcher>,
}

#[derive(Debug)]
struct Watcher {
    notices: mpsc::Sender<Notice>,
    watch: Watch,
    /// Only this run, and it is the end.
    run: Option<RunId>,
    until_idle: bool,
    is_done: bool,
}

impl Watchers {
    /// Somebody follows one run to its end.
    pub(super) fn follow_run(&mut self, run: RunId, watch: Watch) -> mpsc::Receiver<Notice> {
        self.add(watch, Some(run), false)
    }

    /// Somebody follows the session.
    pub(super) fn follow(&mut self, watch: Watch, until_idle: bool) -> mpsc::Receiver<Notice> {
        self.add(watch, None, until_idle)
    }

    fn add(
        &mut self,
        watch: Watch,
        run: Option<RunId>,
        until_idle: bool,
    ) -> mpsc::Receiver<Notice> {
        let (notices, receiver) = mpsc::channel(WATCHER_CAPACITY);
        self.all.push(Watcher { notices, watch, run, until_idle, is_done: false });
        receiver
    }

    /// True if somebody would look at a glimpse.
    pub(super) fn want_glimpses(&self) -> bool {
        self.all.iter().any(|watcher| watcher.watch == Watch::All)
    }

    /// True if nobody listens any more.
    pub(super) fn is_empty(&mut self) -> bool {
        self.let_go();
        self.all.is_empty()
    }

    /// Lets those go who have left.
    pub(super) fn let_go(&mut self) {
        self.all.retain(|watcher| !watcher.notices.is_closed());
    }

    /// Resolves once one of those who listen has left; pending for ever if nobody listens.
    pub(super) async fn left(&self) {
        if self.all.is_empty() {
            return std::future::pending().await;
        }
        let leaving = self.all.iter().map(|watcher| watcher.notices.closed().boxed());
        select_all(leaving).await;
    }

    /// Tells a fact that is durable now; `ended` is the run that it ends.
    pub(super) fn fact(&mut self, noted: &Noted, ended: Option<&Arc<Run>>) {
        for watcher in &mut self.all {
            if watcher.wants(&noted.run) && watcher.watch != Watch::Result {
                watcher.tell(Notice::Fact(noted.clone()));
            }
            if let Some(run) = ended.filter(|_| watcher.run.as_ref() == Some(&noted.run)) {
                watcher.tell(Notice::Ended(Arc::clone(run)));
                watcher.is_done = true;
            }
        }
        self.all.retain(|watcher| !watcher.is_done);
    }

    /// Tells the end of a run that was over before it was watched.
    pub(super) fn already_ended(run: Run) -> mpsc::Receiver<Notice> {
        let (notices, receiver) = mpsc::channel(1);
        // The channel is new and empty.
        let _ = notices.try_send(Notice::Ended(Arc::new(run)));
        receiver
    }

    /// Shows a glimpse to those who want any and have room.
    pub(super) fn glimpse(&mut self, glimpse: Glimpse) {
        let glimpse = Arc::new(glimpse);
        for watcher in self.all.iter().filter(|watcher| watcher.watch == Watch::All) {
            if watcher.wants(&glimpse.run) {
                // A glimpse may be lost: its fact says everything.
                let _ = watcher.notices.try_send(Notice::Glimpse(Arc::clone(&glimpse)));
            }
        }
    }

    /// Lets those go who wait for the session to be idle.
    pub(super) fn idle(&mut self) {
        self.all.retain(|watcher| !watcher.until_idle);
    }
}

impl Watcher {
    fn wants(&self, run: &RunId) -> bool {
        self.run.as_ref().is_none_or(|wanted| wanted == run)
    }

    fn tell(&mut self, notice: Notice) {
        self.is_done |= self.notices.try_send(notice).is_err();
    }
}

/// Which run an event belongs to, followed from the first event of a session on.
#[derive(Debug, Default)]
pub(crate) struct RunTracker {
    current: RunId,
}

impl RunTracker {
    /// A tracker for a session in which this run works.
    pub(crate) fn at(current: RunId) -> Self {
        Self { current }
    }

    /// The run of the next event.
    pub(crate) fn run_of(&mut self, event: &Event) -> RunId {
        match event {
            Event::SessionOpened(_)
            | Event::OwnerTaken(_)
            | Event::RollbackAsked(_)
            | Event::RollbackStarted(_)
            | Event::RollbackEnded(_)
            | Event::ForgetAsked(_) => RunId::default(),
            Event::InputReceived(input) => input.run.clone(),
            Event::OutcomeChosen(chosen) => chosen.run.clone(),
            Event::RunStarted(started) => {
                self.current = started.run.clone();
                self.current.clone()
            }
            Event::RunEnded(ended) => {
                self.current = RunId::default();
                ended.run.clone()
            }
            _ => self.current.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_is_noticed_without_a_fact() {
        let pending = async |watchers: &Watchers| {
            tokio::time::timeout(std::time::Duration::from_secs(9), watchers.left()).await.is_err()
        };
        let mut watchers = Watchers::default();
        assert!(pending(&watchers).await, "nobody listens");
        let (first, second) =
            (watchers.follow(Watch::All, false), watchers.follow(Watch::All, true));
        assert!(pending(&watchers).await, "both listen");
        drop(second);
        watchers.left().await;
        assert!(!watchers.is_empty());
        assert!(pending(&watchers).await, "the other one still listens");
        drop(first);
        watchers.left().await;
        assert!(watchers.is_empty());
    }
}
