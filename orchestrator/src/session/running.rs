//! Effects that run: futures of the actor's own task, so that a step wakes no second thread. Each is
//! dropped with the actor or once it is no longer wanted; a panic in one ends that one alone.
//!
//! There are few at a time, so each is polled whenever the actor is: a set that knows which of them
//! was woken would have to wake the actor while it runs, and with it another thread.

use std::{
    future::{Future, poll_fn},
    panic::AssertUnwindSafe,
    task::{Context, Poll},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, CatchUnwind},
};
use tracing::{Instrument as _, Span, instrument::Instrumented};

use super::{
    effects::Done,
    report::{Report, Reports},
};
use crate::run::effect::Key;

/// An effect panicked; the log has its words.
#[derive(Debug)]
pub(super) struct Panicked;

/// What comes of effects that run.
#[derive(Debug)]
pub(super) enum Step {
    /// One reports something.
    Report(Report),
    /// One is over.
    Ended(Key, Result<Done, Panicked>),
}

#[derive(Default)]
pub(super) struct Running {
    effects: Vec<(Key, Work)>,
}

type Work = CatchUnwind<AssertUnwindSafe<Instrumented<BoxFuture<'static, Done>>>>;

impl Running {
    /// Runs `work` in `span` until it ends or is no longer wanted.
    pub(super) fn start(
        &mut self,
        key: Key,
        span: Span,
        work: impl Future<Output = Done> + Send + 'static,
    ) {
        // Boxed first: what wraps it then moves a pointer, not some kilobytes.
        let work = AssertUnwindSafe(work.boxed().instrument(span)).catch_unwind();
        self.effects.push((key, work));
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.keys().any(|running| running == key)
    }

    /// True if nothing runs.
    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// What runs.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.effects.iter().map(|(key, _)| key)
    }

    /// Drops all others.
    pub(super) fn keep(&mut self, is_wanted: impl Fn(&Key) -> bool) {
        self.effects.retain(|(key, _)| is_wanted(key));
    }

    /// What comes next of those that run: what one of them reports, or its end. Pending for ever
    /// where none runs.
    pub(super) async fn next(&mut self, reports: &mut Reports) -> Step {
        poll_fn(|context| {
            if let Poll::Ready(report) = reports.poll(context) {
                return Poll::Ready(Step::Report(report));
            }
            if let Poll::Ready((key, ended)) = self.poll(context) {
                return Poll::Ready(Step::Ended(key, ended));
            }
            // A fact that was handed over just now wakes nobody.
            reports.record().map_or(Poll::Pending, |report| Poll::Ready(Step::Report(report)))
        })
        .await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<(Key, Result<Done, Panicked>)> {
        for nth in 0..self.effects.len() {
            if let Poll::Ready(ended) = self.effects[nth].1.poll_unpin(context) {
                let (key, _) = self.effects.remove(nth);
                return Poll::Ready((key, ended.map_err(|_| Panicked)));
            }
        }
        Poll::Pending
    }

    /// Drops all.
    pub(super) fn clear(&mut self) {
        self.effects.clear();
    }
}
