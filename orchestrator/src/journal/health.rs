//! Whether the journal takes appends now, told to all who want to know and said once in the log each
//! time that it changes.
//!
//! Left to others: what a run does meanwhile. Next: `sqlite`.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

use super::fault::Fault;

/// How the journal is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// It takes appends.
    #[default]
    Well,
    /// Its server does not answer; it is asked again and again.
    Away(String),
    /// Its disk is full; reading goes on.
    Full(String),
    /// Its disk failed, and nothing may be called durable any more until it is opened anew.
    Failed(String),
}

impl Health {
    /// Why nothing is appended now, for people and without addresses; `None` if appends are taken.
    pub fn pause(&self) -> Option<&'static str> {
        match self {
            Self::Well => None,
            Self::Away(_) => Some("the journal's database does not answer"),
            Self::Full(_) => Some("the journal's disk is full"),
            Self::Failed(_) => Some("the journal's disk failed"),
        }
    }
}

/// The end at which a backend says how it is.
#[derive(Debug)]
pub(super) struct Pulse {
    health: watch::Sender<Health>,
    since: std::sync::Mutex<Instant>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { health: watch::Sender::default(), since: std::sync::Mutex::new(Instant::now()) }
    }
}

impl Pulse {
    /// How it is from now on.
    pub(super) fn watch(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    /// True while it takes no appends.
    pub(super) fn is_ill(&self) -> bool {
        *self.health.borrow() != Health::Well
    }

    /// Something was written, or could be.
    pub(super) fn well(&self) {
        // Most often nothing changes.
        if self.is_ill() {
            self.set(Health::Well);
        }
    }

    /// Its server answers. Whether its disk is full is known when something is written.
    pub(super) fn answers(&self) {
        if matches!(*self.health.borrow(), Health::Away(_)) {
            self.set(Health::Well);
        }
    }

    /// A fault; those of one session or one moment say nothing of the journal.
    pub(super) fn met(&self, fault: &Fault) {
        match fault {
            Fault::Unreachable(what) => self.set(Health::Away(what.clone())),
            Fault::Full(what) => self.set(Health::Full(what.clone())),
            Fault::Write(what) => self.set(Health::Failed(what.clone())),
            Fault::Damaged(_) | Fault::Busy(_) | Fault::Other(_) => {}
        }
    }

    fn set(&self, health: Health) {
        // The same trouble in other words is no news.
        let is_news = self.health.send_if_modified(|was| {
            let is_news = was.pause() != health.pause() && !matches!(was, Health::Failed(_));
            if is_news {
                was.clone_from(&health);
            }
            is_news
        });
        if !is_news {
            return;
        }
        let lasted = self.turn();
        match health {
            Health::Well => tracing::info!(?lasted, "journal takes appends again"),
            Health::Away(what) => tracing::warn!(what, "journal does not answer; runs wait for it"),
            Health::Full(what) => {
                tracing::warn!(what, "journal's disk is full; runs wait for space");
            }
            Health::Failed(what) => tracing::error!(what, "journal stopped: its disk failed"),
        }
    }

    /// How long it was as it was until now.
    fn turn(&self) -> Duration {
        let mut since = self.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut *since, Instant::now()).elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(what: &str) -> Fault {
        Fault::Full(what.to_owned())
    }

    #[tokio::test]
    async fn each_change_is_told_once_and_a_failed_disk_stays_failed() {
        let pulse = Pulse::default();
        let mut health = pulse.watch();
        pulse.well();
        pulse.met(&Fault::Busy("a shell".to_owned()));
        assert!(!health.has_changed().unwrap());
        pulse.met(&full("no space"));
        pulse.met(&full("still no space"));
        assert_eq!(*health.borrow_and_update(), Health::Full("no space".to_owned()));
        assert_eq!(health.borrow().pause(), Some("the journal's disk is full"));
        pulse.met(&full("no space at all"));
        assert!(!health.has_changed().unwrap());
        pulse.met(&Fault::Unreachable("db:5432".to_owned()));
        assert!(!health.borrow_and_update().pause().unwrap().contains("5432"));
        pulse.well();
        assert_eq!((health.borrow_and_update().clone(), pulse.is_ill()), (Health::Well, false));
        pulse.met(&Fault::Write("EIO".to_owned()));
        pulse.well();
        assert_eq!(*health.borrow(), Health::Failed("EIO".to_owned()));
    }
}
