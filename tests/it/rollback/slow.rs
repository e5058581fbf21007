//! A rollback that takes longer than a request waits: it is told how far it has come, goes on meanwhile,
//! and is waited for on under its key.

use std::time::Duration;

use callboard_tests::{Cluster, Etcd, LEDGER_KEEP, Member, Postgres};
use serde_json::{Value, json};

/// Three of them are more than any request waits for, one is not.
const EACH: Duration = Duration::from_secs(4);

/// A session with three calls that can be taken back, in as many runs.
async fn session(cluster: &Cluster, gateway: &Member) -> String {
    let mut events = cluster.begin(gateway, LEDGER_KEEP, Duration::ZERO).await;
    events.result().await;
    let session = events.session.clone();
    for _ in 0..2 {
        let body = json!({"input": format!("{LEDGER_KEEP} 0"), "approve": ["*"], "wait": true});
        let url = format!("{}/v1/sessions/{session}/runs", gateway.url);
        let run = cluster.client().post(url).json(&body).send().await.unwrap();
        assert_eq!(run.status(), 200);
    }
    session
}

fn statuses(document: &Value) -> Vec<&str> {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().map(|step| step["status"].as_str().unwrap()).collect()
}

/// Asks until it is over: every status that was answered, and the last document.
async fn over_http(cluster: &Cluster, gateway: &Member, session: &str) -> (Vec<u16>, Value) {
    let url = format!("{}/v1/sessions/{session}/rollback", gateway.url);
    let (mut answered, mut key) = (Vec::new(), None::<String>);
    loop {
        let mut ask = cluster.client().post(&url).json(&json!({"to_step": 0}));
        if let Some(key) = &key {
            ask = ask.header("idempotency-key", key);
        }
        let answer = ask.send().await.unwrap();
        answered.push(answer.status().as_u16());
        let again = answer.headers().get("idempotency-key").map(|key| key.to_str().unwrap());
        let again = again.map(str::to_owned);
        let document: Value = answer.json().await.unwrap();
        if document["goes_on"] != true {
            return (answered, document);
        }
        assert!(statuses(&document).contains(&"waiting"), "{document}");
        key = Some(again.expect("the key to go on with"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_takes_long_says_how_far_it_has_come_and_is_waited_for() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "").await;
    let _owner = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let (one, two) = (session(&cluster, &gateway).await, session(&cluster, &gateway).await);
    cluster.ledger.strike_slowly(EACH);
    let by_command = async {
        let arguments = ["sessions", "rollback", &two, "--to-step", "0", "--server", &gateway.url];
        let mut command = cluster.callboard.command(&arguments);
        command.env("CALLBOARD_TOKEN", Cluster::API_TOKEN).output().await.unwrap()
    };
    let ((answered, done), command) = tokio::join!(over_http(&cluster, &gateway, &one), by_command);
    assert_eq!((answered[0], answered.last()), (202, Some(&200)), "{answered:?}");
    assert_eq!(statuses(&done), ["undone"; 3]);
    let said = String::from_utf8_lossy(&command.stderr).into_owned();
    assert_eq!(command.status.code(), Some(0), "{said}");
    assert!(said.contains(" of 3 calls are taken back"), "{said}");
    assert_eq!(cluster.ledger.struck().len(), 6, "each once");
    let url = format!("{}/v1/sessions/{one}/trace", gateway.url);
    let drawn: Value = cluster.client().get(url).send().await.unwrap().json().await.unwrap();
    let rollback = drawn["runs"].as_array().unwrap().last().unwrap();
    assert_eq!((&rollback["kind"], &rollback["status"]), (&json!("rollback"), &json!("undone")));
    assert_eq!(rollback["children"].as_array().unwrap().len(), 3, "{rollback}");
}
