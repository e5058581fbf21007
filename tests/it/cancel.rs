//! Cancel and deadline reach the bottom: the model's call, the tool's call and its child processes.

use std::time::{Duration, Instant};

use callboard_tests::{Callboard, ModelServer, Reply, Stack, within};
use serde_json::{Value, json};

/// The promise is a second; a machine with other work gets more. What is cancelled would go on for
/// much longer.
const SOON: Duration = Duration::from_secs(10);

async fn stack(script: Vec<Reply>) -> (ModelServer, Callboard, Stack) {
    let model = ModelServer::script(script).await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    (model, callboard, stack)
}

async fn post(stack: &Stack, path: &str, body: Value) -> Value {
    let request = stack.client().post(format!("{}{path}", stack.url)).json(&body);
    request.send().await.unwrap().json().await.unwrap()
}

/// The last run of a session.
async fn last(stack: &Stack, session: &str) -> Value {
    let url = format!("{}/v1/sessions/{session}", stack.url);
    let shown: Value = stack.client().get(url).send().await.unwrap().json().await.unwrap();
    shown["runs"].as_array().unwrap().last().unwrap().clone()
}

async fn until_it_ends(stack: &Stack, session: &str) -> Value {
    loop {
        let run = last(stack, session).await;
        if run["status"] != "working" {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Processes of this machine whose command line holds a text.
fn processes_with(marker: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

#[tokio::test]
async fn a_cancelled_run_takes_a_command_along_that_ignores_term() {
    let marker = "100.0625";
    let command = format!("trap '' TERM; touch begun; sleep {marker}; sleep {marker}");
    let call = Reply::call("run_command", &json!({"command": command}));
    let (model, callboard, stack) = stack(vec![call, Reply::text("Never mind.")]).await;
    let body = json!({"input": "go", "model": "openai:scripted", "approve": ["*"]});
    let run = post(&stack, "/v1/runs", body).await;
    let session = run["session"].as_str().unwrap();
    let begun = callboard.workspace().join("begun");
    within(Duration::from_secs(20), "the command runs", || {
        (begun.exists() && processes_with(marker) > 0).then_some(())
    })
    .await;
    let asked = Instant::now();
    post(&stack, &format!("/v1/sessions/{session}/cancel"), json!({})).await;
    let run = until_it_ends(&stack, session).await;
    within(SOON, "every process of the command ends", || {
        (processes_with(marker) == 0).then_some(())
    })
    .await;
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!(run["status"], "cancelled", "{run}");
    assert_eq!(run["tool_calls"].as_array().unwrap().len(), 1);
    // What the model reads next has one result for the call.
    let next = json!({"input": "and now?", "wait": true});
    post(&stack, &format!("/v1/sessions/{session}/runs"), next).await;
    let requests = model.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    let calls: Vec<&Value> =
        messages.iter().filter_map(|m| m["tool_calls"].as_array()).flatten().collect();
    let results: Vec<&Value> = messages.iter().filter(|m| m["role"] == "tool").collect();
    assert_eq!((calls.len(), results.len()), (1, 1), "{messages:?}");
    assert_eq!(calls[0]["id"], results[0]["tool_call_id"]);
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn a_cancelled_run_leaves_its_model_call() {
    let (model, _callboard, stack) = stack(vec![Reply::Hang]).await;
    let run = post(&stack, "/v1/runs", json!({"input": "go", "model": "openai:scripted"})).await;
    let session = run["session"].as_str().unwrap();
    within(Duration::from_secs(20), "the model is asked", || {
        (!model.requests().is_empty()).then_some(())
    })
    .await;
    let asked = Instant::now();
    post(&stack, &format!("/v1/sessions/{session}/cancel"), json!({"reason": "enough"})).await;
    let run = until_it_ends(&stack, session).await;
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert_eq!((&run["status"], &run["reason"]), (&json!("cancelled"), &json!("enough")), "{run}");
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn the_time_of_a_run_is_over_at_the_bottom_too() {
    let marker = "100.03125";
    let command = format!("sleep {marker}");
    let call = Reply::call("run_command", &json!({"command": command}));
    let (_model, _callboard, stack) = stack(vec![call, Reply::text("Out of time.")]).await;
    let body = json!({"input": "go", "model": "openai:scripted", "approve": ["*"], "wait": true,
                      "limits": {"max_time_ms": 1500}});
    let run = post(&stack, "/v1/runs", body).await;
    // The service was told how much time was left, less what the way back takes.
    let call = &run["tool_calls"][0];
    assert_eq!(call["failure"]["kind"], "timeout", "{run}");
    assert!(call["duration_ms"].as_u64().unwrap() < 1_500, "{run}");
    within(SOON, "every process of the command ends", || {
        (processes_with(marker) == 0).then_some(())
    })
    .await;
    assert_eq!(stack.stop().await, 0);
}
