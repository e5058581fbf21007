//! A session that is removed is forgotten by the services that kept something of its calls, whatever dies
//! in between.

use std::{path::Path, time::Duration};

use callboard_orchestrator::crash::OF_REMOVAL;
use callboard_tests::{Cluster, Etcd, LEDGER_KEEP, Member, Postgres, ledger_if_asked, within};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::failover::{check, count};

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);
/// The test that a process of a ledger runs.
const LEDGER: &str = "removal::a_ledger_where_one_is_asked_for";

#[test]
fn a_ledger_where_one_is_asked_for() {
    ledger_if_asked();
}

/// How many outcomes and intents a store keeps of a session.
fn kept(store: &Path, session: &str) -> (i64, i64) {
    let read =
        Connection::open_with_flags(store.join("calls.db"), OpenFlags::SQLITE_OPEN_READ_ONLY);
    let count = |sql: &str| {
        let read = read.as_ref().unwrap();
        read.query_row(sql, [session], |row| row.get(0)).unwrap()
    };
    (
        count("SELECT count(*) FROM call WHERE session = ?1 AND is_forgotten = 0"),
        count("SELECT count(*) FROM undo WHERE session = ?1"),
    )
}

/// A run of a new session in which the service keeps something.
async fn made(cluster: &Cluster, gateway: &Member) -> (String, Value) {
    let mut events = cluster.begin(gateway, LEDGER_KEEP, Duration::ZERO).await;
    let run = events.result().await;
    (events.session.clone(), run)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_forget_a_removed_session_whoever_dies_meanwhile() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::of_processes(&etcd, postgres, "rebalance_after_ms = 600000\n").await;
    let store = cluster.callboard.home().join("one");
    let _service = cluster.ledger_process(LEDGER, "one");
    for point in OF_REMOVAL {
        let mut owner = cluster.orchestrator(&[("CALLBOARD_CRASH_POINT", point)]);
        cluster.settled(1).await;
        let gateway = cluster.gateway().await;
        cluster.offers_ledger(&gateway).await;
        let (stays, first) = made(&cluster, &gateway).await;
        let (gone, second) = made(&cluster, &gateway).await;
        assert_eq!((kept(&store, &stays), kept(&store, &gone)), ((1, 1), (1, 1)));
        check(&cluster, &[first, second]).await;
        let url = format!("{}/v1/sessions/{gone}", gateway.url);
        let delete = cluster.client().delete(&url).send();
        // What the client hears depends on when the owner dies.
        let (answer, ended) = tokio::join!(delete, owner.ended());
        assert_eq!(ended, None, "{point}: a signal ended it");
        let _next = cluster.orchestrator(&[]);
        within(SOON, "the store forgets it", || (kept(&store, &gone) == (0, 0)).then_some(()))
            .await;
        let deadline = std::time::Instant::now() + SOON;
        let left = format!("SELECT count(*) FROM session WHERE id LIKE '%{gone}%'");
        while count(&cluster, &left).await > 0 {
            let answer = answer.as_ref().map(reqwest::Response::status);
            assert!(std::time::Instant::now() < deadline, "{point}: it stays: {answer:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(kept(&store, &stays), (1, 1), "another session keeps what it has");
        cluster.settled(1).await;
        let found = cluster.client().get(&url).send().await.unwrap();
        assert_eq!(found.status(), 404, "{point}");
    }
}
