//! One look at the folder: which instances live and what they own. It clears away what the dead
//! left. Next is `notice.rs`, which says when to look.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
};

use super::{
    folders::{self, Folders},
    lock,
    owners::Record,
};
use crate::{Error, Instance, InstanceId, Owner};

/// What the folder says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    pub(super) live: BTreeMap<InstanceId, Instance>,
    pub(super) owners: BTreeMap<u32, Owner>,
}

/// Looks. Blocks on files.
pub(super) fn scan(folders: &Folders) -> Result<Snapshot, Error> {
    let mut live = BTreeMap::new();
    for id in names(folders)? {
        if !lock::is_held(folders, &id)? {
            match lock::reap(folders, &id) {
                Ok(true) => {
                    tracing::info!(instance = %id, "record of a dead instance cleared away");
                }
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "a dead instance's record stays"),
            }
            continue;
        }
        // No record yet: it is registering.
        let Some(instance) = folders::read::<Instance>(&folders.record(&id))? else { continue };
        if instance.id == id {
            live.insert(id, instance);
        }
    }
    let mut owners = BTreeMap::new();
    if let Some(record) = folders::read::<Record>(&folders.owners())? {
        for claim in record.claims {
            if live.get(&claim.instance).is_some_and(|it| it.incarnation == claim.incarnation) {
                owners.extend(claim.partitions.into_iter().map(|partition| {
                    let instance = claim.instance.clone();
                    (partition, Owner { instance, revision: claim.revision })
                }));
            }
        }
    }
    Ok(Snapshot { live, owners })
}

fn names(folders: &Folders) -> Result<BTreeSet<InstanceId>, Error> {
    let fail =
        |source: io::Error| Error::Io { action: "read", path: folders.instances.clone(), source };
    let mut ids = BTreeSet::new();
    for entry in fs::read_dir(&folders.instances).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        let Some(name) = name.to_str() else { continue };
        let stem = name.strip_suffix(".json").or_else(|| name.strip_suffix(".lock"));
        if let Some(stem) = stem.filter(|stem| !stem.starts_with('.')) {
            ids.insert(InstanceId::from(stem));
        }
    }
    Ok(ids)
}
