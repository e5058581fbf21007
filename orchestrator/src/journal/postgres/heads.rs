//! What was last written of the sessions at work, so that an append need not ask for it first. A
//! guess: the statement that writes compares it with what is there.
//!
//! Next: `upkeep`.

use std::collections::HashMap;

use crate::journal::row::StoredSession;

/// Sessions that are kept; with more at work than that, all are forgotten.
const CAPACITY: usize = 8192;

/// Rows of sessions as they were last written.
#[derive(Debug, Default)]
pub(super) struct Heads(HashMap<String, StoredSession>);

impl Heads {
    pub(super) fn get(&self, session: &str) -> Option<&StoredSession> {
        self.0.get(session)
    }

    pub(super) fn keep(&mut self, stored: StoredSession) {
        if self.0.len() >= CAPACITY {
            self.0.clear();
        }
        self.0.insert(stored.row.id.to_string(), stored);
    }

    pub(super) fn forget(&mut self, session: &str) {
        self.0.remove(session);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
