//! Keeps the views true: looks at the folder when it changed, once a second anyway, and publishes
//! what is different. While the folder cannot be read, the last known view stays and is marked as
//! unconfirmed. Next is `owners.rs`.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    blocking,
    folders::Folders,
    notice::{Change, Notice},
    scan::{self, Snapshot},
};
use crate::{LiveSet, Owners};

/// Liveness is looked at this often even if nothing was noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The kernel frees a dead process's locks within this time of telling of its end.
const AFTER_DEATH: Duration = Duration::from_millis(10);

/// The newest view, in the forms that are asked for.
#[derive(Debug)]
pub(super) struct Views {
    pub(super) live: watch::Receiver<LiveSet>,
    pub(super) owners: watch::Receiver<Owners>,
    pub(super) snapshot: watch::Receiver<Arc<Snapshot>>,
}

struct Watcher {
    folders: Arc<Folders>,
    notice: Notice,
    live: watch::Sender<LiveSet>,
    owners: watch::Sender<Owners>,
    snapshot: watch::Sender<Arc<Snapshot>>,
}

/// Starts with the view `first`; ends at `shutdown`.
pub(super) fn spawn(
    folders: Arc<Folders>,
    first: Snapshot,
    tasks: &TaskTracker,
    shutdown: CancellationToken,
) -> Views {
    let notice = Notice::open(&folders);
    let watcher = Watcher {
        folders,
        notice,
        live: watch::Sender::default(),
        owners: watch::Sender::default(),
        snapshot: watch::Sender::default(),
    };
    watcher.publish(first);
    let views = Views {
        live: watcher.live.subscribe(),
        owners: watcher.owners.subscribe(),
        snapshot: watcher.snapshot.subscribe(),
    };
    tasks.spawn(async move {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = watcher.run() => {}
        }
    });
    views
}

impl Watcher {
    async fn run(mut self) {
        // The folder may have changed between the first look and the watch.
        let mut next = Instant::now();
        loop {
            let change = tokio::select! {
                change = self.notice.changed() => change,
                () = tokio::time::sleep_until(next) => Change::Some,
            };
            if change == Change::Lost {
                self.notice = Notice::open(&self.folders);
            }
            self.look().await;
            next = Instant::now() + if change == Change::Death { AFTER_DEATH } else { LOOK_EVERY };
        }
    }

    async fn look(&self) {
        let folders = Arc::clone(&self.folders);
        match blocking(move || scan::scan(&folders)).await.and_then(|scanned| scanned) {
            Ok(snapshot) => self.publish(snapshot),
            Err(error) => {
                let was_confirmed = self
                    .live
                    .send_if_modified(|live| std::mem::replace(&mut live.confirmed, false));
                if was_confirmed {
                    tracing::warn!(%error, "folder cannot be read; going on with the last view");
                }
                // Whoever is registered here may have to make the folder anew.
                self.snapshot.send_modify(|_| {});
            }
        }
    }

    fn publish(&self, snapshot: Snapshot) {
        self.live.send_if_modified(|live| {
            let is_new = !live.confirmed || *live.instances != snapshot.live;
            if is_new {
                let instances = Arc::new(snapshot.live.clone());
                *live = LiveSet { instances, confirmed: true };
            }
            is_new
        });
        self.owners.send_if_modified(|owners| {
            let is_new = **owners != snapshot.owners;
            if is_new {
                *owners = Arc::new(snapshot.owners.clone());
            }
            is_new
        });
        self.snapshot.send_if_modified(|known| {
            let is_new = **known != snapshot;
            if is_new {
                *known = Arc::new(snapshot);
            }
            is_new
        });
    }
}
