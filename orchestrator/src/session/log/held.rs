//! Events that wait for others to share their append with: a step of reads is worth no sync of its
//! own. What somebody waits for goes at once, and so does a change of what the session waits for.

use std::time::Duration;

use tokio::time::Instant;

use crate::run::event::Recorded;

/// How long events wait at most. Longer saves little, and what is lost with a process that dies is
/// what happened in this time.
const LINGER: Duration = Duration::from_millis(10);

/// Events that do not wait any longer.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Held {
    events: Vec<Recorded>,
    due: Option<Instant>,
}

impl Held {
    pub(super) fn push(&mut self, recorded: Recorded) {
        self.events.push(recorded);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// When they are to go, once [`Self::may_wait`] has said that they may wait.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether they may wait for what follows; `waited_for` is the highest number of an event that
    /// somebody waits for.
    pub(super) fn may_wait(&mut self, waited_for: Option<u64>) -> bool {
        let Some(first) = self.events.first() else { return true };
        if self.events.len() >= MOST || waited_for.is_some_and(|seq| first.seq <= seq) {
            return false;
        }
        self.due.get_or_insert_with(|| Instant::now() + LINGER);
        true
    }

    pub(super) fn take(&mut self) -> Vec<Recorded> {
        self.due = None;
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::event::{Event, OwnerTaken};

    fn held(seqs: std::ops::RangeInclusive<u64>) -> Held {
        let mut held = Held::default();
        for seq in seqs {
            let event = Event::OwnerTaken(OwnerTaken { owner: "me".to_owned() });
            held.push(Recorded {
                seq,
                wall_ms: 0,
                elapsed_ms: 0,
                trace_context: String::new(),
                event,
            });
        }
        held
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_event_sets_the_moment_and_taking_them_clears_it() {
        let begun = Instant::now();
        let mut held = held(5..=5);
        assert!(held.may_wait(None));
        tokio::time::advance(Duration::from_millis(7)).await;
        assert!(held.may_wait(None));
        assert_eq!(held.due(), Some(begun + Duration::from_millis(10)));
        assert_eq!(held.take().len(), 1);
        assert_eq!((held.due(), held.is_empty()), (None, true));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_waits_that_is_waited_for() {
        assert!(held(5..=7).may_wait(Some(4)), "what is waited for went before");
        assert!(!held(5..=7).may_wait(Some(5)));
        assert!(!held(5..=7).may_wait(Some(9)));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_wait() {
        assert!(held(1..=63).may_wait(None));
        assert!(!held(1..=64).may_wait(None));
    }
}
