//! Effects that run: futures of the actor's own task, so that a step wakes no second thread. Each is
//! dropped with the actor or once it is no longer wanted; a panic in one ends that one alone.

use std::{collections::HashMap, future::Future, panic::AssertUnwindSafe};

use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use tracing::{Instrument as _, Span};

use super::effects::Done;
use crate::run::effect::Key;

/// An effect panicked; the log has its words.
#[derive(Debug)]
pub(super) struct Panicked;

#[derive(Debug, Default)]
pub(super) struct Running {
    by_key: HashMap<Key, AbortHandle>,
    work: FuturesUnordered<BoxFuture<'static, Ended>>,
}

/// How a future ended; `None` if it was dropped before.
type Ended = Option<(Key, Result<Done, Panicked>)>;

impl Running {
    /// Runs `work` in `span` until it ends or is no longer wanted.
    pub(super) fn start(
        &mut self,
        key: Key,
        span: Span,
        work: impl Future<Output = Done> + Send + 'static,
    ) {
        let (handle, registration) = AbortHandle::new_pair();
        // Boxed first: what wraps it then moves a pointer, not some kilobytes.
        let work = AssertUnwindSafe(work.boxed().instrument(span)).catch_unwind();
        let work = Abortable::new(work, registration);
        self.by_key.insert(key.clone(), handle);
        let ended = async move {
            let ended = work.await.ok()?;
            Some((key, ended.map_err(|_| Panicked)))
        };
        self.work.push(ended.boxed());
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.by_key.contains_key(key)
    }

    /// True if nothing runs.
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// What runs.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.by_key.keys()
    }

    /// Drops all others.
    pub(super) fn keep(&mut self, is_wanted: impl Fn(&Key) -> bool) {
        self.by_key.retain(|key, work| {
            let keeps = is_wanted(key);
            if !keeps {
                work.abort();
            }
            keeps
        });
    }

    /// The next one that ends; pending for ever where none runs.
    pub(super) async fn next(&mut self) -> (Key, Result<Done, Panicked>) {
        loop {
            match self.work.next().await {
                Some(Some((key, ended))) => {
                    self.by_key.remove(&key);
                    return (key, ended);
                }
                // It was dropped.
                Some(None) => {}
                None => return std::future::pending().await,
            }
        }
    }

    /// Drops all.
    pub(super) fn clear(&mut self) {
        self.by_key.clear();
        self.work.clear();
    }
}
