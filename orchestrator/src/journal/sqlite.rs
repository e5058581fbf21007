//! The journal of one machine: SQLite, one thread that writes, a few connections that read.
//!
//! This file is the handle; the rest is declared in reading order. Next: `writer`.

mod writer;
mod append;
mod row;
mod blob;
mod claim;
mod checkpoint;
mod reader;
mod walk;
mod verify;
mod schema;
mod log;
mod fault;
mod lock;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::types::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use self::checkpoint::Checkpoints;
use self::claim::Claim;
use self::lock::Lock;
use self::reader::Pool;
use self::writer::{Command, Counters, QUEUE_BYTES, QUEUE_CAPACITY, Queued, Writer};
use super::prepared::Prepared;
use super::{Append, AppendError, Damage, Epoch, Journal, JournalError, SessionRow};

/// How often a lock that another process holds is tried.
const LOCK_EVERY: Duration = Duration::from_millis(20);

/// Where the journal is and how it is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file; made, with its folder, for its owner alone if it is not there.
    pub path: PathBuf,
    /// Partitions of a journal that is made; one that is there keeps its number.
    pub partitions: u32,
    /// How long to wait for a process that still holds the journal. Default 2 s.
    pub lock_wait: Duration,
}

impl Config {
    /// The defaults for a journal at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            partitions: callboard_proto::PARTITIONS,
            lock_wait: Duration::from_secs(2),
        }
    }
}

/// A journal in one file, held by one process.
#[derive(Debug)]
pub struct SqliteJournal {
    queue: mpsc::Sender<Command>,
    counters: Arc<Counters>,
    readers: Pool,
}

impl SqliteJournal {
    /// Opens the journal, and makes it where there is none.
    ///
    /// # Errors
    /// `InUse` if another process holds it, `Newer` if a newer version wrote it, `Unusable` if the
    /// file is no journal, damaged as a whole or cannot be written, `Full`.
    pub async fn open(config: Config) -> Result<Self, JournalError> {
        let deadline = Instant::now() + config.lock_wait;
        loop {
            let attempt = config.clone();
            let opened = tokio::task::spawn_blocking(move || open(&attempt)).await;
            match opened.map_err(|error| JournalError::Backend(error.to_string()))? {
                // A process that was killed a moment ago may not be gone yet.
                Err(JournalError::InUse { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(LOCK_EVERY).await;
                }
                result => return result,
            }
        }
    }

    /// Checks a journal without holding it, even while another process does.
    ///
    /// # Errors
    /// As [`SqliteJournal::open`], without `InUse`.
    pub async fn inspect(path: &Path) -> Result<Vec<Damage>, JournalError> {
        let pool = Pool::new(path.to_owned());
        let path = path.to_owned();
        pool.run(move |connection| {
            schema::check(connection, &path)?;
            verify::verify(connection)
        })
        .await
    }

    /// Raises the generation by 1, after discovery was restored from a backup: every claim made
    /// before is then older than any made after. Gives the new generation.
    ///
    /// # Errors
    /// `Closed`, `Full` and `Backend`.
    pub async fn raise_generation(&self) -> Result<u64, JournalError> {
        self.ask(Command::RaiseGeneration).await
    }

    /// Transactions committed since it was opened; each is one sync, however many appends it holds.
    pub fn commits(&self) -> usize {
        self.counters.commits.load(Ordering::Relaxed)
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, JournalError>>) -> Command,
    ) -> Result<T, JournalError> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(command(reply)).await.map_err(|_| JournalError::Closed)?;
        answer.await.map_err(|_| JournalError::Closed)?
    }

    /// Waits until the appends submitted so far are in the journal or refused. An actor that gave
    /// up waiting for one may have left it behind; the next one must not fold without it.
    async fn settle(&self) {
        if self.counters.queued_bytes.load(Ordering::Acquire) > 0 {
            let (reply, settled) = oneshot::channel();
            if self.queue.send(Command::Barrier(reply)).await.is_ok() {
                // A writer that stopped has settled everything as well.
                let _ = settled.await;
            }
        }
    }

    async fn list(
        &self,
        condition: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<SessionRow>, JournalError> {
        self.readers.run(move |connection| reader::list(connection, condition, values)).await
    }
}

fn open(config: &Config) -> Result<SqliteJournal, JournalError> {
    let path = &config.path;
    schema::make_private(path)?;
    let lock = Lock::take(path)?;
    schema::check_log(path)?;
    let mut connection = schema::open_writer(path)?;
    schema::prepare(&mut connection, path, config.partitions)?;
    let checkpoints = Checkpoints::start(path, &mut connection)?;
    let counters = Arc::new(Counters::default());
    let (queue, commands) = mpsc::channel(QUEUE_CAPACITY);
    let writer = Writer { connection, checkpoints, counters: Arc::clone(&counters), lock };
    std::thread::Builder::new()
        .name("journal-writer".to_owned())
        .stack_size(512 * 1024)
        .spawn(move || writer.run(commands))
        .map_err(|error| JournalError::Backend(error.to_string()))?;
    Ok(SqliteJournal { queue, counters, readers: Pool::new(path.clone()) })
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn claim(
        &self,
        partitions: &[(u32, Epoch)],
        owner: &str,
    ) -> Result<Vec<u32>, JournalError> {
        let claim = Claim { partitions: partitions.to_vec(), owner: owner.to_owned() };
        self.ask(|reply| Command::Claim(claim, reply)).await
    }

    async fn generation(&self) -> Result<u64, JournalError> {
        self.readers.run(|connection| Ok(claim::settings(connection)?.generation)).await
    }

    async fn partitions(&self) -> Result<u32, JournalError> {
        self.readers.run(|connection| Ok(claim::settings(connection)?.partitions)).await
    }

    fn submit(&self, append: Append) -> oneshot::Receiver<Result<u64, AppendError>> {
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
        if let Err(error) = self.queue.try_send(Command::Append(Queued { prepared, reply })) {
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

    async fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError> {
        if after == 0 {
            self.settle().await;
        }
        let session = session.clone();
        self.readers.run(move |reader| reader::read(reader, &session, (after, limit))).await
    }

    async fn session(&self, session: &SessionId) -> Result<Option<SessionRow>, JournalError> {
        let session = session.clone();
        self.readers.run(move |reader| reader::session(reader, &session)).await
    }

    async fn sessions(&self, team: &str, limit: usize) -> Result<Vec<SessionRow>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = vec![Value::Text(team.to_owned()), Value::Integer(limit)];
        self.list("team = ? ORDER BY key DESC LIMIT ?", values).await
    }

    async fn unfinished(&self, partitions: &[u32]) -> Result<Vec<SessionRow>, JournalError> {
        let mut sessions = self.list("state = 'active'", Vec::new()).await?;
        sessions.retain(|session| partitions.contains(&session.partition));
        Ok(sessions)
    }

    async fn due(&self, partitions: &[u32], now_ms: i64) -> Result<Vec<SessionRow>, JournalError> {
        let mut sessions = self.list("wake_at_ms <= ?", vec![Value::Integer(now_ms)]).await?;
        sessions.retain(|session| partitions.contains(&session.partition));
        Ok(sessions)
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let session = session.to_string();
        self.ask(|reply| Command::Delete(session, reply)).await
    }

    async fn verify(&self) -> Result<Vec<Damage>, JournalError> {
        self.readers.run(verify::verify).await
    }

    async fn close(&self) {
        self.readers.close().await;
        let (reply, done) = oneshot::channel();
        if self.queue.send(Command::Close(reply)).await.is_ok() {
            // A writer that stopped before has closed the journal as well.
            let _ = done.await;
        }
    }
}

#[cfg(test)]
mod tests;
