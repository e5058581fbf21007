//! What a registration holds, as far as it can know: what it won, less what the view shows to be
//! somebody else's, plus what the view shows to be its own (its answer was lost). Pure; the reads
//! are `mirror.rs`, the writes `transactions.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio::sync::watch;

use super::{
    keys::{Claimed, Keys},
    mirror::Listing,
};
use crate::{Held, InstanceId, claims::Holder};

#[derive(Debug)]
pub(super) struct Holding {
    keys: Keys,
    me: InstanceId,
    held: watch::Sender<Held>,
    /// Let go, with the revision of the claim, until the view shows that it is gone; true once the
    /// delete was answered.
    leaving: BTreeMap<u32, (u64, bool)>,
    owned: BTreeSet<u32>,
    rewinds: u64,
}

impl Holding {
    pub(super) fn new(keys: Keys, me: InstanceId) -> Self {
        let (held, leaving, owned) = (watch::Sender::default(), BTreeMap::new(), BTreeSet::new());
        Self { keys, me, held, leaving, owned, rewinds: 0 }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Held> {
        self.held.subscribe()
    }

    /// Everything is lost with the lease.
    pub(super) fn clear(&mut self) {
        self.leaving.clear();
        self.change(BTreeMap::clear);
    }

    pub(super) fn won(&mut self, partitions: &[u32], revision: i64) {
        let Ok(revision) = u64::try_from(revision) else { return };
        tracing::info!(partitions = partitions.len(), revision, "partitions claimed");
        for partition in partitions {
            self.leaving.remove(partition);
        }
        self.change(|held| held.extend(partitions.iter().map(|it| (*it, revision))));
    }

    /// No longer held from now on; the key is deleted when `leaving` has been.
    pub(super) fn let_go(&mut self, partitions: &[u32]) {
        let held = Arc::clone(&self.held.borrow());
        for partition in partitions {
            if let Some(revision) = held.get(partition) {
                self.leaving.insert(*partition, (*revision, false));
            }
        }
        self.change(|held| held.retain(|partition, _| !partitions.contains(partition)));
    }

    /// What is still to be deleted.
    pub(super) fn leaving(&self) -> BTreeMap<u32, u64> {
        let due = self.leaving.iter().filter(|(_, (_, is_deleted))| !is_deleted);
        due.map(|(partition, (revision, _))| (*partition, *revision)).collect()
    }

    pub(super) fn deleted(&mut self, partitions: &BTreeMap<u32, u64>) {
        for partition in partitions.keys() {
            if let Some((_, is_deleted)) = self.leaving.get_mut(partition) {
                *is_deleted = true;
            }
        }
    }

    /// Takes over what the view says; only what is bound to `lease` can be ours.
    pub(super) fn compare(&mut self, view: &Listing<Claimed>, lease: i64) {
        let mut mine = BTreeMap::new();
        self.owned.clear();
        for (key, entry) in view.entries.iter() {
            let Some(partition) = self.keys.partition_of(key) else { continue };
            self.owned.insert(partition);
            if entry.content.instance == self.me && entry.lease == lease {
                mine.insert(partition, u64::try_from(entry.created).unwrap_or_default());
            }
        }
        self.leaving.retain(|partition, (revision, _)| mine.get(partition) == Some(revision));
        let is_rewound = std::mem::replace(&mut self.rewinds, view.rewinds) != view.rewinds;
        // A claim that is newer than the view cannot be in it yet, unless the store itself went
        // back.
        let is_newer = |revision: u64| {
            i64::try_from(revision).is_ok_and(|it| it > view.revision) && !is_rewound
        };
        let leaving: BTreeSet<u32> = self.leaving.keys().copied().collect();
        self.change(|held| {
            held.retain(|partition, revision| {
                is_newer(*revision) || mine.get(partition) == Some(revision)
            });
            for (partition, revision) in mine {
                if !leaving.contains(&partition) {
                    held.entry(partition).or_insert(revision);
                }
            }
        });
    }

    pub(super) fn holder(&self, partition: u32) -> Holder {
        if self.held.borrow().contains_key(&partition) || self.leaving.contains_key(&partition) {
            Holder::Me
        } else if self.owned.contains(&partition) {
            Holder::Other
        } else {
            Holder::None
        }
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u32, u64>)) {
        self.held.send_if_modified(|held| {
            let before = Arc::clone(held);
            change(Arc::make_mut(held));
            *held != before
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::mirror::Entry;

    const LEASE: i64 = 7;

    fn view(revision: i64, rewinds: u64, claims: &[(u32, &str, i64, i64)]) -> Listing<Claimed> {
        let entries = claims
            .iter()
            .map(|(partition, instance, created, lease)| {
                let content = Claimed { instance: (*instance).into(), incarnation: String::new() };
                let entry = Entry { content, created: *created, lease: *lease };
                (keys().partition(*partition), entry)
            })
            .collect();
        Listing { entries: Arc::new(entries), revision, rewinds, is_confirmed: true }
    }

    fn keys() -> Keys {
        Keys::new("cb").unwrap()
    }

    fn compare(holding: &mut Holding, view: &Listing<Claimed>) -> Vec<(u32, u64)> {
        holding.compare(view, LEASE);
        held(holding)
    }

    fn held(holding: &Holding) -> Vec<(u32, u64)> {
        holding.held.borrow().iter().map(|(partition, revision)| (*partition, *revision)).collect()
    }

    #[test]
    fn a_claim_newer_than_the_view_is_kept_until_the_view_has_caught_up() {
        let mut holding = Holding::new(keys(), "me".into());
        holding.won(&[1, 2], 50);
        assert_eq!(compare(&mut holding, &view(49, 0, &[])), [(1, 50), (2, 50)]);
        let caught_up = view(50, 0, &[(1, "me", 50, LEASE)]);
        assert_eq!(compare(&mut holding, &caught_up), [(1, 50)]);
    }

    #[test]
    fn what_another_has_claimed_since_is_no_longer_held() {
        let mut holding = Holding::new(keys(), "me".into());
        holding.won(&[1, 2], 50);
        let moved = view(60, 0, &[(1, "other", 60, 8), (2, "me", 50, LEASE)]);
        assert_eq!(compare(&mut holding, &moved), [(2, 50)]);
        assert_eq!(holding.holder(1), Holder::Other);
        assert_eq!(holding.holder(2), Holder::Me);
        assert_eq!(holding.holder(3), Holder::None);
    }

    #[test]
    fn a_claim_whose_answer_was_lost_is_taken_over() {
        let mut holding = Holding::new(keys(), "me".into());
        let mine = view(50, 0, &[(1, "me", 50, LEASE), (2, "me", 40, 6), (3, "other", 50, LEASE)]);
        // 2 is a predecessor's of that name, under another lease.
        assert_eq!(compare(&mut holding, &mine), [(1, 50)]);
        assert_eq!(holding.holder(2), Holder::Other);
    }

    #[test]
    fn what_is_let_go_is_not_taken_over_again_while_its_key_is_still_seen() {
        let mut holding = Holding::new(keys(), "me".into());
        holding.won(&[1, 2], 50);
        let before = view(50, 0, &[(1, "me", 50, LEASE), (2, "me", 50, LEASE)]);
        compare(&mut holding, &before);
        holding.let_go(&[1, 9]);
        assert_eq!(holding.leaving(), BTreeMap::from([(1, 50)]));
        assert_eq!(compare(&mut holding, &before), [(2, 50)]);
        holding.deleted(&BTreeMap::from([(1, 50)]));
        assert!(holding.leaving().is_empty());
        assert_eq!(compare(&mut holding, &before), [(2, 50)]);
        assert_eq!(holding.holder(1), Holder::Me);
        let after = view(51, 0, &[(2, "me", 50, LEASE)]);
        assert_eq!(compare(&mut holding, &after), [(2, 50)]);
        assert_eq!(holding.holder(1), Holder::None);
    }

    #[test]
    fn after_a_restore_from_a_backup_only_what_the_store_still_knows_is_held() {
        let mut holding = Holding::new(keys(), "me".into());
        holding.won(&[1, 2], 50);
        let restored = view(30, 1, &[]);
        assert_eq!(compare(&mut holding, &restored), []);
    }
}
