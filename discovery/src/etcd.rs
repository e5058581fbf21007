//! Discovery over an etcd cluster (API v3): keys under leases, watched. Losing etcd stops changes,
//! not calls: the views keep what was last known, and everything heals by itself when it is back.
//! Read `etcd/keys.rs` for what is stored, `cluster.rs` and `client.rs` for a question and its
//! answer, `mirror.rs` and `views.rs` for the reading half, `keeper.rs`, `arrival.rs`,
//! `registrar.rs`, `holding.rs` and `transactions.rs` for the writing half.

mod keys;
mod wire;
mod cluster;
mod client;
mod login;
mod backoff;
mod mirror;
mod views;
mod keeper;
mod arrival;
mod registrar;
mod holding;
mod transactions;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::{sync::watch, time::Instant};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use self::{
    backoff::Backoff,
    client::Client,
    cluster::{Cluster, Failure},
    keeper::Pulse,
    keys::Keys,
    views::Views,
};
use crate::{Discovery, Error, Held, Instance, LiveSet, Login, Owners, Registration};

/// The views are compared with the store this often, a fifth more or less.
const RELIST_EVERY: Duration = Duration::from_secs(30);

/// How long the deployment's id is asked for before the last failure is told.
const ASK_FOR: Duration = Duration::from_secs(10);

/// Less than this no keep-alive could hold on a busy machine; etcd itself grants 2 s at least.
const SHORTEST_LEASE: Duration = Duration::from_secs(2);

/// Where and how; see [`crate::Config`].
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) endpoints: Vec<String>,
    pub(crate) prefix: String,
    pub(crate) lease_ttl: Duration,
    pub(crate) login: Option<Login>,
}

/// The etcd backend.
pub(crate) struct Etcd {
    cluster: Arc<Cluster>,
    keys: Keys,
    lease_ttl: Duration,
    views: Views,
    pulses: watch::Sender<Vec<watch::Receiver<Pulse>>>,
    // Registrars end by themselves when their registration is gone, the mirrors when this guard is.
    tasks: TaskTracker,
    guard: Arc<DropGuard>,
}

/// Takes the first view and keeps it true.
pub(crate) async fn connect(settings: Settings) -> Result<Arc<Etcd>, Error> {
    open(settings, RELIST_EVERY).await
}

async fn open(settings: Settings, relist_every: Duration) -> Result<Arc<Etcd>, Error> {
    let Settings { endpoints, prefix, lease_ttl, login } = settings;
    if lease_ttl < SHORTEST_LEASE {
        let reason = format!("{lease_ttl:?} is too short: 2 s at least, 10 s is a good value");
        return Err(Error::Setting { key: "etcd lease", reason });
    }
    let cluster = Arc::new(Cluster::new(&endpoints, login)?);
    let keys = Keys::new(&prefix)?;
    let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
    let views = views::spawn(&cluster, &keys, relist_every, &tasks, &shutdown)
        .await
        .map_err(|failure| cluster.error(failure))?;
    let guard = Arc::new(shutdown.drop_guard());
    Ok(Arc::new(Etcd {
        cluster,
        keys,
        lease_ttl,
        views,
        pulses: watch::Sender::default(),
        tasks,
        guard,
    }))
}

#[async_trait]
impl Discovery for Etcd {
    async fn register(&self, instance: Instance) -> Result<Registration, Error> {
        let client = Client::new(Arc::clone(&self.cluster));
        let (keys, views) = (self.keys.clone(), self.views.clone());
        let (address, actor) =
            registrar::start(client, keys, instance.clone(), self.lease_ttl, views).await?;
        self.tasks.spawn(actor);
        self.pulses.send_modify(|pulses| {
            // Those that have ended have no say any more.
            pulses.retain(|pulse| pulse.has_changed().is_ok());
            pulses.push(address.pulse);
        });
        Ok(Registration::new(instance, address.mailbox, Arc::<DropGuard>::clone(&self.guard)))
    }

    fn live(&self) -> watch::Receiver<LiveSet> {
        self.views.live.clone()
    }

    async fn claim(
        &self,
        registration: &Registration,
        count: u32,
    ) -> Result<watch::Receiver<Held>, Error> {
        registration.claim(count).await
    }

    fn owners(&self) -> watch::Receiver<Owners> {
        self.views.owners.clone()
    }

    async fn deployment(&self) -> Result<String, Error> {
        let mut client = Client::new(Arc::clone(&self.cluster));
        let (mut backoff, began) = (Backoff::new(), Instant::now());
        let new = crate::random_id();
        loop {
            match transactions::keep(&mut client, &self.keys.deployment, &new).await {
                Ok(id) => return Ok(id),
                Err(Failure::Away(_)) if began.elapsed() < ASK_FOR => {
                    tokio::time::sleep(backoff.pause()).await;
                }
                Err(failure) => return Err(self.cluster.error(failure)),
            }
        }
    }

    fn is_confirmed(&self) -> bool {
        let pulses = self.pulses.borrow();
        let mut pulses = pulses.iter().filter(|pulse| pulse.has_changed().is_ok()).peekable();
        if pulses.peek().is_none() {
            return self.views.live.borrow().confirmed;
        }
        pulses.all(|pulse| pulse.borrow().is_fresh())
    }
}

#[cfg(test)]
mod tests;
