//! Opening a journal: by many at once, by the wrong program, with the wrong words.

use std::time::Duration;

use callboard_orchestrator::journal::{
    JournalError,
    postgres::{self, PostgresJournal},
};
use callboard_tests::{PASSWORD_IN_URL, Postgres};

use super::{
    append, opened,
    place::{Backend, Place, on_both},
};

#[tokio::test]
async fn a_newer_journal_is_refused_and_left_as_it_is() {
    on_both(async |place| {
        place.append(append("s", 1, vec![opened("team")])).await.unwrap();
        place.journal.close().await;
        let known = place.backend.schema();
        let newer = known + 1;
        place.backend.store_settings(newer, 1, 256).await;
        let error = place.backend.open().await.err().unwrap();
        let says = format!(
            "the journal has schema {newer}, this program knows up to {known}; use a newer one"
        );
        assert_eq!(error.to_string(), says);
        assert!(matches!(place.backend.inspect().await, Err(JournalError::Newer { .. })));
        place.backend.store_settings(known, 1, 256).await;
        let place = Place::new(place.backend).await;
        assert_eq!(place.events("s").await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn changed_settings_are_refused() {
    on_both(async |place| {
        place.journal.close().await;
        place.execute("UPDATE journal SET generation = 9").await;
        let error = place.backend.open().await.err().unwrap().to_string();
        assert!(error.ends_with("its settings were changed; put a backup in its place"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn there_is_nothing_to_inspect_before_the_first_start() {
    for backend in [Backend::sqlite(), Backend::postgres().await] {
        assert_eq!(backend.inspect().await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_make_the_same_journal_at_once() {
    let backend = Backend::postgres().await;
    let opened = futures_util::future::join_all((0..12).map(|_| backend.open())).await;
    for journal in opened {
        assert_eq!(journal.unwrap().partitions().await.unwrap(), 256);
    }
    assert_eq!(backend.number("SELECT count(*) FROM journal").await, 1);
}

#[tokio::test]
async fn a_file_is_held_by_one_process_at_a_time() {
    let place = Place::new(Backend::sqlite()).await;
    let error = place.backend.open().await.err().unwrap();
    let pid = std::process::id().to_string();
    assert!(matches!(&error, JournalError::InUse { holder, .. } if holder.contains(&pid)));
    assert!(error.to_string().contains("choose another state folder"), "{error}");
}

/// What `url` is refused with; the password is never part of it.
async fn refused(url: String) -> JournalError {
    let config =
        postgres::Config { open_wait: Duration::from_millis(300), ..postgres::Config::new(url) };
    let error = PostgresJournal::open(config).await.err().unwrap();
    assert!(!error.to_string().contains("p%40ss") && !error.to_string().contains("p@ss"));
    error
}

#[tokio::test]
async fn wrong_words_are_refused_at_once_with_a_way_out() {
    let postgres = Postgres::shared().await;
    let url = postgres.database().await;
    let check = async |url: String, says: &[&str]| {
        let error = refused(url).await;
        assert!(matches!(error, JournalError::Unusable { .. }), "{error:?}");
        let error = error.to_string();
        assert!(says.iter().all(|word| error.contains(word)), "{error}");
    };
    let place = format!("postgresql://127.0.0.1:{}/journal", postgres.port());
    check(
        url.replace(PASSWORD_IN_URL, "p%40ss-but-wrong"),
        &[&place, "password authentication failed", "`orchestrator.journal.url`"],
    )
    .await;
    check(url.replace("callboard:", "nobody:"), &["password authentication failed", "\"nobody\""])
        .await;
    check(postgres.url("missing"), &["database \"missing\" does not exist", "create it"]).await;
    check(format!("{url}?sslmode=require"), &["does not support TLS"]).await;
    check("postgresql://cb:p%40ss@host:port/x".to_owned(), &["`url` cannot be read"]).await;
    // The database of the superuser, in which our user may make nothing.
    check(postgres.url("postgres"), &["permission denied", "grant"]).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_to_be_away() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused(format!("postgresql://cb:p%40ss@127.0.0.1:{port}/x")).await;
    assert!(matches!(error, JournalError::Unreachable(_)), "{error:?}");
    let says = format!("postgresql://127.0.0.1:{port}/x: Connection refused");
    assert!(error.to_string().contains(&says), "{error}");
    let error = refused("postgresql://cb:p%40ss@no-such-host.invalid/x".to_owned()).await;
    assert!(matches!(error, JournalError::Unreachable(_)), "{error:?}");
}
