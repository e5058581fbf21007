//! The whole program while its database is away: runs are paused and say why, and go on by themselves.

use std::time::{Duration, Instant};

use callboard_tests::{Cluster, Etcd, Events, LEDGER_TOOLS, Member, Postgres, Stop, within};
use futures_util::future::join_all;
use serde_json::Value;

use crate::failover::{begin, check, results};

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);
/// What tells a person why a run is paused.
const WHY: &str = "the journal's database does not answer";

/// What `/readyz` says of the journal, once its status is `status`.
async fn ready(cluster: &Cluster, gateway: &Member, status: &str) -> Value {
    let deadline = Instant::now() + SOON;
    loop {
        let url = format!("{}/readyz", gateway.url);
        let said: Value = cluster.client().get(url).send().await.unwrap().json().await.unwrap();
        if said["journal"]["status"] == status {
            return said["journal"].clone();
        }
        assert!(Instant::now() < deadline, "{said}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads on until a word about the run says this.
async fn word(events: &mut Events, says: &str) {
    let reading = async {
        loop {
            match events.next().await {
                Some((name, data)) if name == "glimpse" && data["request"] == 0 => {
                    let text = data["text"].as_str().unwrap();
                    if text.contains(says) {
                        assert_eq!(data["call_id"], "", "{data}");
                        return;
                    }
                }
                Some((name, data)) => assert_ne!(name, "error", "{data}"),
                None => panic!("the stream ended: {:?}", events.facts),
            }
        }
    };
    tokio::time::timeout(SOON, reading).await.expect("the run says why it is paused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn runs_outlast_a_database_that_is_away_for_longer_than_they_wait() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::start(&[]).await);
    let cluster = Cluster::start(&etcd, &postgres, "rebalance_after_ms = 600000\n").await;
    // What is given up after half a minute is given up at once here.
    let patience = [("CALLBOARD__ORCHESTRATOR__JOURNAL__PATIENCE_MS", "200")];
    let _owner = cluster.orchestrator(&patience);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    ready(&cluster, &gateway, "ok").await;
    let mut streams = Vec::new();
    for tool in LEDGER_TOOLS {
        let work = Duration::from_secs(2);
        streams.extend(begin(&cluster, &[&gateway], (2, tool, work)).await);
    }
    let asked = cluster.asked();
    postgres.stop(Stop::Immediate).await;
    join_all(streams.iter_mut().map(|events| word(events, WHY))).await;
    assert_eq!(ready(&cluster, &gateway, "paused").await["reason"], WHY);
    // A request is refused with the same words, when a gateway has waited long enough. By then the
    // appends of all runs have come back, more than once.
    let refused = cluster.request(&gateway, "ledger_add", Duration::ZERO).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["reason"], "storage_away", "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("nothing was done"), "{refused}");
    postgres.start_again().await;
    let mut runs = results(&mut streams).await;
    ready(&cluster, &gateway, "ok").await;
    // The reply that was under way may be asked for once more, and not again and again.
    assert!(cluster.asked() <= asked + 2 * streams.len(), "{} after {asked}", cluster.asked());
    let mut more = begin(&cluster, &[&gateway], (2, "ledger_add", Duration::ZERO)).await;
    runs.extend(results(&mut more).await);
    check(&cluster, &runs).await;
    let said = cluster.said("orchestrator");
    for words in ["journal does not answer", "journal takes appends again"] {
        assert_eq!(said.matches(words).count(), 1, "{words}, once: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_database_that_is_away_at_the_start_is_waited_for() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::start(&[]).await);
    let cluster = Cluster::start(&etcd, &postgres, "rebalance_after_ms = 600000\n").await;
    postgres.stop(Stop::Fast).await;
    let owner = cluster.orchestrator(&[]);
    within(SOON, "it says what it waits for", || {
        cluster.said("orchestrator").contains("journal does not answer yet").then_some(())
    })
    .await;
    // Under a supervisor a person waits, and reads why not.
    let refused = cluster.callboard.run(&["ask", "What is 6 * 7?"]).await;
    assert!(refused.code != 0 && refused.stderr.contains("does not answer"), "{refused:?}");
    assert!(owner.runs(), "{}", cluster.said("orchestrator"));
    postgres.start_again().await;
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut streams = begin(&cluster, &[&gateway], (2, "ledger_add", Duration::ZERO)).await;
    let runs = results(&mut streams).await;
    check(&cluster, &runs).await;
    assert_eq!(cluster.said("orchestrator").matches("does not answer yet").count(), 1);
}
