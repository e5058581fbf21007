//! Waiting for a tool service that is away: a call has patience for it once, wherever on its path it
//! waits. Whether it is worth waiting, and what comes after, is left to `call`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::{Catalog, Snapshot};
use crate::run::ids::CallId;

/// How long a call waits for services that are away, all its waits together.
const PATIENCE: Duration = Duration::from_secs(3);

/// Calls of which is known how long they have waited. Few wait at all; those that are never run stay
/// until there are so many.
const MOST: usize = 1_024;

/// How long calls have waited.
#[derive(Debug, Default)]
pub(super) struct Waits {
    spent: Mutex<HashMap<CallId, Duration>>,
}

impl Waits {
    fn left(&self, call: &CallId) -> Duration {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        PATIENCE.saturating_sub(spent.get(call).copied().unwrap_or_default())
    }

    fn spend(&self, call: &CallId, time: Duration) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.len() >= MOST && !spent.contains_key(call) {
            spent.clear();
        }
        *spent.entry(call.clone()).or_default() += time;
    }

    fn forget(&self, call: &CallId) {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
    }
}

impl Catalog {
    /// Waits for the next view, as long as the call has patience left and until `end`. False if none
    /// came. Dropping the future costs the call no patience.
    pub(crate) async fn changed(
        &self,
        changes: &mut watch::Receiver<Arc<Snapshot>>,
        call: &CallId,
        end: Instant,
    ) -> bool {
        let begun = Instant::now();
        let until = end.min(begun + self.waits.left(call));
        if until <= begun {
            return false;
        }
        let next = timeout_at(until, changes.changed()).await;
        self.waits.spend(call, begun.elapsed());
        matches!(next, Ok(Ok(())))
    }

    /// What is found in the view as it is now, or in one of those that come while the call has
    /// patience and before `end`.
    pub(crate) async fn wait_for<T>(
        &self,
        call: &CallId,
        end: Instant,
        mut find: impl FnMut(&Snapshot) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changes();
        loop {
            let snapshot = Arc::clone(&changes.borrow_and_update());
            let found = find(&snapshot);
            if found.is_some() || !self.changed(&mut changes, call, end).await {
                return found;
            }
        }
    }

    /// The call is over: how long it has waited need not be known any more.
    pub(crate) fn call_ended(&self, call: &CallId) {
        self.waits.forget(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::testing::{Setting, World};

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_once_however_often_it_is_asked_to() {
        let world = World::new(Setting::default());
        let catalog = world.path.catalog();
        let waited = async |call: &str, at_most: Duration| {
            let begun = Instant::now();
            let call = CallId::from(call.to_owned());
            let found = catalog.wait_for(&call, begun + at_most, |_| None::<()>).await;
            assert_eq!(found, None);
            begun.elapsed()
        };
        let (short, long) = (Duration::from_secs(1), Duration::from_mins(1));
        assert_eq!(waited("a", short).await, short);
        assert_eq!(waited("a", long).await, PATIENCE.saturating_sub(short));
        assert_eq!(waited("a", long).await, Duration::ZERO);
        assert_eq!(waited("b", long).await, PATIENCE, "another call has patience of its own");
        catalog.call_ended(&CallId::from("a".to_owned()));
        assert_eq!(waited("a", long).await, PATIENCE);
        let call = CallId::from("a".to_owned());
        let found =
            catalog.wait_for(&call, Instant::now(), |snapshot| Some(snapshot.ready())).await;
        assert!(found.is_some(), "what is there needs no patience");
    }

    #[test]
    fn calls_that_never_end_do_not_pile_up() {
        let waits = Waits::default();
        for n in 0..3 * MOST {
            waits.spend(&CallId::from(n.to_string()), PATIENCE);
        }
        assert!(waits.spent.lock().unwrap().len() <= MOST);
    }
}
