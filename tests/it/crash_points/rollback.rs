//! Every point at which an orchestrator can die or be paused while calls are taken back: another one
//! goes on, and the ledger says how often each call was.

use std::time::Duration;

use callboard_orchestrator::crash::OF_ROLLBACK;
use callboard_tests::{Cluster, Etcd, LEDGER_KEEP, Member, Postgres, within};
use futures_util::{StreamExt as _, stream};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{AT_ONCE, Act, On, SOON};

/// One way for an owner to fail.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    point: &'static str,
    /// At which crossing: the calls are two.
    nth: u32,
    act: Act,
    ledger: On,
}

impl Scenario {
    fn armed(self) -> String {
        let stop = if self.act == Act::Kill { "" } else { ":stop" };
        format!("{}:{}{stop}", self.point, self.nth)
    }

    /// Runs it to its end, in a cluster of its own, and checks everything.
    async fn run(self, etcd: &Etcd, postgres: &Postgres) {
        let settings = "rebalance_after_ms = 600000\n";
        let cluster = match self.ledger {
            On::Wire => Cluster::start(etcd, postgres, settings).await,
            On::Kit => Cluster::on_kit(etcd, postgres, settings).await,
        };
        let mut owner = cluster.orchestrator(&[("CALLBOARD_CRASH_POINT", &self.armed())]);
        cluster.settled(1).await;
        let gateway = cluster.gateway().await;
        cluster.offers_ledger(&gateway).await;
        let (session, calls) = noted_calls(&cluster, &gateway, 2).await;
        let other = cluster.orchestrator(&[]);
        let live = cluster.discovery.live();
        let is_there = || live.borrow().instances.values().any(|one| one.pid == other.pid);
        within(SOON, "the other one is there", || is_there().then_some(())).await;

        let back = json!({"to_step": 0});
        let answer = take_back(&cluster, &gateway, &session, &back);
        let fails = async {
            let what = format!("{self:?} fires");
            within(SOON, &what, || (!owner.runs()).then_some(())).await;
            if self.act == Act::Stop {
                let has_lost = || (cluster.owned_by(other.pid) == 256).then_some(());
                within(SOON, "the other one owns everything", has_lost).await;
                owner.signal(Signal::CONT);
            }
        };
        let (answer, ()) = tokio::join!(answer, fails);
        match self.act {
            Act::Kill => assert_eq!(owner.ended().await, None, "{self:?}: a signal ended it"),
            Act::Stop => {}
            Act::StopLong => {
                owner.signal(Signal::CONT);
                let is_back = || live.borrow().instances.values().any(|one| one.pid == owner.pid);
                within(SOON, "it takes part again", || is_back().then_some(())).await;
            }
        }
        let undone = json!({"status": "undone", "message": "Its line is struck out."});
        for (step, call) in answer["steps"].as_array().unwrap().iter().zip(calls.iter().rev()) {
            let mut expected = undone.clone();
            expected["call_id"] = json!(call);
            assert_eq!(step, &expected, "{self:?}: {answer}");
        }
        assert_eq!(answer["steps"].as_array().unwrap().len(), 2, "{self:?}: {answer}");
        let latest_first: Vec<String> = calls.iter().rev().cloned().collect();
        assert_eq!(cluster.ledger.struck(), latest_first, "{self:?}: each once, the latest first");
        let again = take_back(&cluster, &gateway, &session, &back).await;
        assert_eq!(again, answer, "{self:?}: asked again, it is the first answer");
        assert_eq!(cluster.ledger.struck(), latest_first, "{self:?}");
        let url = format!("{}/v1/sessions/{session}/export", gateway.url);
        let export = cluster.client().get(url).send().await.unwrap().text().await.unwrap();
        for (kind, count) in [("rollback.asked", 1), ("rollback.started", 2), ("rollback.ended", 2)]
        {
            assert_eq!(export.matches(kind).count(), count, "{self:?}: {kind}");
        }
    }
}

/// A session of so many runs with a call each: its id and theirs.
pub(crate) async fn noted_calls(
    cluster: &Cluster,
    gateway: &Member,
    count: usize,
) -> (String, Vec<String>) {
    let mut path = "/v1/runs".to_owned();
    let mut calls = Vec::new();
    loop {
        let body = json!({"input": format!("{LEDGER_KEEP} 0"), "approve": ["*"], "wait": true});
        let request = cluster.client().post(format!("{}{path}", gateway.url)).json(&body);
        let run: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(run["status"], "completed", "{run}");
        calls.push(run["tool_calls"][0]["call_id"].as_str().unwrap().to_owned());
        let session = run["session"].as_str().unwrap().to_owned();
        if calls.len() == count {
            return (session, calls);
        }
        path = format!("/v1/sessions/{session}/runs");
    }
}

/// Asks until somebody answers, always under the same key.
async fn take_back(cluster: &Cluster, gateway: &Member, session: &str, body: &Value) -> Value {
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let url = format!("{}/v1/sessions/{session}/rollback", gateway.url);
        let request = cluster.client().post(url).json(body).header("idempotency-key", "once");
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let body: Value = answer.json().await.unwrap();
        if status == 200 {
            return body;
        }
        assert!(status.is_server_error(), "{status}: {body}");
        assert!(std::time::Instant::now() < deadline, "{status}: {body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_taken_back_twice_wherever_the_owner_dies_or_is_paused() {
    let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut scenarios = Vec::new();
    for point in OF_ROLLBACK {
        // It is asked for once.
        let crossings = if *point == "rollback.before_asked" { 1 } else { 2 };
        for ledger in [On::Wire, On::Kit] {
            for act in [Act::Kill, if random.bool() { Act::Stop } else { Act::StopLong }] {
                scenarios.push(Scenario { point, nth: random.u32(1..=crossings), act, ledger });
            }
        }
    }
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let runs = stream::iter(scenarios).map(|scenario| scenario.run(&etcd, postgres));
    runs.buffer_unordered(AT_ONCE).collect::<()>().await;
}
