//! Connections to etcd that stand still without an error, and changes that a watcher never hears of.

use std::{collections::BTreeMap, time::Duration};

use callboard_tests::{Cluster, Etcd, LEASE, Postgres, Proxy, within};
use rustix::process::Signal;

use super::{SETTINGS, SOON};
use crate::failover::{begin, check, results};

/// A proxy before etcd, and the setting that leads through it.
async fn before(etcd: &Etcd) -> (Proxy, String) {
    let port = etcd.url().rsplit(':').next().unwrap().parse().unwrap();
    let proxy = Proxy::start(port).await;
    let endpoints = format!("[\"http://127.0.0.1:{}\"]", proxy.port());
    (proxy, endpoints)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_connection_that_stands_still_is_replaced_before_anything_moves() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let (proxy, endpoints) = before(&etcd).await;
    let _owner = cluster.orchestrator(&[("CALLBOARD__DISCOVERY__ENDPOINTS", &endpoints)]);
    cluster.settled(1).await;
    let other = cluster.orchestrator(&[]);
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let owned = || -> BTreeMap<u32, u64> {
        cluster.owners().into_iter().map(|(part, owner)| (part, owner.revision)).collect()
    };
    let (owners, mut runs) = (owned(), Vec::new());
    for _ in 0..2 {
        let mut streams = begin(&cluster, &[&gateway], (3, "ledger_add", LEASE * 2)).await;
        let accepted = proxy.accepted();
        let stalled = std::time::Instant::now();
        proxy.stall();
        within(SOON, "it connects anew", || (proxy.accepted() > accepted).then_some(())).await;
        println!("noticed after {:?} with a lease of {LEASE:?}", stalled.elapsed());
        // They end when the lease would have, had nobody kept it.
        runs.extend(results(&mut streams).await);
    }
    assert_eq!(owned(), owners, "nothing has moved");
    assert_eq!(cluster.owned_by(other.pid), 0);
    check(&cluster, &runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_gateway_that_missed_what_happened_catches_up() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let first = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let second = cluster.orchestrator(&[]);
    let live = cluster.discovery.live();
    within(SOON, "the second is there", || {
        live.borrow().instances.values().any(|one| one.pid == second.pid).then_some(())
    })
    .await;
    let (proxy, endpoints) = before(&etcd).await;
    let gateway = cluster.gateway_with(&[("CALLBOARD__DISCOVERY__ENDPOINTS", &endpoints)]).await;
    cluster.offers_ledger(&gateway).await;
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::from_secs(1))).await;
    // Whatever etcd says of the death of the owner is lost, and then forgotten.
    proxy.lose_answers(true);
    first.signal(Signal::KILL);
    within(SOON, "the second owns everything", || {
        (cluster.owned_by(second.pid) == 256).then_some(())
    })
    .await;
    etcd.change(100).await;
    etcd.compact().await;
    proxy.heal();
    let healed = std::time::Instant::now();
    let mut runs = results(&mut streams).await;
    println!("caught up within {:?}", healed.elapsed());
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::ZERO)).await;
    runs.extend(results(&mut more).await);
    check(&cluster, &runs).await;
}
