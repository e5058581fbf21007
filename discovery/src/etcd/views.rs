//! The two copies of the store, in the forms that the crate's users ask for. Services and
//! partitions have a stream each, so that many changes of the one never hold up the other. Next is
//! `keeper.rs`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    client::Client,
    cluster::{Cluster, Failure},
    keys::{Claimed, Keys},
    mirror::{Listing, Mirror},
};
use crate::{Instance, LiveSet, Owner, Owners};

/// The newest views.
#[derive(Clone, Debug)]
pub(super) struct Views {
    pub(super) live: watch::Receiver<LiveSet>,
    pub(super) owners: watch::Receiver<Owners>,
    pub(super) services: watch::Receiver<Listing<Instance>>,
    pub(super) partitions: watch::Receiver<Listing<Claimed>>,
}

/// Takes the first view and keeps it true until `shutdown`.
pub(super) async fn spawn(
    cluster: &Arc<Cluster>,
    keys: &Keys,
    relist_every: Duration,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) -> Result<Views, Failure> {
    let client = || Client::new(Arc::clone(cluster));
    let understand = |value: &[u8]| serde_json::from_slice::<Instance>(value);
    let mut services = Mirror::new(client(), keys.services.clone(), relist_every, understand);
    let understand = |value: &[u8]| serde_json::from_slice::<Claimed>(value);
    let mut partitions = Mirror::new(client(), keys.partitions.clone(), relist_every, understand);
    let (first, second) = tokio::join!(services.first(), partitions.first());
    first.and(second)?;
    let (live, live_receiver) = watch::channel(LiveSet::default());
    let (owners, owners_receiver) = watch::channel(Owners::default());
    let views = Views {
        live: live_receiver,
        owners: owners_receiver,
        services: services.listing(),
        partitions: partitions.listing(),
    };
    publish_live(&views.services.borrow(), &live);
    publish_owners(&views.partitions.borrow(), keys, &owners);
    let mut listing = views.services.clone();
    let derive_live = async move {
        while listing.changed().await.is_ok() {
            publish_live(&listing.borrow_and_update(), &live);
        }
    };
    let (mut listing, keys) = (views.partitions.clone(), keys.clone());
    let derive_owners = async move {
        while listing.changed().await.is_ok() {
            publish_owners(&listing.borrow_and_update(), &keys, &owners);
        }
    };
    let ends = shutdown.clone();
    tasks.spawn(
        ends.run_until_cancelled_owned(async move { tokio::join!(services.run(), derive_live) }),
    );
    let ends = shutdown.clone();
    tasks.spawn(
        ends.run_until_cancelled_owned(
            async move { tokio::join!(partitions.run(), derive_owners) },
        ),
    );
    Ok(views)
}

fn publish_live(listing: &Listing<Instance>, live: &watch::Sender<LiveSet>) {
    let instances: BTreeMap<_, _> = listing
        .entries
        .values()
        .map(|entry| (entry.content.id.clone(), entry.content.clone()))
        .collect();
    live.send_if_modified(|live| {
        let is_new = *live.instances != instances || live.confirmed != listing.is_confirmed;
        if is_new {
            *live = LiveSet { instances: Arc::new(instances), confirmed: listing.is_confirmed };
        }
        is_new
    });
}

fn publish_owners(listing: &Listing<Claimed>, keys: &Keys, owners: &watch::Sender<Owners>) {
    let claimed: BTreeMap<_, _> = listing
        .entries
        .iter()
        .filter_map(|(key, entry)| {
            let revision = u64::try_from(entry.created).ok()?;
            let owner = Owner { instance: entry.content.instance.clone(), revision };
            Some((keys.partition_of(key)?, owner))
        })
        .collect();
    owners.send_if_modified(|owners| {
        let is_new = **owners != claimed;
        if is_new {
            *owners = Arc::new(claimed);
        }
        is_new
    });
}
