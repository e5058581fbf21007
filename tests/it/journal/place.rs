//! A journal of either kind, in a place of its own, which can be opened again and tampered with.

use std::{path::PathBuf, sync::Arc};

use callboard_orchestrator::{
    journal::{
        Append, AppendError, Inspection, Journal, JournalError, config,
        postgres::{self, PostgresJournal},
        sqlite::{self, SqliteJournal},
    },
    run::event::Recorded,
};
use callboard_tests::Postgres;
use tempfile::TempDir;

use super::EPOCH;

/// Where a journal is.
pub(super) enum Backend {
    Sqlite(TempDir),
    Postgres(String),
}

/// A journal with partition 3 claimed.
pub(super) struct Place {
    pub(super) backend: Backend,
    pub(super) journal: Arc<dyn Journal>,
    commits: Box<dyn Fn() -> usize + Send + Sync>,
}

/// Runs a check on a new journal of each kind.
#[expect(clippy::print_stderr, reason = "a check that fails does not know what it ran on")]
pub(super) async fn on_both(check: impl AsyncFn(Place)) {
    for backend in [Backend::sqlite(), Backend::postgres().await] {
        eprintln!("on {}", backend.name());
        check(Place::new(backend).await).await;
    }
}

impl Backend {
    pub(super) fn sqlite() -> Self {
        Self::Sqlite(TempDir::new().unwrap())
    }

    pub(super) async fn postgres() -> Self {
        Self::Postgres(Postgres::shared().await.database().await)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// The section of the settings, and the state folder.
    pub(super) fn settings(&self) -> (config::Config, PathBuf) {
        match self {
            Self::Sqlite(folder) => (config::Config::default(), folder.path().to_owned()),
            Self::Postgres(url) => {
                let config = config::Config { url: Some(url.clone()), ..config::Config::default() };
                (config, PathBuf::from("/unused"))
            }
        }
    }

    /// Opens the journal as an orchestrator does.
    pub(super) async fn open(&self) -> Result<Arc<dyn Journal>, JournalError> {
        let (config, state) = self.settings();
        config::open(&config, &state).await
    }

    pub(super) async fn inspect(&self) -> Result<Option<Inspection>, JournalError> {
        let (config, state) = self.settings();
        config::inspect(&config, &state).await
    }

    /// Runs a statement behind the journal's back.
    pub(super) async fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(folder) => sqlite_file(folder).execute_batch(sql).unwrap(),
            Self::Postgres(url) => client(url).await.batch_execute(sql).await.unwrap(),
        }
    }

    /// Changes one byte of an event.
    pub(super) async fn flip(&self, session: &str, seq: i64) {
        let select = "SELECT e.payload FROM event e JOIN session s ON s.key = e.session
            WHERE s.id = $1 AND e.seq = $2";
        let update = "UPDATE event SET payload = $1 WHERE seq = $2
            AND session = (SELECT key FROM session WHERE id = $3)";
        let flipped = |mut payload: Vec<u8>| {
            *payload.last_mut().unwrap() ^= 0x10;
            payload
        };
        match self {
            Self::Sqlite(folder) => {
                let file = sqlite_file(folder);
                let payload = file.query_row(select, (session, seq), |row| row.get(0)).unwrap();
                file.execute(update, (flipped(payload), seq, session)).unwrap();
            }
            Self::Postgres(url) => {
                let client = client(url).await;
                let row = client.query_one(select, &[&session, &seq]).await.unwrap();
                let payload = flipped(row.get(0));
                client.execute(update, &[&payload, &seq, &session]).await.unwrap();
            }
        }
    }

    /// The one number that a query gives.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        match self {
            Self::Sqlite(folder) => {
                sqlite_file(folder).query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Self::Postgres(url) => client(url).await.query_one(sql, &[]).await.unwrap().get(0),
        }
    }

    /// The schema that its journal has.
    pub(super) fn schema(&self) -> u64 {
        u64::from(match self {
            Self::Sqlite(_) => sqlite::SCHEMA,
            Self::Postgres(_) => postgres::SCHEMA,
        })
    }

    /// Writes the journal's own row, sealed as the format says: SHA-256 over the purpose with its
    /// length before it and the three numbers, all numbers as eight big-endian bytes.
    pub(super) async fn store_settings(&self, schema: u64, generation: u64, partitions: u64) {
        use sha2::{Digest as _, Sha256};
        let purpose = b"callboard.journal.settings.1";
        let mut digest = Sha256::new();
        digest.update((purpose.len() as u64).to_be_bytes());
        digest.update(purpose);
        for number in [schema, generation, partitions] {
            digest.update(number.to_be_bytes());
        }
        let seal = digest
            .finalize()
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let seal = match self {
            Self::Sqlite(_) => format!("x'{seal}'"),
            Self::Postgres(_) => format!("'\\x{seal}'"),
        };
        self.execute(&format!(
            "UPDATE journal SET schema = {schema}, generation = {generation},
             partitions = {partitions}, seal = {seal}"
        ))
        .await;
    }
}

impl Place {
    pub(super) async fn new(backend: Backend) -> Self {
        let place = Self::opened(backend).await;
        assert_eq!(place.journal.claim(&[(3, EPOCH)], "owner-a").await.unwrap(), [3]);
        place
    }

    async fn opened(backend: Backend) -> Self {
        let (journal, commits): (Arc<dyn Journal>, Box<dyn Fn() -> usize + Send + Sync>) =
            match &backend {
                Backend::Sqlite(folder) => {
                    let config = sqlite::Config::new(folder.path().join("journal.db"));
                    let journal = Arc::new(SqliteJournal::open(config).await.unwrap());
                    let counted = Arc::clone(&journal);
                    (journal, Box::new(move || counted.commits()))
                }
                Backend::Postgres(url) => {
                    let config = postgres::Config::new(url);
                    let journal = Arc::new(PostgresJournal::open(config).await.unwrap());
                    let counted = Arc::clone(&journal);
                    (journal, Box::new(move || counted.commits()))
                }
            };
        Self { backend, journal, commits }
    }

    /// Closes the journal, opens it again, and claims as before.
    pub(super) async fn again(self) -> Self {
        self.journal.close().await;
        Self::new(self.backend).await
    }

    /// Transactions so far.
    pub(super) fn commits(&self) -> usize {
        (self.commits)()
    }

    pub(super) async fn append(&self, append: Append) -> Result<u64, AppendError> {
        self.journal.submit(append).await.unwrap()
    }

    pub(super) async fn events(&self, session: &str) -> Result<Vec<Recorded>, JournalError> {
        self.journal.read(&session.into(), 0, usize::MAX).await
    }

    pub(super) async fn execute(&self, sql: &str) {
        self.backend.execute(sql).await;
    }
}

fn sqlite_file(folder: &TempDir) -> rusqlite::Connection {
    let file = rusqlite::Connection::open(folder.path().join("journal.db")).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    file
}

/// A connection as the journal's own user, looking at the journal's tables.
pub(super) async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    // It ends with the client.
    tokio::spawn(connection);
    client.batch_execute("SET search_path TO callboard").await.unwrap();
    client
}
