//! What a service that changes things must not forget when it dies: outcomes, intents and the
//! highest epochs, in one `SQLite` file. Instances on one machine may share it. Each method is one
//! transaction, durable when it returns; a full disk refuses it whole.
//!
//! Left to others: the tasks of calls (`calls.rs`). Next: `store/writer.rs`, the one thread that
//! touches the file.

mod calls;
mod clock;
mod lives;
mod schema;
mod tidy;
mod undo;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use callboard_proto::tool as wire;

pub(crate) use self::{
    calls::{Claim, Found},
    undo::{Began, Kept, Wish},
    writer::Fault,
};
use self::{clock::Clock, lives::Lives, tidy::Limits, undo::ToKeep, writer::Writer};
use crate::{
    Intent,
    fence::{Epoch, Owner},
    intent::FACTS,
    outcomes::Key,
};

/// Where a service keeps what it must not forget, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// A folder of the service's own, on a local file system; it is made if it is missing.
    pub path: PathBuf,
    /// Calls whose outcome is remembered, for 30 days unless the caller forgets it before; over it
    /// new ones are refused. Default 1,000,000.
    pub calls: u32,
    /// Bytes of records for rollbacks; over it the oldest are dropped. One record keeps at most
    /// 32 MiB, and at most this less 64 KiB. Default 256 MiB.
    pub undo_bytes: u64,
    /// How long such a record is kept; default 30 days.
    pub undo_age: Duration,
}

/// Most bytes that one record may keep of what was there before, whatever the quota.
const RECORD: u64 = 32 * 1024 * 1024;

impl StoreSettings {
    /// The defaults, in this folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            calls: 1_000_000,
            undo_bytes: 256 * 1024 * 1024,
            undo_age: Duration::from_hours(30 * 24),
        }
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder cannot be made or used.
    #[error("the store {} cannot be used", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It was written by a newer version.
    #[error(
        "the store {} has version {found}, and this program knows up to {known}: use a newer one, \
         or another folder",
        path.display()
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// It cannot be read or written.
    #[error(
        "the store {} cannot be opened: {what}; move the folder away to begin a new one, which \
         forgets what became of earlier calls",
        path.display()
    )]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A handle; the file is closed with the last one.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    id: Arc<str>,
    incarnation: Arc<str>,
    lives: Arc<Lives>,
    writer: Writer,
    limits: Limits,
    room: u64,
}

/// An opened store and the epochs that it has seen.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) floors: Vec<Owner>,
}

impl Store {
    /// Opens or makes a store for an incarnation, which counts as alive until the last handle is
    /// gone. Blocks.
    pub(crate) fn open(settings: &StoreSettings, incarnation: &str) -> Result<Opened, StoreError> {
        let path = &settings.path;
        let unusable = |error: rusqlite::Error| StoreError::Unusable {
            path: path.clone(),
            what: error.to_string(),
        };
        let lives = Arc::new(Lives::begin(path, incarnation)?);
        // One at a time: processes that make the same file at once would be in each other's way.
        let _turn = lives.turn()?;
        let mut connection = schema::open(path)?;
        let id = schema::id(&mut connection, path)?;
        let clock = Clock::open(&connection).map_err(unusable)?;
        calls::begin_life(&connection, incarnation, clock.now()).map_err(unusable)?;
        let floors = calls::floors(&connection).map_err(unusable)?;
        let limits = Limits::new(settings, clock);
        let writer = Writer::start(connection, limits)
            .map_err(|source| StoreError::Folder { path: path.clone(), source })?;
        let room = settings.undo_bytes.saturating_sub(FACTS as u64).min(RECORD);
        let store =
            Self { id: id.into(), incarnation: incarnation.into(), lives, writer, limits, room };
        Ok(Opened { store, floors })
    }

    /// Names the file: two instances with the same id share what is in it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// Whether an incarnation keeps, or kept, its records here.
    pub(crate) async fn knows(&self, incarnation: &str) -> Result<bool, Fault> {
        let incarnation = incarnation.to_owned();
        self.writer.run(move |tx| calls::knows(tx, &incarnation)).await
    }

    /// Raises the floor of a partition; gives the higher one that another process has seen.
    pub(crate) async fn raise(&self, owner: Owner) -> Result<Option<Epoch>, Fault> {
        self.writer.run(move |tx| calls::raise(tx, &owner)).await
    }

    /// Raises the floor and claims the call for this process, or says what is known of it.
    pub(crate) async fn claim(&self, claim: Claim) -> Result<Found, Fault> {
        let (lives, incarnation) = (Arc::clone(&self.lives), Arc::clone(&self.incarnation));
        let limits = self.limits;
        self.writer
            .run_tidily(move |tx| calls::claim(tx, &claim, &incarnation, &lives, limits))
            .await
    }

    /// Records how a claimed call ended.
    pub(crate) async fn settle(
        &self,
        key: &Arc<Key>,
        outcome: Arc<wire::Outcome>,
    ) -> Result<(), Fault> {
        let (key, limits) = (Arc::clone(key), self.limits);
        self.writer.run(move |tx| calls::settle(tx, &key, &outcome, limits)).await
    }

    /// Drops the claim of a call that was not started after all.
    pub(crate) async fn release(&self, key: &Arc<Key>) -> Result<(), Fault> {
        let (key, incarnation) = (Arc::clone(key), Arc::clone(&self.incarnation));
        self.writer.run(move |tx| calls::release(tx, &key, &incarnation)).await
    }

    /// Drops the outcomes of calls that are not at work. Never drops a record for a rollback.
    pub(crate) async fn forget(&self, keys: Vec<Key>) -> Result<(), Fault> {
        let (lives, incarnation) = (Arc::clone(&self.lives), Arc::clone(&self.incarnation));
        let limits = self.limits;
        self.writer
            .run_tidily(move |tx| {
                let us = (&*incarnation, &*lives);
                keys.iter().try_for_each(|key| calls::forget(tx, key, us, limits))
            })
            .await
    }

    /// Drops what is kept of the calls of a session that are not at work, for rollbacks too.
    pub(crate) async fn forget_session(&self, team: &str, session: &str) -> Result<(), Fault> {
        let (lives, incarnation) = (Arc::clone(&self.lives), Arc::clone(&self.incarnation));
        let (of, limits) = ((team.to_owned(), session.to_owned()), self.limits);
        self.writer
            .run_tidily(move |tx| {
                calls::forget_session(tx, (&of.0, &of.1), (&*incarnation, &*lives), limits)
            })
            .await
    }

    /// Keeps the intent of a call that this process has claimed.
    pub(crate) async fn intend(
        &self,
        key: &Arc<Key>,
        tool: &Arc<str>,
        intent: Intent,
    ) -> Result<Kept, Fault> {
        let (key, incarnation) = (Arc::clone(key), Arc::clone(&self.incarnation));
        let kept = ToKeep { tool: Arc::clone(tool), intent, limits: self.limits };
        self.writer.run_tidily(move |tx| undo::intend(tx, &key, &kept, &incarnation)).await
    }

    /// The same where the caller blocks.
    pub(crate) fn intend_blocking(
        &self,
        key: &Arc<Key>,
        tool: &Arc<str>,
        intent: Intent,
    ) -> Result<Kept, Fault> {
        let (key, incarnation) = (Arc::clone(key), Arc::clone(&self.incarnation));
        let kept = ToKeep { tool: Arc::clone(tool), intent, limits: self.limits };
        self.writer.run_blocking(move |tx| undo::intend(tx, &key, &kept, &incarnation))
    }

    /// What is kept for a rollback; unless it is only asked, marks that this process takes the
    /// call back.
    pub(crate) async fn begin_undo(&self, wish: Wish) -> Result<Began, Fault> {
        let (lives, incarnation) = (Arc::clone(&self.lives), Arc::clone(&self.incarnation));
        self.writer.run(move |tx| undo::begin(tx, &wish, &incarnation, &lives)).await
    }

    /// The facts of intents that were not taken back, in the order of their calls.
    pub(crate) async fn facts(&self, keys: Vec<Key>) -> Result<Vec<Intent>, Fault> {
        self.writer.run(move |tx| undo::facts(tx, &keys)).await
    }

    /// Records what a rollback said that was done (`Some`), or that nothing was.
    pub(crate) async fn end_undo(&self, wish: Wish, done: Option<String>) -> Result<(), Fault> {
        self.writer.run(move |tx| undo::end(tx, &wish, done.as_deref())).await
    }

    #[cfg(test)]
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        query: impl Fn(&rusqlite::Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> T {
        self.writer.run(query).await.unwrap()
    }
}

/// The file inside the folder.
fn file(folder: &Path) -> PathBuf {
    folder.join("calls.db")
}

#[cfg(test)]
mod tests;
