//! The journal takes nothing for a while: its database is away, or its disk is full. An actor whose
//! append came back with that stops and is folded anew, as after every append that failed, but those
//! who follow the session stay: they are told why, and hear what they missed once it goes on.
//!
//! How the journal is, is told by `journal`. Next: `quarantine`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tracing::debug;

use super::{
    actor::{Exit, SessionActor},
    error::SessionError,
    log::load_and_tell,
    registry::Sessions,
    watchers::{Glimpse, Noted, RunTracker, Watchers},
};
use crate::{
    journal::{AppendError, Health},
    run::{
        event::Event,
        ids::{CallId, RunId, SessionId},
        state::Session,
    },
};

/// First pause before a session whose append failed is folded anew; each further one is twice as
/// long.
pub(super) const REOPEN_AFTER: Duration = Duration::from_millis(500);
/// The longest.
const LONGEST: Duration = Duration::from_secs(4);

/// What stays of an actor while the journal takes nothing.
#[derive(Debug, Default)]
pub(super) struct Left {
    watchers: Watchers,
    /// The run that waits.
    run: RunId,
    /// Number of the last fact that they were told.
    told: u64,
    /// How often it was folded anew since an append was accepted.
    tries: u32,
    /// What they were last told about the journal; empty once it is well.
    said: &'static str,
    /// Whether an append failed, and not only the look at what there is.
    is_unproven: bool,
}

impl Left {
    /// How long to wait now. Jitter: many sessions met the same trouble.
    fn wait(&self) -> Duration {
        let longest = REOPEN_AFTER.saturating_mul(1 << self.tries.min(10)).min(LONGEST);
        longest.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    fn tell(&mut self, text: &'static str) {
        if !self.run.as_str().is_empty() && is_news(&mut self.said, text) {
            self.watchers.glimpse(word(&self.run, text));
        }
    }
}

/// What sessions left that wait for the journal.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    left: Mutex<HashMap<SessionId, Box<Left>>>,
}

impl Pauses {
    pub(super) fn put(&self, id: &SessionId, left: Box<Left>) {
        self.left().insert(id.clone(), left);
    }

    pub(super) fn take(&self, id: &SessionId) -> Option<Box<Left>> {
        self.left().remove(id)
    }

    /// Lets those go who follow what another owner has by now: it tells them.
    pub(super) fn keep(&self, is_owned: impl Fn(&SessionId) -> bool) {
        self.left().retain(|id, _| is_owned(id));
    }

    fn wait(&self, id: &SessionId) -> Option<Duration> {
        self.left().get(id).map(|left| left.wait())
    }

    fn left(&self) -> MutexGuard<'_, HashMap<SessionId, Box<Left>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    /// Tells those who follow a run that it waits for the journal, or goes on.
    pub fn tell_health(&self, health: &Health) {
        let text = words(health);
        self.each_awake(|handle| handle.tell(text));
        for left in self.pauses.left().values_mut() {
            left.tell(text);
        }
    }

    /// Folds a session anew after its pause, unless somebody did so before.
    pub(super) async fn resume(self: &Arc<Self>, id: &SessionId) {
        let Some(wait) = self.pauses.wait(id) else { return };
        debug!(session = %id, ?wait, "session waits for the journal");
        let pause = tokio::time::sleep(wait);
        if self.shutdown().run_until_cancelled(pause).await.is_none() {
            return;
        }
        if let Err(error) = self.wake(id) {
            debug!(session = %id, %error, "session not reopened");
            drop(self.pauses.take(id));
        }
    }
}

impl SessionActor {
    /// The same with what an earlier actor left: nothing starts before an append is accepted, or a
    /// full disk would have the same work done again and again.
    pub(super) fn after_pause(mut self, mut left: Box<Left>) -> Self {
        self.is_unproven |= left.is_unproven;
        self.watchers = std::mem::take(&mut left.watchers);
        self.said = left.said;
        self.left = Some(left);
        self
    }

    /// An append is not in the journal, or nobody knows.
    pub(super) fn append_failed(&mut self, error: &AppendError) {
        self.log.give_up(error);
        self.exit = Some(match error {
            AppendError::Fenced => Exit::Fenced,
            AppendError::Full(_) | AppendError::Unreachable(_) => {
                self.is_unproven = true;
                Exit::Paused
            }
            AppendError::Conflict | AppendError::Closed | AppendError::Backend(_) => {
                Exit::AppendFailed(error.to_string())
            }
        });
    }

    /// What stays of it.
    pub(super) fn leaves(&mut self) -> Left {
        self.tell_pause();
        let mut left = *self.left.take().unwrap_or_default();
        left.said = self.said;
        left.watchers = std::mem::take(&mut self.watchers);
        if let Some(run) = self.waits() {
            left.run = run.clone();
        }
        left.told = left.told.max(self.log.durable());
        left.tries += 1;
        left.is_unproven = self.is_unproven;
        left
    }

    /// Folds the journal, and tells those who stayed what they have missed.
    pub(super) async fn fold(&mut self) -> Result<Option<Session>, SessionError> {
        let told = self.left.as_ref().map(|left| left.told);
        let told = told.filter(|_| !self.watchers.is_empty());
        let (mut tracker, mut missed) = (RunTracker::default(), Vec::new());
        let journal = &*self.shared.journal;
        let folded = load_and_tell(journal, &self.id, u64::MAX, |recorded, session| {
            let Some(told) = told else { return };
            let run = tracker.run_of(&recorded.event);
            if recorded.seq > told {
                let ended = match &recorded.event {
                    Event::RunEnded(ended) => session.run(&ended.run).cloned().map(Arc::new),
                    _ => None,
                };
                missed.push((Noted { recorded: Arc::new(recorded.clone()), run }, ended));
            }
        });
        let folded = folded.await?;
        for (noted, ended) in missed {
            self.watchers.fact(&noted, ended.as_ref());
        }
        Ok(folded)
    }

    /// Tells those who follow that the run waits for the journal, if it does.
    pub(super) fn tell_pause(&mut self) {
        let health = self.shared.journal.health().borrow().clone();
        if health != Health::Well {
            self.tell(words(&health));
        }
    }

    /// Tells those who follow a word about the run.
    pub(super) fn tell(&mut self, text: &'static str) {
        if let Some(run) = self.waits().cloned()
            && is_news(&mut self.said, text)
        {
            self.watchers.glimpse(word(&run, text));
        }
    }

    /// The run that waits for the journal: the one that works, or one whose end nobody was told yet.
    fn waits(&self) -> Option<&RunId> {
        let is_untold = self.log.durable() < self.session.last_seq;
        let ended = self.session.ended.last().filter(|_| is_untold);
        let run = self.session.current.as_deref().or(ended)?;
        Some(&run.input.run)
    }
}

/// Whether a word about the journal is to be told after what was `said` before: each trouble once,
/// and its end.
fn is_news(said: &mut &'static str, text: &'static str) -> bool {
    let is_over = text == words(&Health::Well);
    let is_news = *said != text && !(is_over && said.is_empty());
    *said = if is_over { "" } else { text };
    is_news
}

/// Why a run waits, for whoever follows it.
fn words(health: &Health) -> &'static str {
    match health {
        Health::Well => "the journal takes events again: the run goes on",
        Health::Away(_) => {
            "the run is paused: the journal's database does not answer. It goes on by itself once \
             that is back"
        }
        Health::Full(_) => {
            "the run is paused: the journal's disk is full. It goes on by itself once there is space"
        }
        Health::Failed(_) => {
            "the run is paused: the journal's disk failed. It goes on once the journal was opened \
             anew"
        }
    }
}

fn word(run: &RunId, text: &str) -> Glimpse {
    Glimpse {
        run: run.clone(),
        request: 0,
        call: CallId::default(),
        offset: 0,
        text: text.to_owned(),
        restarted: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_is_told_once_and_so_is_its_end() {
        let (full, well) = (words(&Health::Full(String::new())), words(&Health::Well));
        let away = words(&Health::Away(String::new()));
        let mut said = "";
        let told = [well, full, full, away, well, well, away].map(|text| is_news(&mut said, text));
        assert_eq!(told, [false, true, false, true, true, false, true]);
    }

    #[test]
    fn pauses_double_to_a_few_seconds_and_never_come_together() {
        for (tries, longest) in [(0, 500), (1, 1_000), (2, 2_000), (3, 4_000), (60, 4_000)] {
            let left = Left { tries, ..Left::default() };
            let waits: Vec<_> = (0..50).map(|_| left.wait().as_millis()).collect();
            assert!(waits.iter().all(|it| (longest / 2..=longest).contains(it)), "{waits:?}");
            assert!(waits.iter().any(|it| *it != waits[0]));
        }
    }
}
