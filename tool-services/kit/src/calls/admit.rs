//! Who is let in: the owner must be the newest that was seen, here or by whoever shares the store,
//! and must mean this incarnation or one that keeps its records in the same store. Next:
//! `durable.rs`.

use tracing::warn;

use super::{Refusal, Shared};
use crate::{
    fence::{Fenced, Owner},
    store::Fault,
};

impl Shared {
    /// The fence first: a newer owner is believed even where it means another incarnation.
    pub(super) async fn admit(&self, owner: &Owner, incarnation: &str) -> Result<(), Refusal> {
        self.fence(owner).await?;
        if incarnation == self.incarnation || self.ledger().kin.contains(incarnation) {
            return Ok(());
        }
        let Some(store) = &self.store else { return Err(Refusal::OtherIncarnation) };
        if !store.knows(incarnation).await.map_err(Refusal::Store)? {
            return Err(Refusal::OtherIncarnation);
        }
        self.ledger().kin.insert(incarnation.to_owned());
        Ok(())
    }

    /// Lets an owner pass and raises the floor, durably where there is a store.
    pub(super) async fn fence(&self, owner: &Owner) -> Result<(), Refusal> {
        let is_news = {
            let mut ledger = self.ledger();
            let is_news = ledger.fence.is_news(owner);
            ledger.fence.pass(owner).map_err(Refusal::Fenced)?;
            is_news
        };
        let Some(store) = self.store.as_ref().filter(|_| is_news) else { return Ok(()) };
        match store.raise(owner.clone()).await {
            Ok(None) => Ok(()),
            Ok(Some(seen)) => {
                let newer = Owner { epoch: seen, ..owner.clone() };
                // It is higher than what was let in above.
                let _ = self.ledger().fence.pass(&newer);
                Err(Refusal::Fenced(Fenced::Stale { seen }))
            }
            // Reading and asking go on; what changes something is refused by its own claim.
            Err(fault @ (Fault::Full | Fault::Busy | Fault::Broken | Fault::Other(_))) => {
                warn!(%fault, "a new owner was noted in memory only");
                Ok(())
            }
        }
    }
}
