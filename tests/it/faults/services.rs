//! Tool services that are killed while they work, and an owner that calls one after it has lost its
//! partition.

use std::time::Duration;

use callboard_discovery::transport::{Channel, channel};
use callboard_proto::{
    PARTITIONS, partition_of, reason,
    tool::{Epoch, InvokeMode, InvokeRequest, ToolCall, tool_service_client::ToolServiceClient},
};
use callboard_tests::{Cluster, Etcd, LEDGER_TOOLS, Member, Postgres, ledger_if_asked, within};
use rustix::process::Signal;
use serde_json::{Value, json};
use tonic::Status;
use tonic_types::StatusExt as _;

use super::{SETTINGS, SOON};
use crate::failover::{begin, check, count, results};

/// The test that a process of a ledger runs.
pub(super) const LEDGER: &str = "faults::services::a_ledger_where_one_is_asked_for";

#[test]
fn a_ledger_where_one_is_asked_for() {
    ledger_if_asked();
}

/// Until these ledgers are there. One that was killed may still be listed, and be tried.
pub(super) async fn are_there(cluster: &Cluster, ledgers: &[&Member]) {
    let live = cluster.discovery.live();
    within(SOON, "the ledgers are there", || {
        let live = live.borrow();
        let found = live.instances.values().filter(|one| one.name == "ledger");
        let found: Vec<u32> = found.map(|one| one.pid).collect();
        ledgers.iter().all(|one| found.contains(&one.pid)).then_some(())
    })
    .await;
}

/// What holds when a service was killed during calls: what only reads came to its end where there were
/// `others`, and what changes something was done once at most, or nobody knows.
fn check_killed(cluster: &Cluster, runs: &[Value], others: bool) {
    let counts = cluster.ledger.counts();
    for run in runs {
        assert_eq!(run["status"], "completed", "{run}");
        let call = &run["tool_calls"][0];
        let count = counts.get(call["call_id"].as_str().unwrap()).copied().unwrap_or(0);
        match (call["tool"].as_str().unwrap(), call["status"].as_str().unwrap()) {
            ("ledger_read" | "ledger_put", "ok") => assert!(count >= 1, "{count}: {run}"),
            ("ledger_add", "ok") => assert_eq!(count, 1, "{run}"),
            ("ledger_add" | "ledger_put", "outcome_unknown") => assert!(count <= 1, "{run}"),
            (_, "failed") if !others => assert_eq!(call["failure"]["kind"], "unavailable", "{run}"),
            _ => panic!("{run}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_service_that_is_killed_costs_no_read_and_repeats_no_change() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    for stores in [&["one"][..], &["one", "two", "three"], &["one", "one", "one"]] {
        let cluster = Cluster::of_processes(&etcd, postgres, SETTINGS).await;
        let _owners = [cluster.orchestrator(&[]), cluster.orchestrator(&[])];
        cluster.settled(2).await;
        let mut ledgers: Vec<Member> =
            stores.iter().map(|store| cluster.ledger_process(LEDGER, store)).collect();
        are_there(&cluster, &ledgers.iter().collect::<Vec<_>>()).await;
        let gateway = cluster.gateway().await;
        cluster.offers_ledger(&gateway).await;
        let (work, mut runs) = (Duration::from_secs(1), Vec::new());
        for tool in LEDGER_TOOLS {
            let before = cluster.ledger.lines().len();
            let mut streams = begin(&cluster, &[&gateway], (6, tool, work)).await;
            within(SOON, "calls are at work", || {
                (cluster.ledger.lines().len() > before).then_some(())
            })
            .await;
            ledgers.remove(0).signal(Signal::KILL);
            ledgers.push(cluster.ledger_process(LEDGER, stores[0]));
            runs.extend(results(&mut streams).await);
            are_there(&cluster, &ledgers.iter().collect::<Vec<_>>()).await;
        }
        let others = stores.len() > 1;
        check_killed(&cluster, &runs, others);
        let mut more = begin(&cluster, &[&gateway], (6, "ledger_add", Duration::ZERO)).await;
        let more = results(&mut more).await;
        assert!(more.iter().all(|run| run["tool_calls"][0]["status"] == "ok"), "{more:?}");
        check_killed(&cluster, &more, others);
    }
}

/// Sends the ledger a call as the owner of that epoch would; the line that it must not write.
async fn call_as(cluster: &Cluster, session: &str, epoch: Epoch) -> (String, Result<(), Status>) {
    let ledger = cluster.discovery.live();
    let ledger = ledger.borrow().instances.values().find(|one| one.name == "ledger").cloned();
    let ledger = ledger.unwrap();
    let channel: Channel = channel(&ledger.address, &cluster.credentials).unwrap();
    let call_id = uuid::Uuid::now_v7().to_string();
    let call = ToolCall {
        deployment: "local".to_owned(),
        call_id: call_id.clone(),
        attempt: 1,
        session: session.to_owned(),
        partition: partition_of(session, PARTITIONS),
        epoch: Some(epoch),
        incarnation: ledger.incarnation.clone(),
        team: "default".to_owned(),
        tool: "ledger_add".to_owned(),
        arguments: json!({"note": "a line", "work_ms": 0}).to_string().into_bytes().into(),
        ..ToolCall::default()
    };
    let request = InvokeRequest { call: Some(call), mode: InvokeMode::Start.into() };
    (call_id, ToolServiceClient::new(channel).invoke(request).await.map(drop))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_call_of_an_owner_that_is_none_any_more_is_refused_by_the_service() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::of_processes(&etcd, postgres, SETTINGS).await;
    let service = cluster.ledger_process(LEDGER, "one");
    let paused = [("CALLBOARD_CRASH_POINT", "attempt.before_send:1:stop")];
    let owner = cluster.orchestrator(&paused);
    cluster.settled(1).await;
    let other = cluster.orchestrator(&[]);
    let live = cluster.discovery.live();
    within(SOON, "the other one is there", || {
        live.borrow().instances.values().any(|one| one.pid == other.pid).then_some(())
    })
    .await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut events = cluster.begin(&gateway, "ledger_add", Duration::ZERO).await;
    within(SOON, "it stands right before it sends", || owner.is_stopped().then_some(())).await;
    let partition = partition_of(&events.session, PARTITIONS);
    let claim = |what: &str| format!("SELECT {what} FROM partition WHERE id = {partition}");
    let epoch = Epoch {
        generation: count(&cluster, &claim("generation")).await.cast_unsigned(),
        revision: count(&cluster, &claim("revision")).await.cast_unsigned(),
    };
    // The other one makes the call, and ends the run.
    let run = events.result().await;
    assert_eq!(cluster.owned_by(other.pid), 256);
    let (entry, refused) = call_as(&cluster, &events.session, epoch).await;
    let refused = refused.unwrap_err();
    let info = refused.get_details_error_info().map(|info| info.reason);
    assert_eq!(info.as_deref(), Some(reason::STALE_OWNER), "{refused}");
    // What it was about to send comes too late as well, if it comes at all.
    owner.signal(Signal::CONT);
    let mut more = begin(&cluster, &[&gateway], (4, "ledger_add", Duration::ZERO)).await;
    let mut runs = results(&mut more).await;
    runs.push(run);
    check(&cluster, &runs).await;
    assert!(!cluster.ledger.lines().contains(&entry));
    assert!(service.runs());
}
