//! The tables of the journal, how they are made, and how a connection to them is set up.
//!
//! The schema has a number of its own, apart from that of the payloads: a journal with a higher one
//! is refused. Next: `row`.

use std::fs::OpenOptions;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::journal::JournalError;
use crate::journal::fault::Fault;
use crate::journal::row::Settings;

use super::log::{self, Log};

/// Number of the schema that this program makes, and the highest that it opens.
pub(super) const SCHEMA: u32 = 1;

/// Says in the file's header whose it is: `CBJ` and a version of the format as a whole.
const APPLICATION_ID: i32 = 0x43_42_4a_01;

/// How long a statement waits for a lock that another process, such as a shell, holds.
pub(super) const BUSY: Duration = Duration::from_secs(2);

const TABLES: &str = "
CREATE TABLE journal (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  schema INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  partitions INTEGER NOT NULL,
  seal BLOB NOT NULL
) STRICT;
CREATE TABLE partition (
  id INTEGER PRIMARY KEY,
  generation INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  owner TEXT NOT NULL,
  seal BLOB NOT NULL
) STRICT;
CREATE TABLE session (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  partition INTEGER NOT NULL,
  team TEXT NOT NULL,
  kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  wake_at_ms INTEGER,
  last_seq INTEGER NOT NULL,
  head_hash BLOB NOT NULL,
  opened_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  seal BLOB NOT NULL
) STRICT;
CREATE INDEX session_team ON session (team);
CREATE INDEX session_active ON session (partition) WHERE state = 'active';
CREATE INDEX session_wake ON session (wake_at_ms) WHERE wake_at_ms IS NOT NULL;
CREATE TABLE event (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  append_id BLOB NOT NULL,
  type TEXT NOT NULL,
  schema INTEGER NOT NULL,
  wall_ms INTEGER NOT NULL,
  payload BLOB NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_seq ON event (session, seq);
CREATE TABLE blob (
  digest BLOB PRIMARY KEY,
  content BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Refuses a journal whose log lost what was acknowledged; to be done before SQLite opens it.
pub(super) fn check_log(path: &Path) -> Result<(), JournalError> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    match log::inspect(Path::new(&name)) {
        Ok(Log::Whole) => Ok(()),
        Ok(Log::Damaged { frame }) => Err(unusable(
            path,
            &format!(
                "its log is damaged at frame {frame}, and events after it were acknowledged; put a \
                 backup in its place, or remove {} to go on without them",
                Path::new(&name).display()
            ),
        )),
        Err(error) => Err(unusable(path, &format!("its log cannot be read: {error}"))),
    }
}

/// A connection that may write.
pub(super) fn open_writer(path: &Path) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let set_up = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON; PRAGMA wal_autocheckpoint = 0;
             PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024; PRAGMA mmap_size = 0;",
        )?;
        connection.set_prepared_statement_cache_capacity(32);
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        Ok::<_, rusqlite::Error>((connection, mode))
    };
    let (connection, mode) = set_up().map_err(|error| opening(path, error))?;
    if mode != "wal" {
        return Err(unusable(path, "its file system has no shared memory for a write-ahead log"));
    }
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let set_up = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch(
            "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -256; PRAGMA mmap_size = 0;",
        )?;
        Ok::<_, rusqlite::Error>(connection)
    };
    set_up().map_err(|error| opening(path, error))
}

/// Makes the tables, or checks that those there are ours and not newer than this program.
pub(super) fn prepare(
    connection: &mut Connection,
    path: &Path,
    partitions: u32,
) -> Result<(), JournalError> {
    let make = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables == 0 {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            let made = Settings { schema: SCHEMA, generation: 1, partitions: partitions.max(1) };
            made.store(&transaction)?;
        }
        transaction.commit()
    };
    make(connection).map_err(|error| opening(path, error))?;
    check(connection, path)
}

/// Refuses what is no journal of ours, or a newer one, or one whose tables were changed.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), JournalError> {
    let look = || {
        let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if id != APPLICATION_ID {
            return Ok(None);
        }
        let settings = Settings::find(connection)?;
        let mut statement =
            connection.prepare("SELECT sql FROM sqlite_schema WHERE sql NOTNULL")?;
        let tables = statement.query_map([], |row| row.get(0))?;
        Ok(Some((settings, tables.collect::<Result<Vec<String>, _>>()?)))
    };
    match look().map_err(|error| opening(path, error))? {
        None => Err(unusable(path, "it is no journal of this program")),
        Some((None, _)) => {
            Err(unusable(path, "its settings were changed; put a backup in its place"))
        }
        Some((Some(Settings { schema: found, .. }), _)) if found > SCHEMA => {
            Err(JournalError::Newer { found, known: SCHEMA })
        }
        // SQLite keeps the text of every statement as it was.
        Some((_, tables))
            if tables.len() != TABLES.matches("CREATE ").count()
                || tables.iter().any(|table| !TABLES.contains(table)) =>
        {
            Err(unusable(path, "its tables were changed; put a backup in its place"))
        }
        Some(_) => Ok(()),
    }
}

/// Makes the file, for its owner alone, where there is none.
pub(super) fn make_private(path: &Path) -> Result<(), JournalError> {
    let failed = |error: std::io::Error| unusable(path, &error.to_string());
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    // A file that was there may be open to others; SQLite gives its companions the same mode.
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(failed)
}

fn opening(path: &Path, error: rusqlite::Error) -> JournalError {
    match Fault::from(error) {
        Fault::Full(text) => JournalError::Full(text),
        Fault::Unreachable(text) | Fault::Write(text) | Fault::Other(text) => unusable(path, &text),
        Fault::Busy(_) => JournalError::InUse {
            path: path.display().to_string(),
            holder: "another process".to_owned(),
        },
        Fault::Damaged(text) => {
            unusable(path, &format!("{text}; move it away or put a backup in its place"))
        }
    }
}

fn unusable(path: &Path, what: &str) -> JournalError {
    JournalError::Unusable { path: path.display().to_string(), what: what.to_owned() }
}
