//! What is SQLite's own of the journal: the file, its log and its lock, batches, damage, and any events
//! in any turns. What every backend promises is tested on both in the whole-system tests.

mod batch;
mod child;
mod damage;
mod fencing;
mod file;

use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::journal::generate::{self, EPOCH, append, opened, progress};
use crate::journal::queue::Command;
use crate::journal::{AppendError, Journal as _, JournalError};
use crate::run::event::{Event, Recorded, RunStarted};
use crate::run::ids::SessionId;

use super::{Append, Config, SqliteJournal};

/// A journal in a folder of its own, with partition 3 claimed.
struct Place {
    folder: TempDir,
    journal: SqliteJournal,
}

impl Place {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let journal = open(&folder).await;
        assert_eq!(journal.claim(&[(3, EPOCH)], "owner-a").await.unwrap(), [3]);
        Self { folder, journal }
    }

    /// Closes the journal and opens it again.
    async fn again(self) -> Self {
        self.journal.close().await;
        let journal = open(&self.folder).await;
        Self { folder: self.folder, journal }
    }

    async fn append(&self, append: Append) -> Result<u64, AppendError> {
        self.journal.submit(append).await.unwrap()
    }

    async fn events(&self, session: &str) -> Result<Vec<Recorded>, JournalError> {
        self.journal.read(&session.into(), 0, usize::MAX).await
    }

    /// Runs a statement on the writer's connection.
    async fn execute(&self, sql: &'static str) {
        let (reply, done) = oneshot::channel();
        self.journal.queue.send(Command::Execute(sql, reply)).await.unwrap();
        done.await.unwrap();
    }
}

async fn open(folder: &TempDir) -> SqliteJournal {
    SqliteJournal::open(Config::new(folder.path().join("journal.db"))).await.unwrap()
}

fn texts(events: &[Recorded]) -> Vec<&str> {
    let text = |recorded| match recorded {
        &Recorded { event: Event::ProgressMissed(ref event), .. } => event.message.as_str(),
        Recorded { event, .. } => event.kind(),
    };
    events.iter().map(text).collect()
}

#[tokio::test]
async fn a_deleted_session_is_erased_from_the_file() {
    let place = Place::new().await;
    for session in ["a", "b"] {
        let events = vec![opened("team"), progress("a secret word")];
        place.append(append(session, 1, events)).await.unwrap();
        place.journal.delete(&session.into()).await.unwrap();
    }
    let place = place.again().await;
    let file = std::fs::read(place.folder.path().join("journal.db")).unwrap();
    assert!(!file.windows(13).any(|bytes| bytes == b"a secret word"));
}

#[tokio::test]
async fn closing_moves_the_log_into_the_file() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    place.journal.close().await;
    let left: Vec<_> = std::fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "journal.db.lock")
        .collect();
    assert_eq!(left, ["journal.db"]);
}

#[tokio::test]
async fn partitions_are_fixed_when_the_journal_is_made() {
    let folder = TempDir::new().unwrap();
    let config = Config { partitions: 16, ..Config::new(folder.path().join("journal.db")) };
    let journal = SqliteJournal::open(config).await.unwrap();
    assert_eq!(journal.partitions().await.unwrap(), 16);
    journal.close().await;
    assert_eq!(open(&folder).await.partitions().await.unwrap(), 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_events_in_any_turns_come_back_in_order(
        turns in prop::collection::vec(prop::collection::vec(generate::event(), 1..5), 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let place = Place::new().await;
            let mut expected = Vec::new();
            for (number, mut events) in turns.into_iter().enumerate() {
                if number == 0 {
                    events.insert(0, opened("team"));
                }
                let turn = append("s", expected.len() as u64 + 1, events);
                expected.extend(turn.events.clone());
                assert_eq!(place.append(turn).await, Ok(expected.len() as u64));
            }
            assert_eq!(place.events("s").await.unwrap(), expected);
            assert_eq!(place.journal.verify().await.unwrap(), []);
        });
    }
}

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_secs(20);
