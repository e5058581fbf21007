//! Sessions that are refused: their events cannot be folded, or their actor broke twice. Each is
//! refused by itself; the process and all others go on. What is refused is not woken by us any more;
//! whoever asks for it has it tried again once in a while, since it may have been mended.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::error;

use super::registry::Ownership;
use crate::run::ids::SessionId;

/// How often an actor may break before its session is refused.
const CRASHES: u32 = 2;
/// For how long a request is refused without another look.
const LASTS: Duration = Duration::from_mins(1);

/// Which sessions of this process are refused, and which have broken.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    broken: Mutex<HashMap<SessionId, Broken>>,
}

#[derive(Debug)]
struct Broken {
    ownership: Ownership,
    crashes: u32,
    /// Why it is refused; `None` while it is not.
    what: Option<String>,
    looked: Instant,
}

impl Quarantine {
    /// Why a request for the session is refused; `None` if it may be looked at.
    pub(super) fn refusal(&self, id: &SessionId, ownership: Ownership) -> Option<String> {
        let broken = self.broken();
        let found = broken.get(id).filter(|it| it.ownership == ownership)?;
        found.what.clone().filter(|_| found.looked.elapsed() < LASTS)
    }

    /// Whether the session is refused: nobody but a request wakes it.
    pub(super) fn holds(&self, id: &SessionId) -> bool {
        self.broken().get(id).is_some_and(|it| it.what.is_some())
    }

    /// Refuses a session from now on.
    pub(super) fn refuse(&self, id: &SessionId, ownership: Ownership, what: &str) {
        let mut broken = self.broken();
        let (crashes, looked) = (CRASHES, Instant::now());
        let now = Broken { ownership, crashes, what: Some(what.to_owned()), looked };
        let was_held = broken.insert(id.clone(), now).is_some_and(|it| it.what.is_some());
        if !was_held {
            error!(session = %id, what, "session quarantined; others go on");
        }
    }

    /// Notes that an actor broke; true if its session is refused from now on.
    pub(super) fn crashed(&self, id: &SessionId, ownership: Ownership, what: &str) -> bool {
        let crashes = {
            let mut broken = self.broken();
            let looked = Instant::now();
            let new = || Broken { ownership, crashes: 0, what: None, looked };
            let found = broken.entry(id.clone()).or_insert_with(new);
            found.crashes += 1;
            found.crashes
        };
        let is_refused = crashes >= CRASHES;
        if is_refused {
            self.refuse(id, ownership, what);
        }
        is_refused
    }

    /// The session folded away in peace, or was removed: nothing speaks against it any more.
    pub(super) fn release(&self, id: &SessionId) {
        self.broken().remove(id);
    }

    /// Forgets those that are another owner's by now.
    pub(super) fn keep(&self, is_owned: impl Fn(&SessionId, Ownership) -> bool) {
        self.broken().retain(|id, it| is_owned(id, it.ownership));
    }

    /// Those that are refused, and why, in the order of their ids.
    pub(super) fn refused(&self) -> Vec<(SessionId, String)> {
        let broken = self.broken();
        let held = broken.iter().filter_map(|(id, it)| Some((id.clone(), it.what.clone()?)));
        let mut held: Vec<_> = held.collect();
        held.sort();
        held
    }

    fn broken(&self) -> MutexGuard<'_, HashMap<SessionId, Broken>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Epoch;

    const OURS: Ownership = Ownership { partition: 3, epoch: Epoch { generation: 1, revision: 7 } };
    const LATER: Ownership =
        Ownership { partition: 3, epoch: Epoch { generation: 1, revision: 8 } };

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_folded_is_refused_at_once_and_looked_at_again_when_asked_for() {
        let (quarantine, id) = (Quarantine::default(), SessionId::from("s"));
        assert_eq!(quarantine.refusal(&id, OURS), None);
        quarantine.refuse(&id, OURS, "event 3");
        assert_eq!(quarantine.refusal(&id, OURS).as_deref(), Some("event 3"));
        assert_eq!(quarantine.refusal(&id, LATER), None, "under another epoch it is tried");
        assert_eq!(quarantine.refusal(&"t".into(), OURS), None);
        assert_eq!(quarantine.refused(), [(id.clone(), "event 3".to_owned())]);
        tokio::time::advance(LASTS).await;
        assert_eq!(quarantine.refusal(&id, OURS), None, "who asks has it tried again");
        assert!(quarantine.holds(&id), "and nobody else");
        quarantine.refuse(&id, OURS, "event 3");
        assert!(quarantine.refusal(&id, OURS).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_crash_is_forgiven_and_the_second_is_not() {
        let (quarantine, id) = (Quarantine::default(), SessionId::from("s"));
        assert!(!quarantine.crashed(&id, OURS, "it panicked"));
        assert!(!quarantine.holds(&id) && quarantine.refused().is_empty());
        quarantine.release(&id);
        assert!(!quarantine.crashed(&id, OURS, "it panicked"), "in between it was well");
        assert!(quarantine.crashed(&id, OURS, "it panicked"));
        assert_eq!(quarantine.refusal(&id, OURS).as_deref(), Some("it panicked"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_another_one_owns_is_no_concern_of_ours() {
        let quarantine = Quarantine::default();
        for id in ["s", "t"] {
            quarantine.refuse(&id.into(), OURS, "event 3");
        }
        quarantine.keep(|id, ownership| id.as_str() == "t" && ownership == OURS);
        assert!(!quarantine.holds(&"s".into()) && quarantine.holds(&"t".into()));
    }
}
