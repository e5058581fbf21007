//! The file of a store: how it is opened, its tables and their version. Next: `calls.rs`.

use std::{os::unix::fs::MetadataExt as _, path::Path, time::Duration};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use super::{StoreError, file};
use crate::judge::hex;

/// Version of the tables; only ever raised.
const VERSION: i64 = 1;
/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(5);

/// `state` of a call: 0 = claimed by `incarnation`, 1 = ended (without an outcome: it is no longer
/// known). `state` of an undo: 0 = kept, 1 = being taken back by `incarnation`, 2 = taken back.
/// Times are seconds since 1970 as the store counts them (`clock.rs`), for retention only; epochs are 16 bytes, big endian.
const TABLES: &str = "
CREATE TABLE name (id TEXT NOT NULL) STRICT;
CREATE TABLE life (incarnation TEXT PRIMARY KEY, began INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE floor (
    deployment TEXT NOT NULL, partition INTEGER NOT NULL, epoch BLOB NOT NULL,
    PRIMARY KEY (deployment, partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    team TEXT NOT NULL, session TEXT NOT NULL, call_id TEXT NOT NULL,
    digest BLOB NOT NULL, state INTEGER NOT NULL, incarnation TEXT NOT NULL,
    at INTEGER NOT NULL, is_forgotten INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0, outcome BLOB,
    UNIQUE (team, session, call_id)
) STRICT;
CREATE INDEX call_forgotten ON call (id) WHERE is_forgotten = 1;
CREATE INDEX call_size ON call (id, size) WHERE size > 0;
CREATE INDEX call_kept ON call (id) WHERE is_forgotten = 0;
CREATE TABLE undo (
    id INTEGER PRIMARY KEY,
    team TEXT NOT NULL, session TEXT NOT NULL, call_id TEXT NOT NULL,
    tool TEXT NOT NULL, at INTEGER NOT NULL, size INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0, incarnation TEXT NOT NULL DEFAULT '',
    wish TEXT NOT NULL DEFAULT '', answer TEXT,
    facts TEXT NOT NULL, content BLOB,
    UNIQUE (team, session, call_id)
) STRICT;
CREATE INDEX undo_size ON undo (size);
";

/// Opens the file in a folder, making and migrating it.
pub(super) fn open(folder: &Path) -> Result<Connection, StoreError> {
    let unusable = |error: rusqlite::Error| StoreError::Unusable {
        path: folder.to_owned(),
        what: error.to_string(),
    };
    let mut connection = Connection::open(file(folder)).map_err(unusable)?;
    let found = prepare(&mut connection).map_err(unusable)?;
    if found > VERSION {
        return Err(StoreError::Newer { path: folder.to_owned(), found, known: VERSION });
    }
    Ok(connection)
}

/// Settings that make a commit durable, then the tables. Gives the version that was found.
fn prepare(connection: &mut Connection) -> rusqlite::Result<i64> {
    connection.busy_timeout(BUSY)?;
    // Space of what was dropped goes back to the disk; to be said before the first table.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Without a sync at each commit a power cut loses what was called durable.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "journal_size_limit", 8 * 1024 * 1024)?;
    connection.set_prepared_statement_cache_capacity(32);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(found)
}

/// The name under which this very file is known: a copy of the folder is another store, because what
/// is written to one of them is not in the other.
pub(super) fn id(connection: &mut Connection, folder: &Path) -> Result<String, StoreError> {
    let made = uuid::Uuid::new_v4().simple().to_string();
    let name = named(connection, &made).map_err(|error| StoreError::Unusable {
        path: folder.to_owned(),
        what: error.to_string(),
    })?;
    let inode = file(folder)
        .metadata()
        .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?
        .ino();
    let digest = Sha256::digest(format!("{name} {inode}"));
    Ok(hex(&digest[..16]))
}

fn named(connection: &mut Connection, made: &str) -> rusqlite::Result<String> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = transaction.query_row("SELECT id FROM name", [], |row| row.get(0)).optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    transaction.execute("INSERT INTO name VALUES (?1)", [made])?;
    transaction.commit()?;
    Ok(made.to_owned())
}
