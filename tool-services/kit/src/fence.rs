//! Who may still act: remembers the highest epoch seen in each partition and refuses a lower one, so
//! that an owner which was paused and comes back starts nothing. Pure; `calls.rs` holds it under the
//! same lock as the outcomes (`outcomes.rs`, next), and keeps it in the store where there is one.

use std::collections::HashMap;

/// Floors that are kept; more partitions than this are refused, never forgotten.
const FLOORS: usize = 65_536;

/// Fencing number of an owner; ordered by generation, then revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch {
    pub(crate) generation: u64,
    pub(crate) revision: u64,
}

/// An owner as a message names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) deployment: String,
    pub(crate) partition: u32,
    pub(crate) epoch: Epoch,
}

/// Why an owner may not act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fenced {
    /// A higher epoch was seen.
    Stale { seen: Epoch },
    /// More partitions than anyone has.
    TooMany,
}

/// The floors of all partitions.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    floors: HashMap<String, HashMap<u32, Epoch>>,
    count: usize,
}

impl Fence {
    /// Whether the owner is newer than what was seen in its partition.
    pub(crate) fn is_news(&self, owner: &Owner) -> bool {
        let floors = self.floors.get(&owner.deployment);
        let floor = floors.and_then(|floors| floors.get(&owner.partition));
        floor.is_none_or(|floor| *floor < owner.epoch)
    }

    /// Lets the owner pass if nobody newer was seen, and from then on nobody older.
    pub(crate) fn pass(&mut self, owner: &Owner) -> Result<(), Fenced> {
        if let Some(floor) = self
            .floors
            .get_mut(&owner.deployment)
            .and_then(|floors| floors.get_mut(&owner.partition))
        {
            if owner.epoch < *floor {
                return Err(Fenced::Stale { seen: *floor });
            }
            *floor = owner.epoch;
            return Ok(());
        }
        if self.count == FLOORS {
            return Err(Fenced::TooMany);
        }
        self.count += 1;
        let floors = self.floors.entry(owner.deployment.clone()).or_default();
        floors.insert(owner.partition, owner.epoch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(deployment: &str, partition: u32, generation: u64, revision: u64) -> Owner {
        let epoch = Epoch { generation, revision };
        Owner { deployment: deployment.to_owned(), partition, epoch }
    }

    #[test]
    fn a_lower_epoch_is_refused_once_a_higher_one_was_seen() {
        let mut fence = Fence::default();
        assert_eq!(fence.pass(&owner("d", 7, 1, 20)), Ok(()));
        assert_eq!(fence.pass(&owner("d", 7, 1, 20)), Ok(()));
        assert_eq!(fence.pass(&owner("d", 7, 1, 21)), Ok(()));
        let seen = Epoch { generation: 1, revision: 21 };
        assert_eq!(fence.pass(&owner("d", 7, 1, 20)), Err(Fenced::Stale { seen }));
        assert_eq!(fence.pass(&owner("d", 7, 1, 21)), Ok(()));
    }

    #[test]
    fn a_generation_outranks_every_revision() {
        let mut fence = Fence::default();
        assert_eq!(fence.pass(&owner("d", 0, 1, 900)), Ok(()));
        assert_eq!(fence.pass(&owner("d", 0, 2, 3)), Ok(()));
        let seen = Epoch { generation: 2, revision: 3 };
        assert_eq!(fence.pass(&owner("d", 0, 1, 901)), Err(Fenced::Stale { seen }));
    }

    #[test]
    fn partitions_and_deployments_do_not_touch_one_another() {
        let mut fence = Fence::default();
        assert_eq!(fence.pass(&owner("d", 0, 1, 9)), Ok(()));
        assert_eq!(fence.pass(&owner("d", 1, 1, 2)), Ok(()));
        assert_eq!(fence.pass(&owner("e", 0, 1, 2)), Ok(()));
    }

    #[test]
    fn floors_are_bounded_and_never_dropped() {
        let mut fence = Fence::default();
        for partition in 0..u32::try_from(FLOORS).unwrap() {
            assert_eq!(fence.pass(&owner("d", partition, 1, 5)), Ok(()));
        }
        assert_eq!(fence.pass(&owner("e", 0, 1, 5)), Err(Fenced::TooMany));
        let seen = Epoch { generation: 1, revision: 5 };
        assert_eq!(fence.pass(&owner("d", 3, 1, 4)), Err(Fenced::Stale { seen }));
    }
}
