//! Moves committed pages from the write-ahead log into the journal's file, on a thread of its own
//! so that no append waits for it; only a log that grows all the same is emptied by the writer.
//!
//! Next: `reader`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::crash::crash_point;
use crate::journal::JournalError;
use crate::journal::fault::Fault;

use super::schema;

/// Pages of 4 KiB in the log from which on they are moved.
const PASSIVE_FROM: i32 = 1_000;

/// Pages in the log from which on the writer empties it: 64 MiB, and less where that is tested.
const EMPTY_FROM: i32 = if cfg!(test) { 2_000 } else { 16_384 };

/// What the writer knows of the other thread.
#[derive(Debug)]
pub(super) struct Checkpoints {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI32>,
    /// The other thread could not write. Its pages may be lost, so that the log must not be reused.
    is_broken: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Starts the thread; `writer` is the connection whose commits are counted.
    pub(super) fn start(path: &Path, writer: &mut Connection) -> Result<Self, JournalError> {
        let pages = Arc::new(AtomicI32::new(0));
        let is_broken = Arc::new(AtomicBool::new(false));
        let counted = Arc::clone(&pages);
        let unusable =
            |what: String| JournalError::Unusable { path: path.display().to_string(), what };
        writer
            .wal_hook(Some(move |_: &mut _, count| {
                counted.store(count, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|error| unusable(error.to_string()))?;
        let connection = schema::open_writer(path)?;
        let (wake, woken) = sync_channel(1);
        let broken = Arc::clone(&is_broken);
        let thread = std::thread::Builder::new()
            .name("journal-checkpoint".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || run(&connection, &woken, &broken))
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), pages, is_broken })
    }

    /// A fault if the other thread met one.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.is_broken.load(Ordering::Acquire) {
            return Err(Fault::Write("a checkpoint failed".to_owned()));
        }
        Ok(())
    }

    /// Has the log moved where it has grown.
    pub(super) fn after_commit(&self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages >= EMPTY_FROM {
            note(empty(writer), &self.is_broken);
        } else if pages >= PASSIVE_FROM
            && let Some(wake) = &self.wake
        {
            // Full means that it is awake already.
            let _ = wake.try_send(());
        }
    }

    /// Ends the thread and waits for it.
    pub(super) fn stop(mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("checkpoint thread panicked");
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>, is_broken: &AtomicBool) {
    while woken.recv().is_ok() {
        note(checkpoint(connection, "PASSIVE"), is_broken);
    }
}

/// Empties the log, if no reader needs it; appends do not wait for one that does.
fn empty(writer: &Connection) -> rusqlite::Result<()> {
    writer.busy_timeout(Duration::ZERO)?;
    let emptied = checkpoint(writer, "TRUNCATE");
    writer.busy_timeout(schema::BUSY)?;
    emptied
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    crash_point!("checkpoint.before_move");
    let moved = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
    crash_point!("checkpoint.after_move");
    moved
}

fn note(result: rusqlite::Result<()>, is_broken: &AtomicBool) {
    let Err(error) = result else { return };
    // A reader in the way or a full disk: the log only stays as it is.
    let is_harmless = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull)
    );
    if is_harmless {
        tracing::debug!(%error, "checkpoint put off");
    } else {
        tracing::error!(%error, "checkpoint failed");
        is_broken.store(true, Ordering::Release);
    }
}
