//! Wall clocks that are wrong, each by another hour, and jump while calls run and a person is asked.
//! They order nothing and decide nothing: no call is made twice, and nobody comes too late.

use std::time::Duration;

use callboard_tests::{Cluster, Etcd, Events, LEDGER_TOOLS, Member, Postgres, WallClock, within};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::SOON;
use crate::failover::{begin, check, count, results};

const HOUR: i64 = 3600;
/// Longer than an approval is waited for.
const DAYS: i64 = 40 * 24 * HOUR;
/// A session that waits for a person is folded away at once.
const SETTINGS: &str = "rebalance_after_ms = 600000\nidle_ms = 200\n";

fn orchestrator(cluster: &Cluster, clock: &WallClock) -> Member {
    let environment = clock.environment();
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    cluster.orchestrator(&environment)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn clocks_that_are_wrong_and_jump_cost_no_call_and_no_deadline() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, SETTINGS).await;
    let (ahead, behind) = (WallClock::new(), WallClock::new());
    ahead.set(HOUR);
    behind.set(-HOUR);
    let first = orchestrator(&cluster, &ahead);
    cluster.settled(1).await;
    let second = orchestrator(&cluster, &behind);
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let mut runs = Vec::new();
    for (tool, jumps) in LEDGER_TOOLS.iter().zip([-HOUR, 2 * HOUR, DAYS]) {
        let mut streams = begin(&cluster, &[&gateway], (3, tool, Duration::from_secs(2))).await;
        ahead.set(jumps);
        runs.extend(results(&mut streams).await);
    }
    let asked = asked(&cluster, &gateway).await;
    // It is folded away, and would be woken as soon as its time had come.
    let deadline = std::time::Instant::now() + SOON;
    while cluster.awake().await > 0 {
        assert!(std::time::Instant::now() < deadline, "who waits for a person is folded away");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for jumps in [HOUR, 2 * DAYS, -DAYS] {
        // What is due is looked for right after a jump was noticed.
        let said = || cluster.said("orchestrator").matches("the wall clock was set").count();
        let before = said();
        ahead.set(jumps);
        within(SOON, "the jump is said", || (said() > before).then_some(())).await;
    }
    runs.push(approved(&cluster, &gateway, &asked).await);
    // The next owner lives two hours before or many days after.
    let mut streams = begin(&cluster, &[&gateway], (3, "ledger_add", Duration::from_secs(2))).await;
    first.signal(Signal::KILL);
    runs.extend(results(&mut streams).await);
    assert!(second.runs());
    check(&cluster, &runs).await;
    for run in &runs {
        let took = run["duration_ms"].as_u64().unwrap();
        assert!(took < 60_000, "no duration is told by the clock on the wall: {run}");
    }
    let late = "SELECT count(*) FROM event WHERE type = 'limit.hit'";
    assert_eq!(count(&cluster, late).await, 0, "nobody ran out of time");
}

struct Asked {
    session: String,
    call: String,
    run: String,
}

/// Begins a run whose call waits for a person.
async fn asked(cluster: &Cluster, gateway: &Member) -> Asked {
    let body = json!({"input": "ledger_add 0", "approver": true});
    let mut events =
        Events::of(cluster.client().post(format!("{}/v1/runs", gateway.url)).json(&body)).await;
    let asked = events.until("approval.asked").await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (call, run) = (text(&asked["data"]["call_id"]), text(&asked["run"]));
    Asked { session: events.session.clone(), call, run }
}

/// Approves the call; how its run ended.
async fn approved(cluster: &Cluster, gateway: &Member, asked: &Asked) -> Value {
    let (client, session) =
        (cluster.client(), format!("{}/v1/sessions/{}", gateway.url, asked.session));
    let decide = client.post(format!("{session}/approvals/{}", asked.call));
    let decided = decide.json(&json!({"decision": "approve"})).send().await.unwrap();
    let decided: Value = decided.json().await.unwrap();
    assert_eq!(decided, json!({"first": true, "approved": true}), "it waited that long");
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let found: Value = client.get(&session).send().await.unwrap().json().await.unwrap();
        let run = &found["runs"][0];
        assert_eq!(run["run"], asked.run.as_str(), "{found}");
        if run["status"] == "completed" {
            return run.clone();
        }
        assert!(std::time::Instant::now() < deadline, "the run ends: {found}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
