//! The one record of who claimed which partitions, changed only under its lock. A claim counts
//! while the claimant's instance lives under the same incarnation; its revision is the record's
//! counter, raised by each claim. Who should claim what is decided in `claims.rs`. Next is
//! `registrar.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    blocking,
    folders::{self, Folders},
    lock,
};
use crate::{Error, Instance, InstanceId};

/// How long a change waits for the changes of others; each takes about a millisecond.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(3);

/// `owners.json`; read by other releases, fields are only ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) revision: u64,
    pub(super) claims: Vec<Claim>,
}

/// What one instance won at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) instance: InstanceId,
    pub(super) incarnation: String,
    pub(super) revision: u64,
    pub(super) partitions: BTreeSet<u32>,
}

/// Who changes the record, and what it holds.
#[derive(Clone, Debug)]
pub(super) struct Claimant {
    pub(super) id: InstanceId,
    pub(super) incarnation: String,
    pub(super) held: Arc<BTreeMap<u32, u64>>,
}

/// Claims those of `wanted` that are free; says which were won, and with which revision.
pub(super) async fn claim(
    folders: &Arc<Folders>,
    claimant: Claimant,
    wanted: Vec<u32>,
) -> Result<BTreeMap<u32, u64>, Error> {
    change(folders, move |record, folders| {
        let mut dead = Vec::new();
        for claim in record.claims.iter().filter(|claim| claim.instance != claimant.id) {
            if !lives(folders, claim)? {
                dead.push(claim.clone());
            }
        }
        record.claims.retain(|claim| !dead.contains(claim));
        record.keep_of(&claimant);
        Ok(record.take(&claimant, &wanted))
    })
    .await
}

/// Gives `partitions` back.
pub(super) async fn let_go(
    folders: &Arc<Folders>,
    mut claimant: Claimant,
    partitions: &[u32],
) -> Result<(), Error> {
    Arc::make_mut(&mut claimant.held).retain(|partition, _| !partitions.contains(partition));
    change(folders, move |record, _| {
        record.keep_of(&claimant);
        Ok(())
    })
    .await
}

impl Record {
    /// A counter that starts anew would fall behind a journal that outlived the folder (runtime
    /// folders are emptied at boot), so it starts at the time of day, in milliseconds.
    fn fresh() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let revision = u64::try_from(since.as_millis()).unwrap_or_default();
        Self { revision, claims: Vec::new() }
    }

    /// Drops claims in the claimant's name that it does not hold: a predecessor's of that name.
    fn keep_of(&mut self, claimant: &Claimant) {
        for claim in self.claims.iter_mut().filter(|claim| claim.instance == claimant.id) {
            let is_held = |partition: &u32| claimant.held.get(partition) == Some(&claim.revision);
            claim.partitions.retain(is_held);
        }
        self.claims.retain(|claim| !claim.partitions.is_empty());
    }

    fn take(&mut self, claimant: &Claimant, wanted: &[u32]) -> BTreeMap<u32, u64> {
        let taken = |partition| self.claims.iter().any(|it| it.partitions.contains(partition));
        let free: BTreeSet<u32> = wanted.iter().filter(|it| !taken(it)).copied().collect();
        if free.is_empty() {
            return BTreeMap::new();
        }
        self.revision += 1;
        let won = free.iter().map(|partition| (*partition, self.revision)).collect();
        self.claims.push(Claim {
            instance: claimant.id.clone(),
            incarnation: claimant.incarnation.clone(),
            revision: self.revision,
            partitions: free,
        });
        won
    }
}

fn lives(folders: &Folders, claim: &Claim) -> Result<bool, Error> {
    if !lock::is_held(folders, &claim.instance)? {
        return Ok(false);
    }
    let record: Option<Instance> = folders::read(&folders.record(&claim.instance))?;
    Ok(record.is_some_and(|instance| instance.incarnation == claim.incarnation))
}

/// Changes the record under its lock, in one step for those who read.
async fn change<T: Send + 'static>(
    folders: &Arc<Folders>,
    edit: impl FnOnce(&mut Record, &Folders) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let held = lock_record(folders).await?;
    let folders = Arc::clone(folders);
    blocking(move || {
        let path = folders.owners();
        let before: Option<Record> = folders::read(&path)?;
        let mut after = before.clone().unwrap_or_else(Record::fresh);
        let result = edit(&mut after, &folders)?;
        if before.as_ref() != Some(&after) {
            folders::write(&path, &after)?;
        }
        drop(held);
        Ok(result)
    })
    .await?
}

async fn lock_record(folders: &Arc<Folders>) -> Result<fs::File, Error> {
    let path = folders.owners_lock();
    let fail = |source| Error::Io { action: "lock", path: path.clone(), source };
    for _ in 0..TRIES {
        let path = path.clone();
        let attempt = blocking(move || {
            let mut options = fs::OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(fs::TryLockError::WouldBlock) => Ok(None),
                Err(fs::TryLockError::Error(error)) => Err(error),
            }
        })
        .await?;
        if let Some(file) = attempt.map_err(fail)? {
            return Ok(file);
        }
        tokio::time::sleep(PAUSE.mul_f64(0.5 + fastrand::f64())).await;
    }
    Err(fail(io::Error::new(io::ErrorKind::TimedOut, "another process holds it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimant(id: &str, held: &[(u32, u64)]) -> Claimant {
        let held = Arc::new(held.iter().copied().collect());
        Claimant { id: id.into(), incarnation: format!("{id}-1"), held }
    }

    #[test]
    fn only_what_is_free_is_won_and_each_claim_raises_the_revision() {
        let mut record = Record { revision: 40, claims: Vec::new() };
        assert_eq!(record.take(&claimant("a", &[]), &[0, 1]), BTreeMap::from([(0, 41), (1, 41)]));
        assert_eq!(record.take(&claimant("b", &[]), &[1, 2]), BTreeMap::from([(2, 42)]));
        assert_eq!(record.take(&claimant("a", &[]), &[0, 1, 2]), BTreeMap::new());
        assert_eq!(record.revision, 42);
    }

    #[test]
    fn what_a_predecessor_of_the_same_name_held_is_dropped() {
        let mut record = Record { revision: 7, claims: Vec::new() };
        record.take(&claimant("a", &[]), &[0, 1, 2]);
        record.keep_of(&claimant("a", &[(1, 8), (2, 7)]));
        assert_eq!(record.claims[0].partitions, BTreeSet::from([1]));
        record.keep_of(&claimant("a", &[]));
        assert_eq!(record, Record { revision: 8, claims: Vec::new() });
    }

    #[test]
    fn a_fresh_record_starts_above_any_count_of_claims() {
        // 2020-01-01 in milliseconds: beyond what a counter from zero reaches.
        assert!(Record::fresh().revision > 1_577_836_800_000);
    }

    #[test]
    fn the_stored_form_is_pinned() {
        let mut record = Record { revision: 7, claims: Vec::new() };
        record.take(&claimant("a", &[]), &[3, 1]);
        assert_eq!(
            serde_json::to_string(&record).unwrap(),
            r#"{"revision":8,"claims":[{"instance":"a","incarnation":"a-1","revision":8,"partitions":[1,3]}]}"#
        );
    }
}
