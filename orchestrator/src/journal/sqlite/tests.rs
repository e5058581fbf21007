//! The journal through its handle: what is appended, read, listed and deleted.

mod batch;
mod child;
mod damage;
mod fencing;
mod file;

use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::journal::generate::{self, EPOCH, append, opened, progress};
use crate::journal::queue::Command;
use crate::journal::{AppendError, Journal as _, JournalError, SessionState};
use crate::run::event::{Event, Recorded, RunStarted, SessionKind};
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
async fn what_was_appended_is_read_back_after_reopening() {
    let place = Place::new().await;
    let first = append("s", 1, vec![opened("team"), progress("one")]);
    let second = append("s", 3, vec![progress("two")]);
    let expected: Vec<_> = first.events.iter().chain(&second.events).cloned().collect();
    assert_eq!(place.append(first).await, Ok(2));
    assert_eq!(place.append(second).await, Ok(3));
    assert_eq!(place.events("s").await.unwrap(), expected);
    let place = place.again().await;
    assert_eq!(place.events("s").await.unwrap(), expected);
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn pages_hold_what_lies_between() {
    let place = Place::new().await;
    let mut events = vec![opened("team")];
    events.extend((2..=9).map(|number| progress(&number.to_string())));
    place.append(append("s", 1, events)).await.unwrap();
    let page = |after, limit| {
        let journal = &place.journal;
        async move {
            let events = journal.read(&"s".into(), after, limit).await.unwrap();
            events.into_iter().map(|event| event.seq).collect::<Vec<_>>()
        }
    };
    assert_eq!(page(0, 3).await, [1, 2, 3]);
    assert_eq!(page(3, 3).await, [4, 5, 6]);
    assert_eq!(page(7, 3).await, [8, 9]);
    assert_eq!(page(9, 3).await, [] as [u64; 0]);
    assert_eq!(page(12, 3).await, [] as [u64; 0]);
    assert_eq!(page(0, 0).await, [] as [u64; 0]);
}

#[tokio::test]
async fn an_unknown_session_has_no_events_and_no_row() {
    let place = Place::new().await;
    assert_eq!(place.events("nobody").await.unwrap(), []);
    assert_eq!(place.journal.session(&"nobody".into()).await.unwrap(), None);
    place.journal.delete(&"nobody".into()).await.unwrap();
}

#[tokio::test]
async fn a_session_row_says_what_its_events_said() {
    let place = Place::new().await;
    let mut turn = append("s", 1, vec![opened("team"), progress("one")]);
    turn.state = SessionState::Waiting;
    turn.wake_at_ms = Some(42);
    place.append(turn).await.unwrap();
    let row = place.journal.session(&"s".into()).await.unwrap().unwrap();
    assert_eq!(row.id, SessionId::from("s"));
    assert_eq!((row.partition, row.team.as_str()), (3, "team"));
    assert_eq!((row.kind, row.agent.as_str()), (SessionKind::Chat, "default"));
    assert_eq!(row.title, "a title");
    assert_eq!((row.state, row.wake_at_ms), (SessionState::Waiting, Some(42)));
    assert_eq!(row.last_seq, 2);
    assert_eq!((row.opened_ms, row.updated_ms), (1_700_000_000_001, 1_700_000_000_002));
}

#[tokio::test]
async fn an_append_of_no_events_changes_the_state_alone() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    let mut idle = append("s", 2, Vec::new());
    idle.state = SessionState::Idle;
    assert_eq!(place.append(idle).await, Ok(1));
    let row = place.journal.session(&"s".into()).await.unwrap().unwrap();
    assert_eq!((row.state, row.last_seq), (SessionState::Idle, 1));
    assert_eq!(place.append(append("s", 2, vec![progress("more")])).await, Ok(2));
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn sessions_are_listed_by_team_the_last_opened_first() {
    let place = Place::new().await;
    for (session, team) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")] {
        place.append(append(session, 1, vec![opened(team)])).await.unwrap();
    }
    let ids = |team: &'static str, limit| {
        let journal = &place.journal;
        async move {
            let rows = journal.sessions(team, limit).await.unwrap();
            rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>()
        }
    };
    assert_eq!(ids("x", 10).await, ["d", "c", "a"]);
    assert_eq!(ids("x", 2).await, ["d", "c"]);
    assert_eq!(ids("y", 10).await, ["b"]);
    assert_eq!(ids("z", 10).await, [] as [&str; 0]);
}

#[tokio::test]
async fn unfinished_and_due_sessions_are_found_by_partition() {
    let place = Place::new().await;
    place.journal.claim(&[(4, EPOCH)], "owner-a").await.unwrap();
    for (session, partition, state, wake_at_ms) in [
        ("active", 3, SessionState::Active, None),
        ("idle", 3, SessionState::Idle, None),
        ("late", 3, SessionState::Waiting, Some(200)),
        ("soon", 3, SessionState::Waiting, Some(100)),
        ("other", 4, SessionState::Active, Some(100)),
    ] {
        let mut turn = append(session, 1, vec![opened("team")]);
        (turn.partition, turn.state, turn.wake_at_ms) = (partition, state, wake_at_ms);
        place.append(turn).await.unwrap();
    }
    let ids = |rows: Vec<super::SessionRow>| {
        rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>()
    };
    let journal = &place.journal;
    assert_eq!(ids(journal.unfinished(&[3]).await.unwrap()), ["active"]);
    assert_eq!(ids(journal.unfinished(&[4]).await.unwrap()), ["other"]);
    assert_eq!(ids(journal.unfinished(&[5]).await.unwrap()), [] as [&str; 0]);
    assert_eq!(ids(journal.due(&[3, 4], 99).await.unwrap()), [] as [&str; 0]);
    assert_eq!(ids(journal.due(&[3], 100).await.unwrap()), ["soon"]);
    assert_eq!(ids(journal.due(&[3], 200).await.unwrap()), ["soon", "late"]);
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_the_others_stay() {
    let place = Place::new().await;
    for session in ["a", "b"] {
        let events = vec![opened("team"), progress("a secret word")];
        place.append(append(session, 1, events)).await.unwrap();
    }
    place.journal.delete(&"a".into()).await.unwrap();
    assert_eq!(place.events("a").await.unwrap(), []);
    assert_eq!(place.events("b").await.unwrap().len(), 2);
    assert_eq!(place.journal.verify().await.unwrap(), []);
    place.journal.delete(&"b".into()).await.unwrap();
    let place = place.again().await;
    let file = std::fs::read(place.folder.path().join("journal.db")).unwrap();
    assert!(!file.windows(13).any(|bytes| bytes == b"a secret word"), "erased from the file");
}

#[tokio::test]
async fn a_long_system_prompt_is_kept_once() {
    let place = Place::new().await;
    let prompt = "You are careful. ".repeat(1000);
    let started = || {
        let event = RunStarted { system_prompt: prompt.clone(), ..RunStarted::default() };
        Event::RunStarted(event)
    };
    let mut turn = append("s", 1, vec![opened("team")]);
    turn.events.extend(append("s", 2, (0..50).map(|_| started()).collect()).events);
    let expected = turn.events.clone();
    place.append(turn).await.unwrap();
    assert_eq!(place.events("s").await.unwrap(), expected);
    let place = place.again().await;
    let size = std::fs::metadata(place.folder.path().join("journal.db")).unwrap().len();
    assert!(
        size < 5 * prompt.len() as u64,
        "50 runs share a prompt, yet the file has {size} bytes"
    );
}

#[tokio::test]
async fn a_closed_journal_says_so() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    place.journal.close().await;
    let after = place.append(append("s", 2, vec![progress("late")])).await;
    assert_eq!(after, Err(AppendError::Closed));
    assert!(matches!(place.events("s").await, Err(JournalError::Closed)));
    assert!(matches!(place.journal.claim(&[], "a").await, Err(JournalError::Closed)));
    place.journal.close().await;
    let left: Vec<_> = std::fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "journal.db.lock")
        .collect();
    assert_eq!(left, ["journal.db"], "the log was moved into the file");
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

fn repeat_of(append: &Append) -> Append {
    append.clone()
}

fn other_id(mut append: Append) -> Append {
    append.append_id = Uuid::now_v7();
    append
}
