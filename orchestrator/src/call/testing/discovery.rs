//! A discovery that says what it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use callboard_discovery::{
    Discovery, Error, Held, Instance, InstanceId, LiveSet, Owners, Registration,
};
use tokio::sync::watch;

/// What is told.
pub(crate) struct Told {
    live: watch::Sender<LiveSet>,
    owners: watch::Sender<Owners>,
    pub(crate) is_unconfirmed: AtomicBool,
}

impl Default for Told {
    fn default() -> Self {
        let live = LiveSet { confirmed: true, ..LiveSet::default() };
        Self {
            live: watch::Sender::new(live),
            owners: watch::Sender::new(Owners::default()),
            is_unconfirmed: AtomicBool::new(false),
        }
    }
}

impl Told {
    /// An instance is there, or is another one now.
    pub(crate) fn add(&self, instance: Instance) {
        self.live.send_modify(|set| {
            Arc::make_mut(&mut set.instances).insert(instance.id.clone(), instance);
        });
    }

    /// An instance is gone.
    pub(crate) fn remove(&self, id: &str) {
        self.live.send_modify(|set| {
            Arc::make_mut(&mut set.instances).remove(&InstanceId::from(id));
        });
    }

    /// Changes what is said of an instance.
    pub(crate) fn change(&self, id: &str, change: impl FnOnce(&mut Instance)) {
        let mut instance = self.live.borrow().instances[&InstanceId::from(id)].clone();
        change(&mut instance);
        self.add(instance);
    }
}

#[async_trait]
impl Discovery for Told {
    async fn register(&self, _: Instance) -> Result<Registration, Error> {
        Err(Error::Closed)
    }

    fn live(&self) -> watch::Receiver<LiveSet> {
        self.live.subscribe()
    }

    async fn claim(&self, _: &Registration, _: u32) -> Result<watch::Receiver<Held>, Error> {
        Err(Error::Closed)
    }

    fn owners(&self) -> watch::Receiver<Owners> {
        self.owners.subscribe()
    }

    async fn deployment(&self) -> Result<String, Error> {
        Err(Error::Closed)
    }

    fn is_confirmed(&self) -> bool {
        !self.is_unconfirmed.load(Ordering::SeqCst)
    }
}
