//! What the writer knows without asking: the claims that it looked up, and the sessions that it
//! appended to and that are still at work. Nobody else writes, so what it wrote is there.
//!
//! Left to others: when that is no longer true. Next: `row`.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::journal::fault::Fault;
use crate::journal::row::{StoredClaim, StoredSession};
use crate::journal::{Epoch, SessionState};

/// Sessions that are remembered; over it, all are looked up anew.
const MOST: usize = 4096;

/// Rows as they were committed, or as they are inside the open transaction.
#[derive(Debug, Default)]
pub(super) struct Known {
    owners: HashMap<u32, Epoch>,
    sessions: HashMap<String, StoredSession>,
}

impl Known {
    /// Everything may have changed: a transaction was rolled back, or did something else than append.
    pub(super) fn forget(&mut self) {
        self.owners.clear();
        self.sessions.clear();
    }

    /// Whether the newest claim of a partition has this epoch.
    pub(super) fn is_owner(
        &mut self,
        connection: &Connection,
        partition: u32,
        epoch: Epoch,
    ) -> Result<bool, Fault> {
        if let Some(owner) = self.owners.get(&partition) {
            return Ok(*owner == epoch);
        }
        let claim = StoredClaim::find(connection, partition)?.filter(|claim| claim.is_sealed);
        self.owners.extend(claim.as_ref().map(|claim| (partition, claim.epoch)));
        Ok(claim.is_some_and(|claim| claim.epoch == epoch))
    }

    /// The session as this writer left it, if it did.
    pub(super) fn session(&self, id: &str) -> Option<&StoredSession> {
        self.sessions.get(id)
    }

    /// Notes how an append left a session. One that is idle is seldom appended to again soon.
    pub(super) fn note(&mut self, session: StoredSession) {
        if session.row.state == SessionState::Idle {
            self.sessions.remove(session.row.id.as_str());
            return;
        }
        if self.sessions.len() >= MOST {
            self.sessions.clear();
        }
        self.sessions.insert(session.row.id.to_string(), session);
    }
}
