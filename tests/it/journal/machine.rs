//! The whole program on one machine, its journal in a file: syncs that fail, a disk that turns read only,
//! a second instance on the same state, a raised generation. Nothing acknowledged is lost, no call is
//! made twice, and a person reads what to do.

use std::time::Duration;

use callboard_orchestrator::journal::sqlite::SqliteJournal;
use callboard_tests::{Callboard, Events, LEDGER_TOOLS, OneMachine, SmallDisk, within};
use futures_util::future::join_all;
use serde_json::Value;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);

/// What must hold whatever happened: every run ended well, no call was started twice, and the journal
/// holds what was told.
pub(crate) async fn check(machine: &OneMachine, runs: &[(Value, Vec<Value>)]) {
    for (run, _) in runs {
        assert_eq!(run["status"], "completed", "{run}");
        assert_eq!(run["tool_calls"][0]["status"], "ok", "{run}");
    }
    let twice = machine.twice();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(SqliteJournal::inspect(&machine.journal()).await.unwrap(), []);
    let file = rusqlite::Connection::open(machine.journal()).unwrap();
    let sql = "SELECT e.type FROM event e JOIN session s ON s.key = e.session
        WHERE s.id = ?1 AND e.seq = ?2";
    for (run, facts) in runs {
        for fact in facts {
            let values = (run["session"].as_str().unwrap(), fact["seq"].as_i64().unwrap());
            let kind: String = file.query_row(sql, values, |row| row.get(0)).unwrap();
            assert_eq!(kind, fact["type"].as_str().unwrap(), "{fact}");
        }
    }
}

/// The results of these runs, each with all that was told of it.
async fn results(streams: Vec<Events>) -> Vec<(Value, Vec<Value>)> {
    let all = join_all(streams.into_iter().map(async |mut events| {
        let run = events.result().await;
        (run, events.facts)
    }));
    tokio::time::timeout(SOON, all).await.expect("every run ends")
}

/// Runs go on under an orchestrator for which what `inject` says fails, and under another one when it
/// has ended.
async fn fails(inject: &str) {
    let machine = OneMachine::start(None).await;
    let mut first = machine.failing_orchestrator(inject);
    machine.offers_ledger().await;
    let begun = join_all(LEDGER_TOOLS.map(|tool| machine.begin(tool)));
    let ends = async {
        let ended = tokio::time::timeout(SOON, first.wait()).await.expect("it ends by itself");
        assert_eq!(ended.unwrap().code(), Some(1), "{}", machine.said());
        let said = machine.said();
        assert!(said.contains("the journal's disk failed"), "{said}");
        assert_eq!(said.matches("journal stopped").count(), 1, "{said}");
        machine.orchestrator(&[])
    };
    let (mut streams, _second) = tokio::join!(begun, ends);
    streams.push(machine.begin("ledger_add").await);
    let runs = results(streams).await;
    check(&machine, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_sync_that_fails_ends_the_process_and_loses_nothing() {
    // Once only: a second try would be told that all is well.
    for when in [4, 6] {
        fails(&format!("fdatasync,fsync:error=EIO:when={when}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_disk_that_turns_read_only_ends_the_process_and_loses_nothing() {
    fails("write,pwrite64:error=EROFS:when=24+").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_read_only_state_is_refused_by_name_and_goes_on_when_it_is_not() {
    let name = "journal::machine::a_read_only_state_is_refused_by_name_and_goes_on_when_it_is_not";
    let Some(disk) = SmallDisk::inside(32 * 1024, name).await else { return };
    let callboard = Callboard::new().env("XDG_STATE_HOME", disk.path().to_str().unwrap());
    let asked = callboard.run(&["ask", "What is 6 * 7?"]).await.expect(0);
    assert!(asked.stdout.contains("42"), "{asked:?}");
    callboard.nothing_is_left().await;
    disk.set_read_only(true);
    let refused = callboard.run(&["ask", "What is 6 * 8?"]).await;
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("ead-only file system"), "{refused:?}");
    callboard.nothing_is_left().await;
    disk.set_read_only(false);
    let again = callboard.run(&["ask", "What is 6 * 8?"]).await.expect(0);
    assert!(again.stdout.contains("48"), "{again:?}");
    let listed = callboard.run(&["sessions", "list"]).await.expect(0);
    assert!(listed.stdout.contains("6 * 7") && listed.stdout.contains("6 * 8"), "{listed:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_second_instance_on_one_state_is_refused_and_disturbs_nobody() {
    let machine = OneMachine::start(None).await;
    let first = machine.orchestrator(&[]);
    machine.offers_ledger().await;
    let streams = join_all(LEDGER_TOOLS.map(|tool| machine.begin(tool))).await;
    let mut second = machine.orchestrator(&[]);
    let ended = tokio::time::timeout(SOON, second.wait()).await.expect("it ends by itself");
    assert_eq!(ended.unwrap().code(), Some(1));
    let holder = format!("is in use by process {}", first.id().unwrap());
    let said = machine.said();
    assert!(said.contains(&holder) && said.contains("choose another state folder"), "{said}");
    let mut runs = results(streams).await;
    runs.extend(results(vec![machine.begin("ledger_add").await]).await);
    check(&machine, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_journal_of_another_generation_goes_on_under_it() {
    let machine = OneMachine::start(None).await;
    let mut first = machine.orchestrator(&[]);
    machine.offers_ledger().await;
    let mut runs = results(vec![machine.begin("ledger_add").await]).await;
    let raise = ["journal", "raise-generation"];
    let refused = machine.run(&raise).await;
    assert!(refused.code != 0 && refused.stderr.contains("is in use by process"), "{refused:?}");
    let stream = machine.begin("ledger_put").await;
    first.start_kill().unwrap();
    first.wait().await.unwrap();
    let raised = machine.run(&raise).await.expect(0);
    assert!(raised.stdout.contains("generation 2"), "{raised:?}");
    let _second = machine.orchestrator(&[]);
    runs.extend(results(vec![stream, machine.begin("ledger_add").await]).await);
    check(&machine, &runs).await;
    let file = rusqlite::Connection::open(machine.journal()).unwrap();
    let all = "SELECT count(*) FROM partition WHERE generation = 2";
    within(SOON, "all is claimed under the new generation", || {
        let claimed: i64 = file.query_row(all, [], |row| row.get(0)).unwrap();
        (claimed == 256).then_some(())
    })
    .await;
    let falls = "SELECT count(*) FROM (SELECT generation < lag(generation)
        OVER (PARTITION BY session ORDER BY seq) AS falls FROM event) WHERE falls";
    let falls: i64 = file.query_row(falls, [], |row| row.get(0)).unwrap();
    assert_eq!(falls, 0, "generations never fall");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_flipped_byte_is_the_trouble_of_one_session_and_named() {
    let machine = OneMachine::start(None).await;
    let mut first = machine.orchestrator(&[]);
    machine.offers_ledger().await;
    let begun = join_all(LEDGER_TOOLS.map(|tool| machine.begin(tool))).await;
    let mut runs = results(begun).await;
    first.start_kill().unwrap();
    first.wait().await.unwrap();
    let log = machine.journal().with_extension("db-wal");
    let whole = std::fs::read(&log).unwrap();
    let mut flipped = whole.clone();
    // In the middle of what was acknowledged.
    flipped[whole.len() / 2] ^= 1;
    std::fs::write(&log, &flipped).unwrap();
    let mut refused = machine.orchestrator(&[]);
    let ended = tokio::time::timeout(SOON, refused.wait()).await.expect("it ends by itself");
    assert_eq!(ended.unwrap().code(), Some(1));
    assert!(machine.said().contains("its log is damaged at frame"), "{}", machine.said());
    std::fs::write(&log, &whole).unwrap();

    let damaged = runs.remove(1).0["session"].as_str().unwrap().to_owned();
    let file = rusqlite::Connection::open(machine.journal()).unwrap();
    let sql = "UPDATE event SET payload = CAST(substr(payload, 1, length(payload) - 1) || x'7e'
        AS BLOB) WHERE seq = 4 AND session = (SELECT key FROM session WHERE id = ?1)";
    assert_eq!(file.execute(sql, [&damaged]).unwrap(), 1);
    drop(file);
    let _second = machine.orchestrator(&[]);
    machine.offers_ledger().await;
    for (run, _) in &runs {
        let path = format!("/v1/sessions/{}", run["session"].as_str().unwrap());
        assert_eq!(machine.get(&path).await.0, 200);
    }
    let (status, body) = machine.get(&format!("/v1/sessions/{damaged}")).await;
    assert_eq!((status, body["reason"].as_str()), (500, Some("session_damaged")), "{body}");
    assert!(body["detail"].as_str().unwrap().contains("event 4"), "{body}");
    let doctor = machine.run(&["doctor"]).await;
    assert!(doctor.stdout.contains(&damaged) && doctor.stdout.contains("event 4"), "{doctor:?}");
    let more = results(vec![machine.begin("ledger_add").await]).await;
    assert_eq!(more[0].0["status"], "completed");
    assert!(machine.twice().is_empty());
}
