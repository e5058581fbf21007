//! Several orchestrators on one journal: an owner that dies, is paused, joins or leaves costs a pause,
//! and never a call made twice.

use std::{collections::HashMap, time::Duration};

use callboard_tests::{Cluster, Etcd, Events, LEASE, Member, Postgres, within};
use futures_util::future::join_all;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Instant;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);

/// What must hold whatever happened: no call was started twice, every run ended well, and epochs in
/// the journal never fall.
pub(crate) async fn check(cluster: &Cluster, runs: &[Value]) {
    for run in runs {
        assert_eq!(run["status"], "completed", "{run}");
        assert_eq!(run["answer"], "It is noted.", "{run}");
        assert_eq!(run["tool_calls"].as_array().unwrap().len(), 1, "{run}");
        assert_eq!(run["tool_calls"][0]["status"], "ok", "{run}");
    }
    let counts = cluster.ledger.counts();
    let twice: HashMap<_, _> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    for run in runs {
        let call = run["tool_calls"][0]["call_id"].as_str().unwrap();
        assert_eq!(counts.get(call), Some(&1), "{run}");
    }
    let falls = "SELECT count(*) FROM (SELECT (generation, revision) < lag((generation, revision))
        OVER (PARTITION BY session ORDER BY seq) AS falls FROM event) AS epochs WHERE falls";
    assert_eq!(count(cluster, falls).await, 0, "epochs never fall");
    let gaps = "SELECT count(*) FROM (SELECT seq - lag(seq, 1, 0::bigint)
        OVER (PARTITION BY session ORDER BY seq) AS step FROM event) AS steps WHERE step <> 1";
    assert_eq!(count(cluster, gaps).await, 0, "numbers are dense");
}

pub(crate) async fn count(cluster: &Cluster, sql: &str) -> i64 {
    let (client, connection) =
        tokio_postgres::connect(&cluster.database, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Begins `count` runs, over all gateways in turn, and waits until each has sent its call.
pub(crate) async fn begin(
    cluster: &Cluster,
    gateways: &[&Member],
    (count, tool, work): (usize, &str, Duration),
) -> Vec<Events> {
    let runs = (0..count).map(async |n| {
        let mut events = cluster.begin(gateways[n % gateways.len()], tool, work).await;
        events.until("attempt.started").await;
        events
    });
    join_all(runs).await
}

pub(crate) async fn results(streams: &mut [Events]) -> Vec<Value> {
    let all = join_all(streams.iter_mut().map(Events::result));
    tokio::time::timeout(SOON, all).await.expect("every run ends")
}

/// The member that owns the most of these sessions.
fn busiest<'a>(cluster: &Cluster, members: &'a [Member], streams: &[Events]) -> &'a Member {
    let owned = |member: &&Member| {
        let is_its = |events: &&Events| cluster.owner_of(&events.session) == Some(member.pid);
        streams.iter().filter(is_its).count()
    };
    members.iter().max_by_key(owned).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_is_killed_in_the_middle_of_calls_is_replaced() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "").await;
    let members: Vec<Member> = (0..3).map(|_| cluster.orchestrator(&[])).collect();
    cluster.settled(3).await;
    let (one, two) = (cluster.gateway().await, cluster.gateway().await);
    cluster.offers_ledger(&one).await;
    cluster.offers_ledger(&two).await;
    let work = Duration::from_secs(1);
    let mut streams = begin(&cluster, &[&one, &two], (24, "ledger_add", work)).await;
    let victim = busiest(&cluster, &members, &streams);
    victim.signal(Signal::KILL);
    let killed = Instant::now();
    let runs = results(&mut streams).await;
    let took = killed.elapsed();
    println!("failover of 24 runs after SIGKILL: {took:?} with a lease of {LEASE:?}");
    check(&cluster, &runs).await;
    assert!(took < LEASE * 10, "{took:?}");
    cluster.settled(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_is_paused_past_its_lease_does_nothing_when_it_comes_back() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "").await;
    let members: Vec<Member> = (0..3).map(|_| cluster.orchestrator(&[])).collect();
    cluster.settled(3).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let work = Duration::from_secs(1);
    let mut streams = begin(&cluster, &[&gateway], (24, "ledger_add", work)).await;
    let victim = busiest(&cluster, &members, &streams);
    victim.signal(Signal::STOP);
    within(SOON, "it has lost everything", || (cluster.owned_by(victim.pid) == 0).then_some(()))
        .await;
    cluster.settled(2).await;
    victim.signal(Signal::CONT);
    let runs = results(&mut streams).await;
    check(&cluster, &runs).await;
    // It takes part again, and owns nothing that others have.
    cluster.settled(3).await;
    let more = begin(&cluster, &[&gateway], (8, "ledger_add", Duration::ZERO)).await;
    check(&cluster, &results(&mut { more }).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn joining_and_leaving_moves_partitions_and_costs_no_request() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "rebalance_after_ms = 500\n").await;
    let mut first = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let work = Duration::from_millis(700);
    let streams = begin(&cluster, &[&gateway], (20, "ledger_add", work)).await;
    let second = cluster.orchestrator(&[]);
    let joined = async {
        within(SOON, "the second one owns its share", || {
            (cluster.owned_by(second.pid) > 80 && cluster.owned_by(first.pid) > 80).then_some(())
        })
        .await;
        cluster.settled(2).await;
    };
    let under_way = async {
        let mut streams = streams;
        let mut runs = results(&mut streams).await;
        for _ in 0..3 {
            let mut more = begin(&cluster, &[&gateway], (10, "ledger_add", work)).await;
            runs.extend(results(&mut more).await);
        }
        runs
    };
    let ((), runs) = tokio::join!(joined, under_way);
    check(&cluster, &runs).await;
    let mut streams = begin(&cluster, &[&gateway], (20, "ledger_add", work)).await;
    first.signal(Signal::TERM);
    let (runs, code) = tokio::join!(results(&mut streams), first.ended());
    assert_eq!(code, Some(0));
    check(&cluster, &runs).await;
    cluster.settled(1).await;
    assert_eq!(cluster.owned_by(second.pid), 256);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_hundred_clients_wake_one_session_once_and_etcd_hears_nothing_of_it() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "idle_ms = 200\n").await;
    let members: Vec<Member> = (0..3).map(|_| cluster.orchestrator(&[])).collect();
    cluster.settled(3).await;
    let (one, two) = (cluster.gateway().await, cluster.gateway().await);
    cluster.offers_ledger(&one).await;
    cluster.offers_ledger(&two).await;
    let before = revision(&etcd).await;
    let mut streams = begin(&cluster, &[&one], (1, "ledger_add", Duration::ZERO)).await;
    let runs = results(&mut streams).await;
    let session = streams[0].session.clone();
    drop(streams);
    folded_away(&cluster, &members).await;
    let client = cluster.client();
    let reads = (0..100).map(async |n| {
        let gateway = if n % 2 == 0 { &one } else { &two };
        let url = format!("{}/v1/sessions/{session}/events?after=0&until=idle", gateway.url);
        let answer = client.get(url).header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let text = answer.text().await.unwrap();
        text.lines().filter(|line| *line == "event: fact").count()
    });
    let facts = join_all(reads).await;
    assert!(facts.iter().all(|count| *count == facts[0] && *count > 5), "{facts:?}");
    folded_away(&cluster, &members).await;
    assert_eq!(revision(&etcd).await, before, "nothing was written to etcd");
    // The one owner that it always had wrote once that it took it over, or not at all.
    let owners = count(&cluster, "SELECT count(*) FROM event WHERE type = 'owner.taken'").await;
    assert!(owners <= 1, "{owners}");
    check(&cluster, &runs).await;
}

/// Until no orchestrator holds a session any more.
async fn folded_away(cluster: &Cluster, members: &[Member]) {
    assert!(members.iter().all(Member::runs));
    let deadline = Instant::now() + SOON;
    while cluster.awake().await > 0 {
        assert!(Instant::now() < deadline, "every session is folded away");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How many changes etcd has seen.
async fn revision(etcd: &Etcd) -> i64 {
    let url = format!("{}/v3/kv/range", etcd.url());
    let client = callboard_tests::http_client(reqwest::header::HeaderMap::new());
    let answer = client.post(url).body(r#"{"key":"AA=="}"#).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    answer["header"]["revision"].as_str().unwrap().parse().unwrap()
}
