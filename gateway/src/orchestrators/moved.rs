//! Notices that a session has a newer owner than the one that is waited for: one that was stopped, or
//! cut off, cannot even close its connections.

use callboard_proto::{PARTITIONS, partition_of};

use super::Orchestrators;

impl Orchestrators {
    /// Revision of the session's owner as far as it is known, 0 where nobody is.
    pub(super) fn revision(&self, session: &str) -> u64 {
        let partition = partition_of(session, PARTITIONS);
        let owners = self.shared.discovery.owners();
        let listed = owners.borrow().get(&partition).map_or(0, |owner| owner.revision);
        let named = self.named().get(&partition).map_or(0, |owner| owner.epoch_revision);
        listed.max(named)
    }

    /// Resolves once discovery lists an owner that is newer than `revision`; never where it does not.
    /// Dropping the future changes nothing.
    pub(super) async fn moved(&self, session: &str, revision: u64) {
        let partition = partition_of(session, PARTITIONS);
        let mut owners = self.shared.discovery.owners();
        loop {
            let listed = owners.borrow_and_update().get(&partition).map(|owner| owner.revision);
            if listed.is_some_and(|listed| listed > revision) {
                return;
            }
            if owners.changed().await.is_err() {
                // Without a view nobody is known to have moved.
                std::future::pending::<()>().await;
            }
        }
    }
}
