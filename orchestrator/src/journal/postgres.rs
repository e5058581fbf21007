//! The journal of a cluster: PostgreSQL, one task that writes, a few connections that read.
//!
//! This file is the handle; the rest is declared in reading order. Who is fenced is decided inside
//! the statement that writes, by the partition's row. Next: `server`.

mod server;
mod schema;
mod row;
mod batch;
mod append;
mod writer;
mod heads;
mod upkeep;
mod commit;
mod claim;
mod pool;
mod reader;
mod verify;
mod tls;
mod fault;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use self::heads::Heads;
use self::pool::Pool;
use self::server::{Link, Server, within_limit};
use self::writer::Writer;
use super::fault::Fault;
use super::queue::{Claim, Command, Queue};
use super::row::Settings;
use super::{
    Append, AppendError, Damage, Epoch, Health, Inspection, Journal, JournalError, SessionRow,
};

/// Number of the tables' schema that this program makes, and the highest that it opens.
pub const SCHEMA: u32 = schema::SCHEMA;

/// How often a server that does not answer is tried while the journal is opened.
const OPEN_EVERY: Duration = Duration::from_millis(250);

/// Where the server is and how the journal is made.
#[derive(Clone)]
pub struct Config {
    /// `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, or the `key=value` form of the same. Shown
    /// to nobody.
    pub url: String,
    /// PEM file of the CAs that the server's certificate is checked against; else those that the
    /// machine trusts. Where it is given, TLS is a must.
    pub ca_file: Option<PathBuf>,
    /// Partitions of a journal that is made; one that is there keeps its number.
    pub partitions: u32,
    /// How long to wait for a server that does not answer yet. Default 5 s.
    pub open_wait: Duration,
    /// How long an append, and whoever waits for it, waits for a server that went away. Default
    /// 30 s.
    pub patience: Duration,
}

impl Config {
    /// The defaults for a journal at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ca_file: None,
            partitions: callboard_proto::PARTITIONS,
            open_wait: Duration::from_secs(5),
            patience: Duration::from_secs(30),
        }
    }

    /// Looks at the settings alone; nothing is connected to.
    ///
    /// # Errors
    /// `Unusable` where they name no server.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        Server::new(self).map(|_| ())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("ca_file", &self.ca_file).finish_non_exhaustive()
    }
}

/// A journal in a database, shared by the processes of a cluster.
pub struct PostgresJournal {
    queue: Queue,
    readers: Pool,
    replaced: watch::Receiver<u64>,
    tasks: TaskTracker,
}

impl fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresJournal").finish_non_exhaustive()
    }
}

impl PostgresJournal {
    /// Opens the journal: makes its tables where there are none, and brings older ones up to date.
    /// Many processes may do so at once.
    ///
    /// # Errors
    /// `Unreachable` if the server does not answer, `Newer` if a newer version wrote the journal,
    /// `Unusable` if the settings, the user or the database are wrong, `Full`.
    pub async fn open(config: Config) -> Result<Self, JournalError> {
        let server = Server::new(&config)?;
        let deadline = Instant::now() + config.open_wait;
        let mut link = loop {
            match server.connect("callboard").await {
                Ok(link) => break link,
                Err(Fault::Unreachable(error)) if Instant::now() < deadline => {
                    tracing::debug!(error, "journal's server is not there yet");
                    tokio::time::sleep(OPEN_EVERY).await;
                }
                Err(fault) => return Err(server.opening(fault)),
            }
        };
        schema::prepare(&server, &mut link, config.partitions).await?;
        for warning in
            verify::warnings(&link.client).await.map_err(|fault| server.opening(fault))?
        {
            tracing::warn!(warning, "journal is less safe than it could be");
        }
        let (queue, commands) = Queue::new();
        let (sender, replaced) = watch::channel(0);
        let mut writer = Writer {
            server: server.clone(),
            name: format!("callboard {}", Uuid::new_v4()),
            counters: Arc::clone(queue.counters()),
            patience: config.patience,
            closing: queue.closing().clone(),
            replaced: sender,
            ready: None,
            lineage: None,
            claimed: std::collections::HashMap::new(),
            heads: Heads::default(),
        };
        writer.connected(deadline).await.map_err(|fault| server.opening(fault))?;
        let tasks = TaskTracker::new();
        tasks.spawn(writer.run(commands));
        tasks.close();
        Ok(Self { queue, readers: Pool::new(server), replaced, tasks })
    }

    /// Checks a journal without changing anything, even while others use it; `None` if the database
    /// holds none yet.
    ///
    /// # Errors
    /// As [`PostgresJournal::open`].
    pub async fn inspect(config: &Config) -> Result<Option<Inspection>, JournalError> {
        let server = Server::new(config)?;
        let opening = |fault| server.opening(fault);
        let mut link: Link = server.connect("callboard doctor").await.map_err(opening)?;
        if !schema::check(&server, &link).await? {
            return Ok(None);
        }
        let damages = verify::verify(&mut link.client).await.map_err(opening)?;
        let warnings = verify::warnings(&link.client).await.map_err(opening)?;
        Ok(Some(Inspection { place: server.place().to_owned(), damages, warnings }))
    }

    /// Raises the generation by 1, after discovery was restored from a backup: every claim made
    /// before is then older than any made after. From then on the journal is the deployment's of
    /// this id, whosever it was. Gives the new generation.
    ///
    /// # Errors
    /// `Closed`, `Full`, `Unreachable` and `Backend`.
    pub async fn raise_generation(&self, deployment: &str) -> Result<u64, JournalError> {
        self.queue.ask(|reply| Command::RaiseGeneration(deployment.to_owned(), reply)).await
    }

    /// Transactions committed since it was opened; each is one sync, however many appends it holds.
    pub fn commits(&self) -> usize {
        self.queue.commits()
    }

    async fn settings(&self) -> Result<Settings, JournalError> {
        let lease = self.readers.take().await?;
        let found = within_limit(row::settings(&lease.link.client)).await?;
        lease.give_back();
        found.ok_or_else(|| JournalError::Backend("the journal's settings were changed".to_owned()))
    }

    async fn list(
        &self,
        condition: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SessionRow>, JournalError> {
        let lease = self.readers.take().await?;
        let sessions = within_limit(reader::list(&lease.link.client, condition, values)).await?;
        lease.give_back();
        Ok(sessions)
    }
}

#[async_trait]
impl Journal for PostgresJournal {
    async fn claim(
        &self,
        partitions: &[(u32, Epoch)],
        owner: &str,
    ) -> Result<Vec<u32>, JournalError> {
        let claim = Claim { partitions: partitions.to_vec(), owner: owner.to_owned() };
        self.queue.ask(|reply| Command::Claim(claim, reply)).await
    }

    async fn belong(&self, deployment: &str) -> Result<(), JournalError> {
        let lease = self.readers.take().await?;
        let found = within_limit(claim::belong(&lease.link.client, deployment)).await?;
        let place = lease.place().to_owned();
        lease.give_back();
        if found == deployment {
            return Ok(());
        }
        Err(JournalError::OtherDeployment { place, found, asked: deployment.to_owned() })
    }

    async fn generation(&self) -> Result<u64, JournalError> {
        Ok(self.settings().await?.generation)
    }

    async fn partitions(&self) -> Result<u32, JournalError> {
        Ok(self.settings().await?.partitions)
    }

    fn replaced(&self) -> watch::Receiver<u64> {
        self.replaced.clone()
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
        let mut lease = self.readers.take().await?;
        let reading = reader::read(&mut lease.link.client, session, (after, limit));
        let events = within_limit(reading).await?;
        lease.give_back();
        Ok(events)
    }

    async fn session(&self, session: &SessionId) -> Result<Option<SessionRow>, JournalError> {
        let mut lease = self.readers.take().await?;
        let reading = reader::session(&mut lease.link.client, session);
        let row = within_limit(reading).await?;
        lease.give_back();
        Ok(row)
    }

    async fn sessions(&self, team: &str, limit: usize) -> Result<Vec<SessionRow>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.list("s.team = $1 ORDER BY s.key DESC LIMIT $2", &[&team, &limit]).await
    }

    async fn unfinished(&self, partitions: &[u32]) -> Result<Vec<SessionRow>, JournalError> {
        let partitions: Vec<i64> = partitions.iter().copied().map(i64::from).collect();
        let condition = "s.state = 'active' AND s.partition = ANY($1) ORDER BY s.key";
        self.list(condition, &[&partitions]).await
    }

    async fn due(&self, partitions: &[u32], now_ms: i64) -> Result<Vec<SessionRow>, JournalError> {
        let partitions: Vec<i64> = partitions.iter().copied().map(i64::from).collect();
        let condition = "s.wake_at_ms <= $1 AND s.partition = ANY($2) ORDER BY s.wake_at_ms";
        self.list(condition, &[&now_ms, &partitions]).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let session = session.to_string();
        self.queue.ask(|reply| Command::Delete(session, reply)).await
    }

    async fn verify(&self) -> Result<Vec<Damage>, JournalError> {
        let mut lease = self.readers.take().await?;
        let damages = verify::verify(&mut lease.link.client).await?;
        lease.give_back();
        Ok(damages)
    }

    async fn close(&self) {
        self.queue.close().await;
        self.readers.close().await;
        self.tasks.wait().await;
    }
}
