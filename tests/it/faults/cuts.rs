//! Connections that break or fall silent: to the database, to the callers, to the tools.

use std::time::Duration;

use callboard_tests::{Cluster, Etcd, LEDGER_TOOLS, Postgres, Proxy, Stop, within};

use super::{SETTINGS, SOON};
use crate::failover::{begin, check, count, results};

/// Until the journal holds more events than `before`.
async fn written_more(cluster: &Cluster, before: i64) {
    let deadline = std::time::Instant::now() + SOON;
    while count(cluster, "SELECT count(*) FROM event").await <= before {
        assert!(std::time::Instant::now() < deadline, "something is written");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn commits_whose_answers_are_lost_are_told_once() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let proxy = Proxy::start(postgres.port()).await;
    let (direct, through) = (postgres.port().to_string(), proxy.port().to_string());
    let url = cluster.database.replace(&format!(":{direct}/"), &format!(":{through}/"));
    let _owner = cluster.orchestrator(&[("CALLBOARD__ORCHESTRATOR__JOURNAL__URL", &url)]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut runs = Vec::new();
    for tool in LEDGER_TOOLS {
        let work = Duration::from_secs(2);
        let mut streams = begin(&cluster, &[&gateway], (4, tool, work)).await;
        proxy.lose_answers(true);
        let before = count(&cluster, "SELECT count(*) FROM event").await;
        written_more(&cluster, before).await;
        proxy.heal();
        runs.extend(results(&mut streams).await);
    }
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_database_that_crashes_under_runs_loses_and_repeats_nothing() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::start(&[]).await);
    let cluster = Cluster::start(&etcd, &postgres, SETTINGS).await;
    let _members = [cluster.orchestrator(&[]), cluster.orchestrator(&[])];
    cluster.settled(2).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut runs = Vec::new();
    for tool in LEDGER_TOOLS {
        let mut streams = begin(&cluster, &[&gateway], (4, tool, Duration::from_millis(100))).await;
        postgres.stop(Stop::Immediate).await;
        postgres.start_again().await;
        runs.extend(results(&mut streams).await);
    }
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_broken_way_to_the_owner_costs_its_callers_no_fact() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let (_owner, proxy) = cluster.orchestrator_behind_proxy().await;
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut runs = Vec::new();
    for is_silent in [false, true] {
        let work = Duration::from_secs(2);
        let mut streams = begin(&cluster, &[&gateway], (6, "ledger_add", work)).await;
        let before = count(&cluster, "SELECT count(*) FROM event").await;
        if is_silent {
            proxy.lose_answers(true);
            // What is told meanwhile gets lost on its way.
            written_more(&cluster, before).await;
        }
        proxy.heal();
        runs.extend(results(&mut streams).await);
    }
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_broken_way_to_a_tool_repeats_no_call_and_loses_no_outcome() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::behind_proxy(&etcd, postgres, SETTINGS).await;
    let _owner = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let (proxy, mut runs) = (cluster.ledger.proxy(), Vec::new());
    for tool in LEDGER_TOOLS {
        for is_silent in [false, true] {
            let lines = cluster.ledger.lines().len() + 4;
            let work = Duration::from_millis(500);
            let mut streams = begin(&cluster, &[&gateway], (4, tool, work)).await;
            within(SOON, "the calls are under way", || {
                (cluster.ledger.lines().len() >= lines).then_some(())
            })
            .await;
            proxy.lose_answers(is_silent);
            proxy.heal();
            runs.extend(results(&mut streams).await);
        }
    }
    check(&cluster, &runs).await;
    assert!(cluster.ledger.repeats() > 0, "somebody asked what became of a call");
}
