//! etcd goes away, loses its leader, a client or its leases, forgets its history, or comes back older
//! than it was.

use std::{collections::BTreeMap, time::Duration};

use callboard_tests::{Cluster, Etcd, Postgres, Proxy, within};
use futures_util::future::join_all;
use rustix::process::Signal;

use super::{SETTINGS, SOON};
use crate::failover::{begin, check, count, results};

/// Who owned what, and since when.
fn revisions(cluster: &Cluster) -> BTreeMap<u32, u64> {
    cluster.owners().into_iter().map(|(partition, owner)| (partition, owner.revision)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn without_etcd_runs_go_on_and_new_ones_begin() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let _members = [cluster.orchestrator(&[]), cluster.orchestrator(&[])];
    cluster.settled(2).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut streams = begin(&cluster, &[&gateway], (6, "ledger_add", Duration::from_secs(2))).await;
    etcd.kill_all();
    within(SOON, "its leases would have ended", || {
        (!cluster.discovery.is_confirmed()).then_some(())
    })
    .await;
    let mut runs = results(&mut streams).await;
    for tool in callboard_tests::LEDGER_TOOLS {
        let mut more = begin(&cluster, &[&gateway], (2, tool, Duration::ZERO)).await;
        runs.extend(results(&mut more).await);
    }
    etcd.start_again().await;
    cluster.settled(2).await;
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::ZERO)).await;
    runs.extend(results(&mut more).await);
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_leader_that_dies_or_stands_still_moves_nothing() {
    let (etcd, postgres) = (Etcd::of_three().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let _members = [cluster.orchestrator(&[]), cluster.orchestrator(&[])];
    cluster.settled(2).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let (before, mut runs) = (revisions(&cluster), Vec::new());
    let work = Duration::from_secs(1);
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    etcd.kill(etcd.leader().await);
    runs.extend(results(&mut streams).await);
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    runs.extend(results(&mut more).await);
    etcd.start_again().await;
    // Two of three away: nothing can be decided, and all goes on.
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    etcd.kill(0);
    etcd.kill(1);
    runs.extend(results(&mut streams).await);
    etcd.start_again().await;
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    let leader = etcd.leader().await;
    etcd.signal(leader, Signal::STOP);
    runs.extend(results(&mut streams).await);
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    runs.extend(results(&mut more).await);
    cluster.settled(2).await;
    assert_eq!(revisions(&cluster), before, "nothing moved");
    // A leader that goes on may end the leases that it counted itself before it hears of the new
    // one (https://github.com/etcd-io/etcd/issues/15247); that costs a pause.
    etcd.signal(leader, Signal::CONT);
    etcd.leader().await;
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    runs.extend(results(&mut more).await);
    cluster.settled(2).await;
    check(&cluster, &runs).await;
}

/// Whether etcd still hears a client, and how that client is cut off.
type Cut = (bool, fn(&Proxy));

/// Cuts the first owner off from etcd alone. Where etcd still hears it, it stays the owner.
async fn cut_off(etcd: &Etcd, postgres: &Postgres, (is_heard, cut): Cut) {
    let cluster = Cluster::start(etcd, postgres, SETTINGS).await;
    let port = etcd.url().rsplit(':').next().unwrap().parse().unwrap();
    let proxy = Proxy::start(port).await;
    let endpoints = format!("[\"http://127.0.0.1:{}\"]", proxy.port());
    let owner = cluster.orchestrator(&[("CALLBOARD__DISCOVERY__ENDPOINTS", &endpoints)]);
    cluster.settled(1).await;
    let other = cluster.orchestrator(&[]);
    let live = cluster.discovery.live();
    within(SOON, "the other one is there", || {
        live.borrow().instances.values().any(|one| one.pid == other.pid).then_some(())
    })
    .await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::from_secs(2))).await;
    cut(&proxy);
    if !is_heard {
        within(SOON, "the other one owns everything", || {
            (cluster.owned_by(other.pid) == 256).then_some(())
        })
        .await;
    }
    let mut runs = results(&mut streams).await;
    etcd.compact().await;
    proxy.heal();
    within(SOON, "it takes part again", || {
        live.borrow().instances.values().any(|one| one.pid == owner.pid).then_some(())
    })
    .await;
    cluster.settled(2).await;
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::ZERO)).await;
    runs.extend(results(&mut more).await);
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn an_owner_that_is_cut_off_from_etcd_alone_makes_no_call_twice() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let ways: [Cut; 3] = [
        (true, |proxy| proxy.lose_answers(true)),
        (false, |proxy| proxy.lose_requests(true)),
        (false, |proxy| {
            proxy.lose_answers(true);
            proxy.lose_requests(true);
            proxy.cut();
        }),
    ];
    join_all(ways.map(|way| cut_off(&etcd, postgres, way))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn leases_that_etcd_revokes_cost_a_pause() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let _members = [cluster.orchestrator(&[]), cluster.orchestrator(&[])];
    cluster.settled(2).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let before = revisions(&cluster);
    let mut streams = begin(&cluster, &[&gateway], (6, "ledger_add", Duration::from_secs(1))).await;
    etcd.revoke_all_leases().await;
    let runs = results(&mut streams).await;
    cluster.settled(2).await;
    let after = revisions(&cluster);
    assert!(after.iter().all(|(partition, revision)| *revision > before[partition]), "{after:?}");
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn an_etcd_that_is_older_than_the_journal_is_refused_until_the_generation_is_raised()
 {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let first = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let backup = etcd.back_up().await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::ZERO)).await;
    let mut runs = results(&mut streams).await;
    // What the journal knows goes far beyond the backup.
    etcd.change(1_000).await;
    first.signal(Signal::KILL);
    let second = cluster.orchestrator(&[]);
    within(SOON, "it owns everything", || (cluster.owned_by(second.pid) == 256).then_some(()))
        .await;
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::from_secs(1))).await;
    etcd.restore(&backup).await;
    within(SOON, "it says what to do", || {
        cluster.said("orchestrator").contains("journal raise-generation").then_some(())
    })
    .await;
    let said = std::time::Instant::now();
    let raise = ["--config", &cluster.config(), "journal", "raise-generation"];
    let raised = cluster.callboard.run(&raise).await.expect(0);
    assert!(raised.stdout.contains("generation 2"), "{raised:?}");
    let raised = said.elapsed();
    runs.extend(results(&mut streams).await);
    let ended = said.elapsed();
    cluster.settled(1).await;
    let claimed = "SELECT count(*) FROM partition WHERE generation = 2";
    let deadline = std::time::Instant::now() + SOON;
    while count(&cluster, claimed).await < 256 {
        assert!(std::time::Instant::now() < deadline, "all is claimed under the new generation");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("raised after {raised:?}, runs ended after {ended:?}, claimed {:?}", said.elapsed());
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::ZERO)).await;
    runs.extend(results(&mut more).await);
    check(&cluster, &runs).await;
}
