//! Reads for everyone, on a few connections beside the writer's, always against the hash chain.
//!
//! A session that is damaged is refused by name, and only that one. Next: `verify`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, params_from_iter};
use tokio::sync::Semaphore;

use crate::journal::fault::Fault;
use crate::journal::row::StoredSession;
use crate::journal::walk::Break;
use crate::journal::{JournalError, SessionRow};
use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use super::schema;
use super::walk;

/// Connections that read at the same time, at most.
const READERS: u32 = 3;

/// Connections for reading, made when they are needed.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    path: Arc<Path>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path: path.into(),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(READERS as usize)),
        }
    }

    /// Runs `work` where it may block, with a connection of its own. Dropping the future lets it
    /// run to its end unheard.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, JournalError> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| JournalError::Closed)?;
        let (path, idle) = (Arc::clone(&self.path), Arc::clone(&self.idle));
        let blocking = move || {
            let _permit = permit;
            let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = taken.map_or_else(|| schema::open_reader(&path), Ok)?;
            let result = work(&mut connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            result
        };
        match tokio::task::spawn_blocking(blocking).await {
            Ok(result) => result,
            Err(error) => Err(JournalError::Backend(error.to_string())),
        }
    }

    /// Waits for those who read, and closes the connections.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(READERS).await {
            self.permits.close();
            all.forget();
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Events of a session; an unknown session has none.
pub(super) fn read(
    connection: &mut Connection,
    session: &SessionId,
    (after, limit): (u64, usize),
) -> Result<Vec<Recorded>, JournalError> {
    let transaction = connection.transaction().map_err(Fault::from)?;
    let Some(stored) = find(&transaction, session)? else { return Ok(Vec::new()) };
    let mut events = Vec::new();
    walk::walk(&transaction, &stored, (after, limit), |recorded| events.push(recorded))
        .map_err(|broken| broken.of(session))?;
    Ok(events)
}

/// One session, if its row can be trusted.
pub(super) fn session(
    connection: &mut Connection,
    session: &SessionId,
) -> Result<Option<SessionRow>, JournalError> {
    let transaction = connection.transaction().map_err(Fault::from)?;
    Ok(find(&transaction, session)?.map(|stored| stored.row))
}

fn find(
    transaction: &Transaction<'_>,
    session: &SessionId,
) -> Result<Option<StoredSession>, JournalError> {
    let changed = |seq| Break::Damaged { seq, what: "the session's own row was changed".into() };
    match StoredSession::find(transaction, session.as_str()) {
        Ok(Some(stored)) if !stored.is_sealed => {
            let good = walk::count(transaction, &stored);
            Err(changed(good + 1).of(session))
        }
        Ok(found) => Ok(found),
        Err(Fault::Damaged(_)) => Err(changed(1).of(session)),
        Err(fault) => Err(fault.into()),
    }
}

/// Sessions by a condition on their rows; those that cannot be trusted are left out.
pub(super) fn list(
    connection: &Connection,
    condition: &str,
    values: Vec<Value>,
) -> Result<Vec<SessionRow>, JournalError> {
    let collect = || -> Result<Vec<SessionRow>, Fault> {
        let sql = format!("SELECT * FROM session WHERE {condition}");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut sessions = Vec::new();
        while let Some(row) = rows.next()? {
            match StoredSession::from_row(row) {
                Ok(stored) if stored.is_sealed => sessions.push(stored.row),
                Ok(stored) => tracing::warn!(session = %stored.row.id, "damaged session left out"),
                Err(error) => tracing::warn!(%error, "damaged session left out"),
            }
        }
        Ok(sessions)
    };
    Ok(collect()?)
}
