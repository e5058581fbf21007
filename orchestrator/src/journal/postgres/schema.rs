//! The tables of the journal, in a schema of their own, and how they are made and brought up to
//! date by whoever starts first.
//!
//! The schema has a number of its own, apart from that of the payloads: a journal with a higher one
//! is refused. Next: `row`.

use tokio_postgres::Transaction;

use crate::journal::JournalError;
use crate::journal::fault::Fault;
use crate::journal::row::Settings;

use super::row;
use super::server::{Link, Server};

/// Number of the schema that this program makes, and the highest that it opens.
pub(super) const SCHEMA: u32 = 2;

/// The oldest server that has all that is used here: 14 can wait for a backend's end.
const OLDEST_SERVER: i32 = 140_000;

/// The lock that starters take in turn: `CBJ` as a number, to be known in `pg_locks`.
const LOCK: i64 = 0x43_42_4a;

/// What brings a journal from schema `n` to `n + 1`; the first one makes it. A step is never
/// changed once it was released.
const STEPS: [&str; SCHEMA as usize] = [TABLES, DEPLOYMENT];

/// Whose the journal is; no row until somebody asks.
const DEPLOYMENT: &str = "
CREATE TABLE deployment (
  one integer PRIMARY KEY CHECK (one = 1),
  id text NOT NULL
);
";

const TABLES: &str = "
CREATE TABLE journal (
  one integer PRIMARY KEY CHECK (one = 1),
  schema bigint NOT NULL,
  generation bigint NOT NULL,
  partitions bigint NOT NULL,
  seal bytea NOT NULL
);
CREATE TABLE partition (
  id bigint PRIMARY KEY,
  generation bigint NOT NULL,
  revision bigint NOT NULL,
  owner text NOT NULL,
  seal bytea NOT NULL
);
CREATE TABLE session (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE \"C\" NOT NULL UNIQUE,
  partition bigint NOT NULL,
  team text COLLATE \"C\" NOT NULL,
  kind text NOT NULL,
  agent text NOT NULL,
  title text NOT NULL,
  state text NOT NULL,
  wake_at_ms bigint,
  last_seq bigint NOT NULL,
  head_hash bytea NOT NULL,
  opened_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  seal bytea NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX session_team ON session (team, key);
CREATE INDEX session_active ON session (partition) WHERE state = 'active';
CREATE INDEX session_wake ON session (wake_at_ms) WHERE wake_at_ms IS NOT NULL;
CREATE TABLE event (
  session bigint NOT NULL,
  seq bigint NOT NULL,
  generation bigint NOT NULL,
  revision bigint NOT NULL,
  append_id bytea NOT NULL,
  type text NOT NULL,
  schema bigint NOT NULL,
  wall_ms bigint NOT NULL,
  payload bytea NOT NULL,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE TABLE blob (
  digest bytea PRIMARY KEY,
  content bytea NOT NULL
);
";

/// Makes the tables, brings them up to date, or checks that those there are ours and not newer
/// than this program. Many may do this at once.
pub(super) async fn prepare(
    server: &Server,
    link: &mut Link,
    partitions: u32,
) -> Result<(), JournalError> {
    let failed = |fault: Fault| server.opening(fault);
    check_server(server, link).await?;
    // Only who has something to change waits for the others.
    if found(server, link).await? != Some(SCHEMA) {
        let transaction = link.client.transaction().await.map_err(|error| failed(error.into()))?;
        upgrade(server, &transaction, partitions).await?;
        transaction.commit().await.map_err(|error| failed(error.into()))?;
    }
    match found(server, link).await? {
        Some(schema) => known(schema),
        None => Err(unusable(server, "it is no journal of this program")),
    }
}

/// Whether there is a journal; a newer one, or one that was changed, is refused.
pub(super) async fn check(server: &Server, link: &Link) -> Result<bool, JournalError> {
    check_server(server, link).await?;
    match found(server, link).await? {
        Some(schema) => known(schema).map(|()| true),
        None => Ok(false),
    }
}

async fn check_server(server: &Server, link: &Link) -> Result<(), JournalError> {
    let sql =
        "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let row =
        link.client.query_one(sql, &[]).await.map_err(|error| server.opening(error.into()))?;
    let (number, version): (i32, String) = (row.get(0), row.get(1));
    if number < OLDEST_SERVER {
        let what = format!("its server is PostgreSQL {version}; it takes 14 or later");
        return Err(unusable(server, &what));
    }
    Ok(())
}

/// The schema of the journal that is there.
async fn found(server: &Server, link: &Link) -> Result<Option<u32>, JournalError> {
    let failed = |fault: Fault| server.opening(fault);
    let is_there = link
        .client
        .query_one("SELECT to_regclass('callboard.journal') IS NOT NULL", &[])
        .await
        .map_err(|error| failed(error.into()))?;
    if !is_there.get::<_, bool>(0) {
        return Ok(None);
    }
    let settings = row::settings(&link.client).await.map_err(failed)?;
    match settings {
        Some(settings) => Ok(Some(settings.schema)),
        None => Err(unusable(server, "its settings were changed; put a backup in its place")),
    }
}

fn known(found: u32) -> Result<(), JournalError> {
    if found > SCHEMA { Err(JournalError::Newer { found, known: SCHEMA }) } else { Ok(()) }
}

async fn upgrade(
    server: &Server,
    transaction: &Transaction<'_>,
    partitions: u32,
) -> Result<(), JournalError> {
    let steps = async {
        transaction
            .batch_execute("SET LOCAL statement_timeout TO 0; SET LOCAL lock_timeout TO 0")
            .await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        let sql = "SELECT to_regnamespace('callboard') IS NOT NULL,
            to_regclass('callboard.journal') IS NOT NULL";
        let there = transaction.query_one(sql, &[]).await?;
        let (is_schema, is_journal): (bool, bool) = (there.get(0), there.get(1));
        if !is_schema {
            transaction.batch_execute("CREATE SCHEMA callboard").await?;
        }
        let mut settings = if is_journal {
            match row::settings(transaction).await? {
                Some(settings) => settings,
                // Told by who looks at it next.
                None => return Ok(()),
            }
        } else {
            Settings { schema: 0, generation: 1, partitions: partitions.max(1) }
        };
        for step in STEPS.iter().skip(settings.schema as usize) {
            transaction.batch_execute(step).await?;
            settings.schema += 1;
        }
        row::store_settings(transaction, &settings).await
    };
    steps.await.map_err(|fault| server.opening(fault))
}

fn unusable(server: &Server, what: &str) -> JournalError {
    JournalError::Unusable { path: server.place().to_owned(), what: what.to_owned() }
}
