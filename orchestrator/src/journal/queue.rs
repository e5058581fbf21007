//! The queue to the one who writes for all sessions of a process, so that many appends share one
//! sync. It is bounded in number and in bytes, and never blocks who submits.
//!
//! Left to others: the writing, in the folder of each backend. Next: `row`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::health::Pulse;
use super::prepared::Prepared;
use super::{Append, AppendError, Epoch, JournalError};

/// Commands that may wait; over it, appends are refused.
pub(super) const QUEUE_CAPACITY: usize = 4096;

/// Bytes of events that may wait; over it, appends are refused.
pub(super) const QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// Appends in one transaction, at most: those at its head wait for all of it.
const BATCH: usize = 512;

/// What the writer is asked to do.
#[derive(Debug)]
pub(super) enum Command {
    /// Append events.
    Append(Queued),
    /// Claim partitions.
    Claim(Claim, oneshot::Sender<Result<Vec<u32>, JournalError>>),
    /// Raise the generation, and give the journal to the deployment of this id; answers the new
    /// one.
    RaiseGeneration(String, oneshot::Sender<Result<u64, JournalError>>),
    /// Remove a session.
    Delete(String, oneshot::Sender<Result<(), JournalError>>),
    /// Answer once it is known of everything before it whether it was written.
    Barrier(oneshot::Sender<Result<(), JournalError>>),
    /// Stop once everything before it is done.
    Close(oneshot::Sender<()>),
    /// Run a statement on the writer's connection.
    #[cfg(test)]
    Execute(&'static str, oneshot::Sender<()>),
}

/// An append that waits.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) prepared: Prepared,
    pub(super) reply: oneshot::Sender<Result<u64, AppendError>>,
    /// When it was submitted.
    pub(super) since: Instant,
}

/// A wish to own partitions.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) partitions: Vec<(u32, Epoch)>,
    pub(super) owner: String,
}

/// What the writer shares with its handle.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Bytes of events in the queue; 0 once every append is settled.
    queued_bytes: AtomicUsize,
    /// Transactions committed, each with one sync.
    commits: AtomicUsize,
    /// Set while it is not known of an append that was refused whether it was written all the same.
    is_unsure: AtomicBool,
    /// Whether appends are taken.
    pub(super) pulse: Pulse,
}

impl Counters {
    /// Notes a commit that holds `appends`.
    pub(super) fn committed(&self, appends: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.pulse.well();
        callboard_telemetry::metrics::journal_commit(u64::try_from(appends).unwrap_or(u64::MAX));
    }

    /// Notes whether it is known of all appends what became of them.
    pub(super) fn set_unsure(&self, is_unsure: bool) {
        self.is_unsure.store(is_unsure, Ordering::Release);
    }

    /// Answers an append and forgets it.
    pub(super) fn settle(&self, queued: Queued, result: Result<u64, AppendError>) {
        self.queued_bytes.fetch_sub(queued.prepared.size(), Ordering::Release);
        // A caller that is gone does not want to know.
        let _ = queued.reply.send(result);
    }

    /// Refuses everything that is still in a queue that was closed.
    pub(super) fn refuse_all(&self, queue: &mut mpsc::Receiver<Command>) {
        queue.close();
        while let Ok(command) = queue.try_recv() {
            if let Command::Append(queued) = command {
                self.settle(queued, Err(AppendError::Closed));
            }
            // The others hear it from their sender, which is dropped.
        }
    }
}

/// What is to be done next: appends together, then what came after them.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) appends: Vec<Queued>,
    /// Neither an append nor the end.
    pub(super) other: Option<Command>,
    /// The writer is to stop, and to answer here.
    pub(super) closed: Option<oneshot::Sender<()>>,
}

impl Work {
    /// Takes what is queued behind `first`, up to the next command that is no append.
    pub(super) fn from(first: Command, queue: &mut mpsc::Receiver<Command>) -> Self {
        let mut work = Self::default();
        let mut next = Some(first);
        while let Some(command) = next.take() {
            match command {
                Command::Append(queued) => {
                    work.appends.push(queued);
                    if work.appends.len() < BATCH {
                        next = queue.try_recv().ok();
                    }
                }
                Command::Close(reply) => work.closed = Some(reply),
                other => work.other = Some(other),
            }
        }
        work
    }
}

/// The handle's end of the queue.
#[derive(Debug)]
pub(super) struct Queue {
    sender: mpsc::Sender<Command>,
    counters: Arc<Counters>,
    closing: CancellationToken,
}

impl Queue {
    /// A queue, and the end that the writer works on.
    pub(super) fn new() -> (Self, mpsc::Receiver<Command>) {
        let (sender, commands) = mpsc::channel(QUEUE_CAPACITY);
        let (counters, closing) = (Arc::default(), CancellationToken::new());
        (Self { sender, counters, closing }, commands)
    }

    /// What the writer shares.
    pub(super) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Cancelled once the journal is to be closed.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Transactions committed so far.
    pub(super) fn commits(&self) -> usize {
        self.counters.commits.load(Ordering::Relaxed)
    }

    /// See [`super::Journal::submit`].
    pub(super) fn submit(&self, append: Append) -> oneshot::Receiver<Result<u64, AppendError>> {
        let (reply, answer) = oneshot::channel();
        let refuse = |reply: oneshot::Sender<_>, error| {
            // A caller that is gone does not want to know.
            let _ = reply.send(Err(error));
        };
        let prepared = match Prepared::new(append) {
            Ok(prepared) => prepared,
            Err(error) => {
                refuse(reply, error);
                return answer;
            }
        };
        let overloaded = || AppendError::Backend("journal overloaded".to_owned());
        let size = prepared.size();
        if self.counters.queued_bytes.load(Ordering::Relaxed) > QUEUE_BYTES {
            refuse(reply, overloaded());
            return answer;
        }
        self.counters.queued_bytes.fetch_add(size, Ordering::Relaxed);
        let queued = Queued { prepared, reply, since: Instant::now() };
        if let Err(error) = self.sender.try_send(Command::Append(queued)) {
            self.counters.queued_bytes.fetch_sub(size, Ordering::Relaxed);
            let (command, error) = match error {
                mpsc::error::TrySendError::Full(command) => (command, overloaded()),
                mpsc::error::TrySendError::Closed(command) => (command, AppendError::Closed),
            };
            if let Command::Append(Queued { reply, .. }) = command {
                refuse(reply, error);
            }
        }
        answer
    }

    /// Has the writer do something behind what is queued, and waits for its answer.
    pub(super) async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, JournalError>>) -> Command,
    ) -> Result<T, JournalError> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply)).await?;
        answer.await.map_err(|_| JournalError::Closed)?
    }

    /// Puts a command behind what is queued.
    pub(super) async fn send(&self, command: Command) -> Result<(), JournalError> {
        self.sender.send(command).await.map_err(|_| JournalError::Closed)
    }

    /// Waits until the appends submitted so far are in the journal or never will be. An actor that
    /// gave up waiting for one may have left it behind; the next one must not fold without it.
    ///
    /// # Errors
    /// `Unreachable` while that cannot be known.
    pub(super) async fn settle(&self) -> Result<(), JournalError> {
        let counters = &self.counters;
        if counters.queued_bytes.load(Ordering::Acquire) == 0
            && !counters.is_unsure.load(Ordering::Acquire)
        {
            return Ok(());
        }
        match self.ask(Command::Barrier).await {
            // A writer that stopped has settled everything as well.
            Err(JournalError::Closed) => Ok(()),
            other => other,
        }
    }

    /// Has the writer finish what is queued and stop, and waits for it.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        let (reply, done) = oneshot::channel();
        if self.send(Command::Close(reply)).await.is_ok() {
            // A writer that stopped before has closed the journal as well.
            let _ = done.await;
        }
    }
}
