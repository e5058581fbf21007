//! Discovery on one machine without a server: a private folder in which every instance keeps a
//! record and, for as long as its process lives, a lock that the kernel frees at death, also after
//! SIGKILL. A stopped process keeps its lock: nothing is taken from it. Not for network file
//! systems. Read `directory/folders.rs` for what lies where, then `lock.rs`, `scan.rs`,
//! `notice.rs`, `watcher.rs` (the views), `owners.rs` (partitions) and `registrar.rs`.

mod folders;
mod lock;
mod scan;
mod notice;
mod watcher;
mod owners;
mod registrar;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use self::{folders::Folders, scan::Snapshot};
use crate::{Discovery, Error, Held, Instance, LiveSet, Owners, Registration};

/// The directory backend.
pub(crate) struct Directory {
    folders: Arc<Folders>,
    live: watch::Receiver<LiveSet>,
    owners: watch::Receiver<Owners>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    // Registrars end by themselves when their registration is gone, the watcher when this guard is.
    tasks: TaskTracker,
    guard: Arc<DropGuard>,
}

/// Opens the folder, takes the first view and keeps it true.
pub(crate) async fn connect(path: &Path) -> Result<Arc<Directory>, Error> {
    let folders = Arc::new(Folders::new(path));
    let first = {
        let folders = Arc::clone(&folders);
        blocking(move || {
            folders.create()?;
            scan::scan(&folders)
        })
        .await??
    };
    let shutdown = CancellationToken::new();
    let tasks = TaskTracker::new();
    let views = watcher::spawn(Arc::clone(&folders), first, &tasks, shutdown.clone());
    Ok(Arc::new(Directory {
        folders,
        live: views.live,
        owners: views.owners,
        snapshot: views.snapshot,
        tasks,
        guard: Arc::new(shutdown.drop_guard()),
    }))
}

#[async_trait]
impl Discovery for Directory {
    async fn register(&self, instance: Instance) -> Result<Registration, Error> {
        folders::check_id(&instance.id)?;
        let mailbox = registrar::spawn(
            Arc::clone(&self.folders),
            instance.clone(),
            self.snapshot.clone(),
            &self.tasks,
        )
        .await?;
        Ok(Registration::new(instance, mailbox, Arc::<DropGuard>::clone(&self.guard)))
    }

    fn live(&self) -> watch::Receiver<LiveSet> {
        self.live.clone()
    }

    async fn claim(
        &self,
        registration: &Registration,
        count: u32,
    ) -> Result<watch::Receiver<Held>, Error> {
        registration.claim(count).await
    }

    fn owners(&self) -> watch::Receiver<Owners> {
        self.owners.clone()
    }

    async fn deployment(&self) -> Result<String, Error> {
        let folders = Arc::clone(&self.folders);
        blocking(move || folders.keep("deployment.json", &crate::random_id())).await?
    }

    fn is_confirmed(&self) -> bool {
        // A lock cannot be lost while its process lives: only an unreadable folder is a doubt.
        self.live.borrow().confirmed
    }
}

/// Runs file work where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    // It fails only if the runtime is going down.
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Closed)
}

#[cfg(test)]
mod tests;
