//! The one thread that touches the file. What waits is committed together, so that calls at the same
//! time share a sync; each caller hears of its step after the commit only. After a failed sync
//! nothing more is called durable. Next: `lives.rs`.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, ffi};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::tidy::{self, Limits};

/// Steps that may wait; more wait for room.
const QUEUE: usize = 1024;
/// Steps in one commit.
const BATCH: usize = 64;
/// Steps that may add something, between two rounds of tidying.
const ROUND: u32 = 1024;

/// Why a step was not done. Nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the disk of the store is full")]
    Full,
    #[error("the disk of the store failed, and the service must be started anew")]
    Broken,
    #[error("another process holds the store")]
    Busy,
    #[error("the store failed")]
    Other(String),
}

type Step<T> = Box<dyn Fn(&Transaction<'_>) -> rusqlite::Result<T> + Send>;

/// A step whose type of answer is hidden.
trait Job: Send {
    fn run(&mut self, tx: &Transaction<'_>) -> rusqlite::Result<()>;
    fn end(self: Box<Self>, committed: Result<(), Fault>);
    /// Whether it may add something, so that limits matter.
    fn adds(&self) -> bool;
}

struct Asked<T> {
    step: Step<T>,
    adds: bool,
    answer: Option<T>,
    reply: oneshot::Sender<Result<T, Fault>>,
}

impl<T: Send> Job for Asked<T> {
    fn run(&mut self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        self.answer = Some((self.step)(tx)?);
        Ok(())
    }

    fn end(self: Box<Self>, committed: Result<(), Fault>) {
        let Self { answer, reply, .. } = *self;
        let lost = || Fault::Other("no answer".to_owned());
        let answer = committed.and_then(|()| answer.ok_or_else(lost));
        // A caller that is gone needs no answer; what was committed stays.
        let _ = reply.send(answer);
    }

    fn adds(&self) -> bool {
        self.adds
    }
}

/// A handle; the thread ends with the last one.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
    is_broken: Arc<AtomicBool>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection, limits: Limits) -> io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let is_broken = Arc::new(AtomicBool::new(false));
        let thread =
            Thread { connection, limits, until_tidy: 0, is_broken: Arc::clone(&is_broken) };
        std::thread::Builder::new().name("store".to_owned()).spawn(move || thread.run(jobs))?;
        Ok(Self { queue, is_broken })
    }

    /// Does a step that adds nothing, or what must not be refused for want of room.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        step: impl Fn(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.send(Box::new(step), false).await
    }

    /// Does a step that may add something; every so often the file is tidied first.
    pub(super) async fn run_tidily<T: Send + 'static>(
        &self,
        step: impl Fn(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.send(Box::new(step), true).await
    }

    /// The same where the caller blocks.
    pub(super) fn run_blocking<T: Send + 'static>(
        &self,
        step: impl Fn(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let (reply, answer) = oneshot::channel();
        let asked = Asked { step: Box::new(step), adds: true, answer: None, reply };
        self.queue.blocking_send(Box::new(asked)).map_err(|_| self.closed())?;
        answer.blocking_recv().unwrap_or_else(|_| Err(self.closed()))
    }

    async fn send<T: Send + 'static>(&self, step: Step<T>, adds: bool) -> Result<T, Fault> {
        let (reply, answer) = oneshot::channel();
        let asked = Asked { step, adds, answer: None, reply };
        self.queue.send(Box::new(asked)).await.map_err(|_| self.closed())?;
        answer.await.unwrap_or_else(|_| Err(self.closed()))
    }

    fn closed(&self) -> Fault {
        if self.is_broken.load(Ordering::Acquire) {
            Fault::Broken
        } else {
            Fault::Other("its thread is gone".to_owned())
        }
    }
}

struct Thread {
    connection: Connection,
    limits: Limits,
    until_tidy: u32,
    is_broken: Arc<AtomicBool>,
}

impl Thread {
    fn run(mut self, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
        let mut batch = Vec::with_capacity(BATCH);
        while jobs.blocking_recv_many(&mut batch, BATCH) > 0 {
            self.commit(std::mem::take(&mut batch));
            if self.is_broken.load(Ordering::Acquire) {
                // Whoever waits is answered by the end of the queue.
                return;
            }
        }
        if let Err((_, error)) = self.connection.close() {
            warn!(%error, "the store was closed with an error");
        }
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Job>>) {
        let committed = self.transact(&mut batch);
        if committed.is_err() && committed != Err(Fault::Broken) && batch.len() > 1 {
            // Each alone, so that a large one does not keep the small ones from the disk.
            for job in batch {
                self.commit(vec![job]);
            }
            return;
        }
        if let Err(fault) = &committed {
            error!(?fault, "the store refused a step");
        }
        for job in batch {
            job.end(committed.clone());
        }
    }

    fn transact(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), Fault> {
        if self.is_broken.load(Ordering::Acquire) {
            return Err(Fault::Broken);
        }
        let adds = batch.iter().filter(|job| job.adds()).count();
        let result = self.try_transact(batch, u32::try_from(adds).unwrap_or(u32::MAX));
        result.map_err(|error| {
            let fault = Fault::from(error);
            if fault == Fault::Broken {
                self.is_broken.store(true, Ordering::Release);
            }
            fault
        })
    }

    fn try_transact(&mut self, batch: &mut [Box<dyn Job>], adds: u32) -> rusqlite::Result<()> {
        let is_due = self.until_tidy < adds;
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for job in batch {
            job.run(&tx)?;
        }
        if is_due {
            tidy::tidy(&tx, self.limits)?;
        }
        tx.commit()?;
        self.until_tidy = if is_due { ROUND } else { self.until_tidy - adds };
        if is_due {
            // Space that cannot be given back now is used again, or given back the next time.
            let freed = self.connection.execute_batch("PRAGMA incremental_vacuum");
            freed.unwrap_or_else(|error| warn!(%error, "no space was given back"));
        }
        Ok(())
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        let rusqlite::Error::SqliteFailure(failure, _) = error else { return Self::Other(text) };
        match failure.code {
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::SystemIoFailure => match failure.extended_code {
                // The index of the log could not grow; the log itself was not touched.
                ffi::SQLITE_IOERR_SHMSIZE => Self::Full,
                ffi::SQLITE_IOERR_NOMEM => Self::Other(text),
                _ => Self::Broken,
            },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            _ => Self::Other(text),
        }
    }
}
