//! The file of one machine on a disk that is full or read only.

use callboard_orchestrator::journal::{
    AppendError, Journal as _, JournalError,
    sqlite::{Config, SqliteJournal},
};
use callboard_tests::SmallDisk;

use super::{EPOCH, append, opened, progress};

async fn open(disk: &SmallDisk) -> Result<SqliteJournal, JournalError> {
    SqliteJournal::open(Config::new(disk.path().join("journal.db"))).await
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers_by_itself() {
    let name = "journal::disk::a_full_disk_refuses_and_recovers_by_itself";
    let Some(disk) = SmallDisk::inside(1024, name).await else { return };
    let journal = open(&disk).await.unwrap();
    assert_eq!(journal.claim(&[(3, EPOCH)], "owner-a").await.unwrap(), [3]);
    assert_eq!(journal.submit(append("s", 1, vec![opened("team")])).await.unwrap(), Ok(1));
    disk.fill();
    let large = append("s", 2, vec![progress(&"x".repeat(100_000))]);
    let refused = journal.submit(large.clone()).await.unwrap();
    assert!(matches!(refused, Err(AppendError::Full(_))), "{refused:?}");
    assert_eq!(journal.read(&"s".into(), 0, 9).await.unwrap().len(), 1, "reading goes on");
    assert_eq!(journal.sessions("team", 9).await.unwrap().len(), 1);
    disk.empty();
    assert_eq!(journal.submit(large).await.unwrap(), Ok(2));
    assert_eq!(journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_disk_that_is_full_at_the_start_is_said_to_be() {
    let name = "journal::disk::a_disk_that_is_full_at_the_start_is_said_to_be";
    let Some(disk) = SmallDisk::inside(256, name).await else { return };
    disk.fill();
    let error = open(&disk).await.unwrap_err();
    assert!(
        error.to_string().to_lowercase().contains("full") || error.to_string().contains("space"),
        "{error}"
    );
    disk.empty();
    open(&disk).await.unwrap();
}

#[tokio::test]
async fn a_read_only_disk_is_refused_by_name_and_nothing_is_lost() {
    let name = "journal::disk::a_read_only_disk_is_refused_by_name_and_nothing_is_lost";
    let Some(disk) = SmallDisk::inside(1024, name).await else { return };
    let journal = open(&disk).await.unwrap();
    assert_eq!(journal.claim(&[(3, EPOCH)], "owner-a").await.unwrap(), [3]);
    assert_eq!(journal.submit(append("s", 1, vec![opened("team")])).await.unwrap(), Ok(1));
    journal.close().await;
    disk.set_read_only(true);
    let error = open(&disk).await.unwrap_err();
    let path = disk.path().join("journal.db").display().to_string();
    assert!(error.to_string().contains(&path), "{error}");
    assert!(error.to_string().contains("Read-only file system"), "{error}");
    disk.set_read_only(false);
    let journal = open(&disk).await.unwrap();
    assert_eq!(journal.read(&"s".into(), 0, 9).await.unwrap().len(), 1);
}
