//! Connections that read, made when they are needed.
//!
//! Next: `reader`.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::journal::JournalError;
use crate::journal::fault::Fault;

use super::server::{Link, Server};

/// Connections that read at the same time, at most.
const READERS: u32 = 3;

/// Name of the connections in the server's list.
const NAME: &str = "callboard reader";

/// Connections for reading.
pub(super) struct Pool {
    server: Server,
    idle: Mutex<Vec<Link>>,
    permits: Semaphore,
}

/// A connection of the pool, used by one at a time.
pub(super) struct Lease<'a> {
    pub(super) link: Link,
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(server: Server) -> Self {
        Self { server, idle: Mutex::default(), permits: Semaphore::new(READERS as usize) }
    }

    /// A connection that nobody else uses; closed when it is dropped.
    pub(super) async fn take(&self) -> Result<Lease<'_>, JournalError> {
        let permit = self.permits.acquire().await.map_err(|_| JournalError::Closed)?;
        let taken = self.idle().pop().filter(|link| !link.is_closed());
        let link = match taken {
            Some(link) => link,
            None => self.server.connect(NAME).await.map_err(|fault| match fault {
                // It could be opened: what the server refuses now, it may not refuse later.
                Fault::Other(text) | Fault::Unreachable(text) => JournalError::Unreachable(text),
                fault => fault.into(),
            })?,
        };
        Ok(Lease { link, pool: self, _permit: permit })
    }

    /// Waits for those who read, and closes the connections.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(READERS).await {
            self.permits.close();
            all.forget();
        }
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease<'_> {
    /// Where its server is, as it may be shown.
    pub(super) fn place(&self) -> &str {
        self.pool.server.place()
    }

    /// Gives it back, to be used again; to be done only where everything went well.
    pub(super) fn give_back(self) {
        let mut idle = self.pool.idle();
        // Those that broke meanwhile are let go, and not only when they are needed.
        idle.retain(|link| !link.is_closed());
        idle.push(self.link);
    }
}
