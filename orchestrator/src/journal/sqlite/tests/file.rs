//! The files of a journal: who may open them, and what a bad disk does.

use std::os::unix::fs::PermissionsExt as _;

use futures_util::FutureExt as _;

use super::*;
use crate::journal::row::Settings;

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_are_for_their_owner_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("state/journal.db");
    let journal = SqliteJournal::open(Config::new(&path)).await.unwrap();
    journal.claim(&[(3, EPOCH)], "a").await.unwrap();
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let mut count = 0;
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
        count += 1;
    }
    assert_eq!(count, 4, "journal, log, its index, lock");
}

#[tokio::test]
async fn a_journal_in_use_names_its_holder() {
    let place = Place::new().await;
    let path = place.folder.path().join("journal.db");
    let config = Config { lock_wait: Duration::ZERO, ..Config::new(&path) };
    let error = SqliteJournal::open(config).await.unwrap_err();
    let (path, pid) = (path.display(), std::process::id());
    assert_eq!(
        error.to_string(),
        format!(
            "the journal {path} is in use by process {pid}; stop it or choose another state folder"
        )
    );
}

#[tokio::test]
async fn opening_waits_a_little_for_a_holder_that_is_about_to_go() {
    let place = Place::new().await;
    let config = Config { lock_wait: SOON, ..Config::new(place.folder.path().join("journal.db")) };
    let opening = SqliteJournal::open(config);
    tokio::pin!(opening);
    assert!((&mut opening).now_or_never().is_none());
    place.journal.close().await;
    opening.await.unwrap();
}

#[tokio::test]
async fn a_journal_that_is_dropped_is_closed_and_loses_nothing() {
    let place = Place::new().await;
    let answer = place.journal.submit(append("s", 1, vec![opened("team")]));
    let Place { folder, journal } = place;
    drop(journal);
    assert_eq!(answer.await.unwrap(), Ok(1));
    let events = open(&folder).await.read(&"s".into(), 0, 9).await.unwrap();
    assert_eq!(events.len(), 1);
}

#[tokio::test]
async fn a_newer_journal_is_refused() {
    let place = Place::new().await;
    place.journal.close().await;
    let path = place.folder.path().join("journal.db");
    let newer = Settings { schema: 2, generation: 1, partitions: 256 };
    newer.store(&rusqlite::Connection::open(&path).unwrap()).unwrap();
    let error = SqliteJournal::open(Config::new(path)).await.unwrap_err();
    let says = "the journal has schema 2, this program knows up to 1; use a newer one";
    assert_eq!(error.to_string(), says);
}

#[tokio::test]
async fn what_is_no_journal_is_refused_and_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    std::fs::write(&path, "These are somebody's notes, and no database at all.\n").unwrap();
    let error = SqliteJournal::open(Config::new(&path)).await.unwrap_err();
    assert!(matches!(error, JournalError::Unusable { .. }), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("These are somebody's notes"));

    let path = folder.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(other);
    let error = SqliteJournal::open(Config::new(&path)).await.unwrap_err();
    let path = path.display();
    assert_eq!(
        error.to_string(),
        format!("the journal {path} cannot be used: it is no journal of this program")
    );
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    let error = SqliteJournal::open(Config::new("/dev/null/journal.db")).await.unwrap_err();
    let says = "the journal /dev/null/journal.db cannot be used: ";
    assert!(error.to_string().starts_with(says), "{error}");
}

#[tokio::test]
async fn a_journal_can_be_inspected_while_it_is_in_use() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    let path = place.folder.path().join("journal.db");
    assert_eq!(SqliteJournal::inspect(&path).await.unwrap(), []);
    place.execute("UPDATE session SET team = 'x'").await;
    assert_eq!(SqliteJournal::inspect(&path).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers_by_itself() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    place.execute("PRAGMA max_page_count = 1").await;
    let large = || append("s", 2, vec![progress(&"x".repeat(100_000))]);
    assert!(matches!(place.append(large()).await, Err(AppendError::Full(_))));
    assert_eq!(place.events("s").await.unwrap().len(), 1, "reading goes on");
    let claim = place.journal.claim(&[(3, EPOCH)], "owner-a").await;
    assert_eq!(claim.unwrap(), [3], "what needs no space goes on");
    place.execute("PRAGMA max_page_count = 100000").await;
    assert_eq!(place.append(large()).await, Ok(2));
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn another_process_that_holds_the_database_is_named_not_waited_for() {
    let place = Place::new().await;
    let other = rusqlite::Connection::open(place.folder.path().join("journal.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = place.append(append("s", 1, vec![opened("team")])).await;
    let says = AppendError::Backend("database is locked by another process".to_owned());
    assert_eq!(refused, Err(says));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(place.append(append("s", 1, vec![opened("team")])).await, Ok(1));
}

#[tokio::test]
async fn the_log_does_not_grow_without_bound() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    // A reader that looks at an old state keeps the log from being begun anew.
    let reader = rusqlite::Connection::open(place.folder.path().join("journal.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM event").unwrap();
    let text = "x".repeat(1_000_000);
    for seq in 2..=10 {
        place.append(append("s", seq, vec![progress(&text)])).await.unwrap();
    }
    reader.execute_batch("COMMIT").unwrap();
    for seq in 11..=30 {
        place.append(append("s", seq, vec![progress(&text)])).await.unwrap();
    }
    let log = std::fs::metadata(place.folder.path().join("journal.db-wal")).unwrap().len();
    assert!(log < 16_000_000, "the log of a 30 MB journal has {log} bytes");
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn changed_settings_or_tables_are_refused() {
    let check = async |sql: &str, says: &str| {
        let place = Place::new().await;
        place.journal.close().await;
        let path = place.folder.path().join("journal.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = SqliteJournal::open(Config::new(path)).await.unwrap_err();
        assert!(error.to_string().ends_with(says), "{error}");
    };
    let settings = "its settings were changed; put a backup in its place";
    check("UPDATE journal SET partitions = 512", settings).await;
    check("UPDATE journal SET generation = 9", settings).await;
    let tables = "its tables were changed; put a backup in its place";
    check("DROP INDEX session_wake", tables).await;
    check("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END", tables).await;
}
