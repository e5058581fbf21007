//! The journal of one machine: SQLite, one thread that writes, a few connections that read.
//!
//! This file is the handle; the rest is declared in reading order. Next: `writer`.

mod writer;
mod append;
mod known;
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
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::types::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use self::checkpoint::Checkpoints;
use self::known::Known;
use self::lock::Lock;
use self::reader::Pool;
use self::writer::Writer;
use super::queue::{Claim, Command, Queue};
use super::{Append, AppendError, Damage, Epoch, Health, Journal, JournalError, SessionRow};

/// Number of the tables' schema that this program makes, and the highest that it opens.
pub const SCHEMA: u32 = schema::SCHEMA;

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
    queue: Queue,
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
        self.queue.ask(|reply| Command::RaiseGeneration(String::new(), reply)).await
    }

    /// Transactions committed since it was opened; each is one sync, however many appends it holds.
    pub fn commits(&self) -> usize {
        self.queue.commits()
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
    let (queue, commands) = Queue::new();
    let counters = Arc::clone(queue.counters());
    let writer = Writer { connection, known: Known::default(), checkpoints, counters, lock };
    std::thread::Builder::new()
        .name("journal-writer".to_owned())
        .stack_size(512 * 1024)
        .spawn(move || writer.run(commands))
        .map_err(|error| JournalError::Backend(error.to_string()))?;
    Ok(SqliteJournal { queue, readers: Pool::new(path.clone()) })
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn claim(
        &self,
        partitions: &[(u32, Epoch)],
        owner: &str,
    ) -> Result<Vec<u32>, JournalError> {
        let claim = Claim { partitions: partitions.to_vec(), owner: owner.to_owned() };
        self.queue.ask(|reply| Command::Claim(claim, reply)).await
    }

    async fn belong(&self, _: &str) -> Result<(), JournalError> {
        // It is held by one process, and lies in the state folder of one deployment.
        Ok(())
    }

    async fn generation(&self) -> Result<u64, JournalError> {
        self.readers.run(|connection| Ok(claim::settings(connection)?.generation)).await
    }

    async fn partitions(&self) -> Result<u32, JournalError> {
        self.readers.run(|connection| Ok(claim::settings(connection)?.partitions)).await
    }

    fn replaced(&self) -> watch::Receiver<u64> {
        // Nobody else writes the file while it is held.
        watch::channel(0).1
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.queue.counters().pulse.watch()
    }

    fn submit(&self, append: Append) -> oneshot::Receiver<Result<u64, AppendError>> {
        self.queue.submit(append)
    }

    async fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError> {
        if after == 0 {
            self.queue.settle().await?;
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
        self.queue.ask(|reply| Command::Delete(session, reply)).await
    }

    async fn verify(&self) -> Result<Vec<Damage>, JournalError> {
        self.readers.run(verify::verify).await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.queue.close().await;
    }
}

#[cfg(test)]
mod tests;
