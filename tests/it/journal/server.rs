//! A server that goes away, loses an answer, fills its disk, or comes back as another one.

use std::{sync::Arc, time::Duration};

use callboard_orchestrator::journal::{
    AppendError, Journal as _, JournalError,
    postgres::{Config, PostgresJournal},
};
use callboard_tests::{Postgres, Proxy, SmallDisk, Stop, within};
use rustix::process::Signal;

use super::{EPOCH, append, opened, place, progress, texts};

/// Longer than any server here is away.
const LONG: Duration = Duration::from_mins(1);

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_secs(20);

async fn open(url: &str, patience: Duration) -> PostgresJournal {
    let config = Config { patience, ..Config::new(url) };
    let journal = PostgresJournal::open(config).await.unwrap();
    assert_eq!(journal.claim(&[(3, EPOCH)], "owner-a").await.unwrap(), [3]);
    journal
}

#[tokio::test]
async fn a_server_that_comes_back_is_waited_for() {
    let postgres = Postgres::start(&[]).await;
    let journal = open(&postgres.database().await, LONG).await;
    assert_eq!(journal.submit(append("s", 1, vec![opened("team")])).await.unwrap(), Ok(1));
    for (stop, seq) in [(Stop::Fast, 2), (Stop::Immediate, 3)] {
        postgres.stop(stop).await;
        let mut waiting = journal.submit(append("s", seq, vec![progress("patience")]));
        let read = journal.session(&"s".into()).await;
        assert!(matches!(read, Err(JournalError::Unreachable(_))), "{read:?}");
        assert!(waiting.try_recv().is_err(), "nothing is told that is not durable");
        postgres.start_again().await;
        assert_eq!(tokio::time::timeout(SOON, waiting).await.unwrap().unwrap(), Ok(seq));
    }
    assert_eq!(journal.read(&"s".into(), 0, 9).await.unwrap().len(), 3);
    assert_eq!(*journal.replaced().borrow(), 0, "it is the same one");
}

#[tokio::test]
async fn a_server_that_stays_away_is_said_to_and_nothing_is_lost() {
    let postgres = Postgres::start(&[]).await;
    let journal = open(&postgres.database().await, Duration::from_millis(300)).await;
    assert_eq!(journal.submit(append("s", 1, vec![opened("team")])).await.unwrap(), Ok(1));
    postgres.stop(Stop::Fast).await;
    let late = append("s", 2, vec![progress("two")]);
    let refused = journal.submit(late.clone()).await.unwrap();
    assert!(matches!(refused, Err(AppendError::Unreachable(_))), "{refused:?}");
    let folded = journal.read(&"s".into(), 0, 9).await;
    assert!(matches!(folded, Err(JournalError::Unreachable(_))), "{folded:?}");
    postgres.start_again().await;
    assert_eq!(texts(&journal.read(&"s".into(), 0, 9).await.unwrap()), ["session.opened"]);
    assert_eq!(journal.submit(late).await.unwrap(), Ok(2));
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_in_the_journal_once() {
    let postgres = Postgres::shared().await;
    let url = postgres.database().await;
    let proxy = Proxy::start(postgres.port()).await;
    let through = url.replace(&postgres.port().to_string(), &proxy.port().to_string());
    let journal = open(&through, LONG).await;
    let witness = place::client(&url).await;
    let mut seq = 0;
    for round in 0..5 {
        let first = if round == 0 { opened("team") } else { progress("first") };
        // So that the next append need not ask where the session is.
        let turn = append("s", seq + 1, vec![first]);
        seq += 1;
        assert_eq!(journal.submit(turn).await.unwrap(), Ok(seq));
        proxy.lose_answers(true);
        let turn = append("s", seq + 1, vec![progress("lost"), progress(&round.to_string())]);
        let mut answer = journal.submit(turn);
        seq += 2;
        let deadline = std::time::Instant::now() + SOON;
        while written(&witness).await < seq {
            assert!(std::time::Instant::now() < deadline, "it is committed");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(answer.try_recv().is_err(), "the answer is lost");
        proxy.lose_answers(false);
        proxy.cut();
        assert_eq!(tokio::time::timeout(SOON, answer).await.unwrap().unwrap(), Ok(seq));
    }
    assert_eq!(written(&witness).await, 15);
    assert_eq!(journal.read(&"s".into(), 0, 99).await.unwrap().len(), 15);
    assert_eq!(journal.verify().await.unwrap(), []);
}

async fn written(client: &tokio_postgres::Client) -> u64 {
    let row = client.query_one("SELECT count(*) FROM event", &[]).await.unwrap();
    row.get::<_, i64>(0).cast_unsigned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_server_crashes_again_and_again() {
    const SESSIONS: u64 = 8;
    let postgres = Postgres::start(&[]).await;
    let journal = Arc::new(open(&postgres.database().await, LONG).await);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let callers: Vec<_> = (0..SESSIONS)
        .map(|session| {
            let (journal, stopped) = (Arc::clone(&journal), stopped.clone());
            tokio::spawn(async move {
                let mut seq = 0;
                while !*stopped.borrow() {
                    let event = if seq == 0 { opened("team") } else { progress("more") };
                    let turn = append(&format!("s{session}"), seq + 1, vec![event]);
                    seq = journal.submit(turn).await.unwrap().unwrap();
                }
                seq
            })
        })
        .collect();
    for _ in 0..3 {
        let before = journal.commits();
        within(SOON, "appends go on", || (journal.commits() > before + 20).then_some(())).await;
        // Not the way to stop it: every process of it is gone at once.
        postgres.stop(Stop::Immediate).await;
        postgres.start_again().await;
    }
    stop.send(true).unwrap();
    for (session, caller) in (0..SESSIONS).zip(callers) {
        let acknowledged = caller.await.unwrap();
        let events = journal.read(&format!("s{session}").as_str().into(), 0, usize::MAX).await;
        assert_eq!(events.unwrap().len() as u64, acknowledged, "none lost, none twice");
    }
    assert_eq!(journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn what_a_broken_connection_had_begun_is_ended_before_it_is_done_again() {
    let postgres = Postgres::shared().await;
    let url = postgres.database().await;
    let proxy = Proxy::start(postgres.port()).await;
    let through = url.replace(&postgres.port().to_string(), &proxy.port().to_string());
    let journal = open(&through, LONG).await;
    // Somebody holds up the statement on the server while the connection to it breaks.
    let holder = place::client(&url).await;
    holder.batch_execute("BEGIN; LOCK TABLE partition").await.unwrap();
    let answer = journal.submit(append("s", 1, vec![opened("team")]));
    let first = blocked(postgres, &holder, 0).await;
    proxy.cut();
    let second = blocked(postgres, &holder, first).await;
    assert_ne!(first, second, "the first was ended, the second waits in its place");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(tokio::time::timeout(SOON, answer).await.unwrap().unwrap(), Ok(1));
    assert_eq!(journal.read(&"s".into(), 0, 9).await.unwrap().len(), 1);
}

/// The server's process, other than `known`, that waits for what `holder` has locked, once it is
/// the only one.
async fn blocked(postgres: &Postgres, holder: &tokio_postgres::Client, known: i32) -> i32 {
    let row = holder.query_one("SELECT current_database()::text", &[]).await.unwrap();
    let sql = "SELECT pid FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = $1 AND application_name LIKE 'callboard %'";
    let admin = postgres.admin("postgres").await;
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let rows = admin.query(sql, &[&row.get::<_, String>(0)]).await.unwrap();
        if let [row] = &rows[..]
            && row.get::<_, i32>(0) != known
        {
            return row.get(0);
        }
        assert!(std::time::Instant::now() < deadline, "the append waits for the lock");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_that_came_back_as_another_voids_every_claim() {
    let postgres = Postgres::start(&[]).await;
    let journal = open(&postgres.database().await, LONG).await;
    let mut replaced = journal.replaced();
    assert_eq!(journal.submit(append("s", 1, vec![opened("team")])).await.unwrap(), Ok(1));
    postgres.stop(Stop::Fast).await;
    postgres.start_promoted().await;
    let stale = journal.submit(append("s", 2, vec![progress("under the old claim")]));
    assert_eq!(tokio::time::timeout(SOON, stale).await.unwrap().unwrap(), Err(AppendError::Fenced));
    tokio::time::timeout(SOON, replaced.changed()).await.unwrap().unwrap();
    assert_eq!(*replaced.borrow(), 1);
    assert_eq!(journal.claim(&[(3, EPOCH)], "owner-a").await.unwrap(), [3]);
    assert_eq!(journal.submit(append("s", 2, vec![progress("anew")])).await.unwrap(), Ok(2));
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers_by_itself() {
    let disk = SmallDisk::new(24 * 1024);
    let postgres = Postgres::start(&[]).await;
    let admin = postgres.admin("postgres").await;
    for sql in [
        format!("CREATE TABLESPACE small OWNER callboard LOCATION '{}'", disk.path().display()),
        "CREATE DATABASE small OWNER callboard TABLESPACE small".to_owned(),
    ] {
        admin.batch_execute(&sql).await.unwrap();
    }
    let journal = open(&postgres.url("small"), LONG).await;
    assert_eq!(journal.submit(append("s", 1, vec![opened("team")])).await.unwrap(), Ok(1));
    disk.fill();
    // Text that no compression makes small.
    let noise: String = (0..100_000).map(|_| fastrand::alphanumeric()).collect();
    let large = append("s", 2, vec![progress(&noise)]);
    let refused = journal.submit(large.clone()).await.unwrap();
    assert!(matches!(refused, Err(AppendError::Full(_))), "{refused:?}");
    assert_eq!(journal.read(&"s".into(), 0, 9).await.unwrap().len(), 1, "reading goes on");
    disk.empty();
    assert_eq!(journal.submit(large).await.unwrap(), Ok(2));
    assert_eq!(journal.verify().await.unwrap(), []);
    journal.close().await;
    drop(admin);
    postgres.stop(Stop::Fast).await;
}

/// On the server's own disk, where no statement of ours was near.
#[tokio::test]
async fn a_byte_flipped_in_the_servers_files_is_named_by_session_and_event() {
    let postgres = Postgres::start(&[]).await;
    let url = postgres.database().await;
    let journal = open(&url, LONG).await;
    for session in ["a", "b"] {
        let says = |seq| progress(&format!("{session} says {seq}, in its own words"));
        let events = vec![opened("team"), says(2), says(3)];
        assert_eq!(journal.submit(append(session, 1, events)).await.unwrap(), Ok(3));
    }
    let row = place::client(&url).await;
    let row = row.query_one("SELECT pg_relation_filepath('event')", &[]).await.unwrap();
    let file = postgres.data().join(row.get::<_, String>(0));
    postgres.stop(Stop::Fast).await;
    let mut bytes = std::fs::read(&file).unwrap();
    let text = b"b says 2, in its own words";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at + 10] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    postgres.start_again().await;
    let error = journal.read(&"b".into(), 0, 9).await.unwrap_err();
    assert_eq!(error.to_string(), "session b is damaged at event 2: it was changed");
    assert_eq!(journal.read(&"a".into(), 0, 9).await.unwrap().len(), 3);
    let damages = journal.verify().await.unwrap();
    assert_eq!(damages.len(), 1);
    assert_eq!((damages[0].session.clone(), damages[0].seq), (Some("b".into()), Some(2)));
}

#[tokio::test]
async fn a_stopped_process_of_the_server_is_no_reason_to_wait_for_ever() {
    let postgres = Postgres::start(&[]).await;
    let config = Config { open_wait: Duration::ZERO, ..Config::new(postgres.database().await) };
    postgres.signal(Signal::STOP);
    // The kernel still accepts connections for it.
    let opened = tokio::time::timeout(SOON, PostgresJournal::open(config)).await;
    postgres.signal(Signal::CONT);
    let error = opened.unwrap().unwrap_err();
    assert!(error.to_string().contains("it does not answer in time"), "{error}");
}
