//! Sessions that are to be woken, a few at a time: a failover brings thousands at once, and those that
//! a client waits for are woken by its request meanwhile.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use tracing::warn;

use crate::{
    journal::{JournalError, SessionRow},
    run::ids::SessionId,
    session::{SessionError, Sessions},
};

/// Sessions woken at once, each time that the queue is looked after.
const AT_ONCE: usize = 64;

/// Who is to be woken, in order, each once.
#[derive(Debug, Default)]
pub(super) struct WakeQueue {
    order: VecDeque<SessionId>,
    queued: HashSet<SessionId>,
}

impl WakeQueue {
    pub(super) fn add(&mut self, rows: &[SessionRow]) {
        for row in rows {
            if self.queued.insert(row.id.clone()) {
                self.order.push_back(row.id.clone());
            }
        }
    }

    /// Adds those whose time has come.
    pub(super) async fn add_due(&mut self, sessions: &Arc<Sessions>) {
        let shared = sessions.shared();
        let now_ms = shared.clock.now_ms();
        match shared.journal.due(&shared.partitions.all(), now_ms).await {
            Ok(mut due) => {
                // Whoever is refused stays due for ever.
                due.retain(|row| !sessions.is_refused(&row.id));
                self.add(&due);
            }
            // Said once, where it is noticed.
            Err(JournalError::Unreachable(_)) => {}
            Err(error) => warn!(%error, "sessions that are due cannot be listed"),
        }
    }

    /// Wakes the next ones.
    pub(super) fn wake_some(&mut self, sessions: &Arc<Sessions>) {
        for _ in 0..self.order.len().min(AT_ONCE) {
            let Some(id) = self.order.pop_front() else { return };
            match sessions.wake(&id) {
                // Its actor of an earlier epoch is about to stop, and must be gone first.
                Err(SessionError::Closed) => self.order.push_back(id),
                Ok(_) => {
                    self.queued.remove(&id);
                }
                Err(error) => {
                    warn!(session = %id, %error, "session not woken");
                    self.queued.remove(&id);
                }
            }
        }
    }
}
