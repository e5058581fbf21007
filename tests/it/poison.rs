//! A session whose events cannot be folded, or whose folding panics, is refused by itself: its process
//! lives, nobody wakes it again and again, others go on, and it can still be saved and removed.

use std::{path::PathBuf, time::Duration};

use callboard_orchestrator::{
    crash::POISON,
    journal::{
        Append, Epoch, Journal, SessionState,
        sqlite::{Config, SqliteJournal},
    },
    run::{
        event::{CallSettled, Event, OwnerTaken, Recorded},
        ids::SessionId,
    },
};
use callboard_tests::{Callboard, Cluster, Etcd, Postgres, Stack, processes_of};
use serde_json::{Value, json};

use crate::failover::check;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);

fn journal_of(callboard: &Callboard) -> PathBuf {
    let states = std::fs::read_dir(callboard.home().join("state/callboard")).unwrap();
    let state = states.map(|state| state.unwrap().path()).find(|state| state.is_dir()).unwrap();
    state.join("journal.db")
}

/// Appends an event to a session as its owner would, in a journal that nobody holds. The session has
/// something to do afterwards: it is to be woken, at once or at a moment that has passed.
async fn plant(callboard: &Callboard, session: &str, event: Event, state: SessionState) -> u64 {
    let path = journal_of(callboard);
    let journal = SqliteJournal::open(Config::new(&path)).await.unwrap();
    let id = SessionId::from(session);
    let row = journal.session(&id).await.unwrap().unwrap();
    let claim = rusqlite::Connection::open(&path).unwrap();
    let (generation, revision, owner): (i64, i64, String) = claim
        .query_row(
            "SELECT generation, revision, owner FROM partition WHERE id = ?1",
            [row.partition],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    let epoch =
        Epoch { generation: generation.cast_unsigned(), revision: revision.cast_unsigned() };
    let claimed = journal.claim(&[(row.partition, epoch)], &owner).await.unwrap();
    assert_eq!(claimed, [row.partition]);
    let seq = row.last_seq + 1;
    let append = Append {
        session: id,
        partition: row.partition,
        epoch,
        append_id: uuid::Uuid::now_v7(),
        expected_seq: seq,
        events: vec![Recorded {
            seq,
            wall_ms: row.updated_ms,
            elapsed_ms: 0,
            trace_context: String::new(),
            event,
        }],
        state,
        wake_at_ms: Some(1),
    };
    assert_eq!(journal.submit(append).await.unwrap(), Ok(seq));
    journal.close().await;
    seq
}

async fn asked(callboard: &Callboard, input: &str) -> String {
    let run = callboard.run(&["ask", "--json", input]).await.expect(0).json();
    run["session"].as_str().unwrap().to_owned()
}

fn orchestrator(callboard: &Callboard) -> u32 {
    let processes = processes_of(callboard.home());
    let found = processes.iter().find(|(_, command)| command.contains("serve orchestrator"));
    found.unwrap().0
}

async fn status(stack: &Stack) -> Value {
    let answer = stack.client().get(format!("{}/v1/status", stack.url)).send().await.unwrap();
    answer.json().await.unwrap()
}

/// Waits until the figures of the stack are so.
async fn until(stack: &Stack, what: &str, is_so: impl Fn(&Value) -> bool) {
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let found = status(stack).await;
        if is_so(&found) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{what}: {found}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_folded_is_refused_alone_and_not_tried_for_ever() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let astray = asked(&callboard, "What is 6 * 7?").await;
    let poisoned = asked(&callboard, "What is 2 + 3?").await;
    let sound = asked(&callboard, "What is 9 - 1?").await;
    assert_eq!(stack.stop().await, 0);
    let strange = Event::CallSettled(CallSettled::default());
    let taken = Event::OwnerTaken(OwnerTaken { owner: POISON.to_owned() });
    let at = plant(&callboard, &astray, strange, SessionState::Waiting).await;
    let panics_at = plant(&callboard, &poisoned, taken, SessionState::Active).await;

    let stack = callboard.up(&[]).await;
    let pid = orchestrator(&callboard);
    until(&stack, "both are refused", |it| it["refused_sessions"] == json!(2)).await;
    // The list of what is due is gone through every second.
    until(&stack, "it goes on", |it| it["uptime_seconds"].as_u64() > Some(4)).await;
    for (session, seq) in [(&astray, at), (&poisoned, panics_at)] {
        let url = format!("{}/v1/sessions/{session}", stack.url);
        let body = json!({"input": "What is 1 + 1?", "wait": true});
        let run = stack.client().post(format!("{url}/runs")).json(&body).send().await.unwrap();
        for answer in [stack.client().get(&url).send().await.unwrap(), run] {
            assert_eq!(answer.status(), 500);
            let problem: Value = answer.json().await.unwrap();
            let detail = problem["detail"].as_str().unwrap();
            assert_eq!(problem["reason"], "session_damaged", "{problem}");
            let words = [
                session.clone(),
                format!("event {seq}"),
                format!("`callboard sessions export {session}`"),
                "`callboard doctor`".to_owned(),
            ];
            assert!(words.iter().all(|words| detail.contains(words)), "{detail}");
        }
        // Everything that can be read is saved.
        let export = callboard.run(&["sessions", "export", session]).await.expect(0).stdout;
        assert_eq!(export.lines().count() as u64, 1 + seq);
    }
    let more = callboard.run(&["ask", "--session", &sound, "What is 6 * 6?"]).await.expect(0);
    assert!(more.stdout.contains("36"), "{more:?}");

    let doctor = callboard.run(&["doctor"]).await.expect(1);
    assert!(doctor.stdout.contains(&astray) && doctor.stdout.contains(&poisoned), "{doctor:?}");
    assert!(!doctor.stdout.contains(&sound), "{doctor:?}");
    assert_eq!(orchestrator(&callboard), pid, "it is the same process");
    let logged = std::fs::read_to_string(callboard.home().join("up.err")).unwrap();
    for session in [&astray, &poisoned] {
        let woken = logged.lines().filter(|it| it.contains("quarantined") && it.contains(session));
        assert_eq!(woken.count(), 1, "{logged}");
    }
    // Whoever has no use for it removes it, although it has something to do.
    let _ = callboard.run(&["sessions", "delete", &astray]).await.expect(0);
    until(&stack, "one is left", |it| it["refused_sessions"] == json!(1)).await;
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actor_that_panics_once_is_folded_anew_and_its_run_goes_on() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "").await;
    let owner = cluster.orchestrator(&[("CALLBOARD_CRASH_POINT", "append.after_durable:3:panic")]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut events = cluster.begin(&gateway, "ledger_add", Duration::ZERO).await;
    let run = events.result().await;
    assert!(cluster.said("orchestrator").contains("crossed append.after_durable"));
    assert!(owner.runs());
    check(&cluster, &[run]).await;
}
