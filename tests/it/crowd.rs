//! Many at once: nothing mixed, nothing left behind.

use std::collections::HashSet;

use callboard_tests::Callboard;
use serde_json::{Value, json};

#[tokio::test]
async fn fifty_pairs_of_inputs_to_one_session_do_not_mix() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let client = stack.client();
    for pair in 0..50_u64 {
        let opened = client
            .post(format!("{}/v1/sessions", stack.url))
            .json(&json!({}))
            .send()
            .await
            .unwrap();
        assert_eq!(opened.status(), 201);
        let session: Value = opened.json().await.unwrap();
        let id = session["id"].as_str().unwrap();
        let url = format!("{}/v1/sessions/{id}/runs", stack.url);
        let send = |a: u64, b: u64| {
            let body = json!({"input": format!("What is {a} * {b}?"), "wait": true});
            let request = client.post(&url).json(&body).send();
            async move {
                let run: Value = request.await.unwrap().json().await.unwrap();
                let answer = run["answer"].as_str().unwrap_or_default().replace(',', "");
                assert!(answer.contains(&(a * b).to_string()), "{a} * {b}: {run}");
                run
            }
        };
        let (a, b) = (1_000 + pair, 2_000 + pair);
        let (first, second) = tokio::join!(send(a, 7), send(b, 9));
        assert_ne!(first["run"], second["run"]);
        check_events(&client, &stack.url, id).await;
    }
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

/// Sequence numbers are dense, and no event of one run lies between those of another.
async fn check_events(client: &reqwest::Client, url: &str, id: &str) {
    let events = client
        .get(format!("{url}/v1/sessions/{id}/events?after=0&until=idle"))
        .header("accept", "text/event-stream")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let facts: Vec<Value> = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .filter(|data: &Value| data.get("seq").is_some())
        .collect();
    let (mut current, mut started) = (String::new(), HashSet::new());
    for (expected, fact) in (1..).zip(&facts) {
        assert_eq!(fact["seq"], expected, "dense: {facts:?}");
        let run = fact["run"].as_str().unwrap();
        match fact["type"].as_str().unwrap() {
            "session.opened" | "owner.taken" => assert_eq!(run, ""),
            "input.received" => {}
            "run.started" => {
                assert_eq!(current, "", "one run at a time");
                assert!(started.insert(run.to_owned()));
                run.clone_into(&mut current);
            }
            "run.ended" => {
                assert_eq!(current, run);
                current.clear();
            }
            other => assert_eq!(current, run, "{other}"),
        }
    }
    assert_eq!((current.as_str(), started.len()), ("", 2), "{facts:?}");
}
