//! What is asked twice under one key happens once, also when its orchestrator dies in between.

use std::time::Duration;

use callboard_tests::{Callboard, ModelServer, Reply, Stack, processes_of, within};
use reqwest::StatusCode;
use serde_json::{Value, json};

/// A stack with a played model.
async fn stack(model: &ModelServer) -> (Callboard, Stack) {
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    (callboard, stack)
}

/// Posts under a key: status, `Location` and body.
async fn post(stack: &Stack, path: &str, key: &str, body: &Value) -> (StatusCode, String, Value) {
    let request = stack.client().post(format!("{}{path}", stack.url)).json(body);
    let answer = request.header("idempotency-key", key).send().await.unwrap();
    let location = answer.headers().get("location").map(|at| at.to_str().unwrap().to_owned());
    (answer.status(), location.unwrap_or_default(), answer.json().await.unwrap_or_default())
}

fn orchestrator(callboard: &Callboard) -> Option<u32> {
    let processes = processes_of(callboard.home());
    processes
        .iter()
        .find(|(_, command)| command.contains("serve orchestrator"))
        .map(|(pid, _)| *pid)
}

/// Kills the orchestrator and waits for the next one.
async fn kill_orchestrator(callboard: &Callboard) {
    let before = orchestrator(callboard).unwrap();
    let pid = rustix::process::Pid::from_raw(before.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    within(Duration::from_secs(20), "another orchestrator comes", || {
        orchestrator(callboard).filter(|pid| *pid != before)
    })
    .await;
}

async fn asked(model: &ModelServer, count: usize) {
    within(Duration::from_secs(20), "the model is asked", || {
        (model.requests().len() >= count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_run_asked_for_twice_is_one_run_across_two_deaths() {
    let model = ModelServer::start(|n, _| match n {
        0 | 1 => Reply::Hang,
        _ => Reply::text("Only once."),
    })
    .await;
    let (callboard, stack) = stack(&model).await;
    let body = json!({"input": "hello", "model": "openai:scripted"});
    let (status, _, first) = post(&stack, "/v1/runs", "k-1", &body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{first}");
    let location = format!("/v1/sessions/{}", first["session"].as_str().unwrap());
    for deaths in 1..=2 {
        asked(&model, deaths).await;
        let (status, at, again) = post(&stack, "/v1/runs", "k-1", &body).await;
        assert_eq!((status, at), (StatusCode::CONFLICT, location.clone()), "{again}");
        assert_eq!((&again["run"], &again["session"]), (&first["run"], &first["session"]));
        let other = json!({"input": "hello!", "model": "openai:scripted"});
        let (status, _, other) = post(&stack, "/v1/runs", "k-1", &other).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{other}");
        kill_orchestrator(&callboard).await;
    }
    let waits = json!({"input": "hello", "model": "openai:scripted", "wait": true});
    let (status, _, run) = post(&stack, "/v1/runs", "k-1", &waits).await;
    assert_eq!((status, &run["answer"]), (StatusCode::OK, &json!("Only once.")), "{run}");
    assert_eq!(run["run"], first["run"]);
    // Over, it is answered as it was the first time.
    let (status, _, again) = post(&stack, "/v1/runs", "k-1", &body).await;
    assert_eq!((status, again), (StatusCode::ACCEPTED, first));
    // The same holds in a session that was there before.
    let runs = format!("{location}/runs");
    for input in ["and now", "and now", "and later"] {
        let body = json!({"input": input, "wait": true});
        let (status, ..) = post(&stack, &runs, "k-2", &body).await;
        assert_eq!(status.as_u16(), if input == "and later" { 422 } else { 200 });
    }
    let url = format!("{}{location}", stack.url);
    let session: Value = stack.client().get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(session["runs"].as_array().unwrap().len(), 2, "{session}");
    let all = format!("{}/v1/sessions", stack.url);
    let all: Value = stack.client().get(all).send().await.unwrap().json().await.unwrap();
    assert_eq!(all["sessions"].as_array().unwrap().len(), 1, "{all}");
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn a_decision_told_twice_is_one_decision() {
    let model = ModelServer::start(|n, _| match n {
        0 => Reply::call("run_command", &json!({"command": "echo ran >> ran.txt"})),
        _ => Reply::text("Done."),
    })
    .await;
    let (callboard, stack) = stack(&model).await;
    let body = json!({"input": "go", "model": "openai:scripted", "approver": true});
    let (_, at, first) = post(&stack, "/v1/runs", "run", &body).await;
    let url = format!("{}{at}", stack.url);
    let call = loop {
        let session: Value = stack.client().get(&url).send().await.unwrap().json().await.unwrap();
        let call = &session["runs"][0]["tool_calls"][0];
        if call["status"] == "waiting" {
            break call["call_id"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let path = format!("{at}/approvals/{call}");
    let yes = json!({"decision": "approve", "note": "go on"});
    for round in 0..2 {
        let (status, _, decided) = post(&stack, &path, "d-1", &yes).await;
        assert_eq!(status, StatusCode::OK, "{decided}");
        assert_eq!(decided, json!({"first": true, "approved": true}), "round {round}");
        let (status, _, other) =
            post(&stack, &path, "d-1", &json!({"decision": "approve", "note": "no"})).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{other}");
        let (_, _, second) = post(&stack, &path, "d-2", &yes).await;
        assert_eq!(second, json!({"first": false, "approved": true}));
        let (status, _, against) = post(&stack, &path, "d-3", &json!({"decision": "deny"})).await;
        assert_eq!(status, StatusCode::CONFLICT, "{against}");
        let waits =
            json!({"input": "go", "model": "openai:scripted", "approver": true, "wait": true});
        let (_, _, run) = post(&stack, "/v1/runs", "run", &waits).await;
        assert_eq!((&run["run"], &run["answer"]), (&first["run"], &json!("Done.")), "{run}");
        if round == 0 {
            kill_orchestrator(&callboard).await;
        }
    }
    let ran = std::fs::read_to_string(callboard.workspace().join("ran.txt")).unwrap();
    assert_eq!(ran, "ran\n", "the command ran once");
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn a_session_opened_twice_is_one_session() {
    let model = ModelServer::script(vec![Reply::text("hi")]).await;
    let (_callboard, stack) = stack(&model).await;
    let (status, _, first) = post(&stack, "/v1/sessions", "s", &json!({"title": "One"})).await;
    assert_eq!(status, StatusCode::CREATED, "{first}");
    let (status, _, again) = post(&stack, "/v1/sessions", "s", &json!({"title": "One"})).await;
    assert_eq!((status, &again["id"]), (StatusCode::CREATED, &first["id"]));
    let (status, _, other) = post(&stack, "/v1/sessions", "s", &json!({"title": "Two"})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{other}");
    assert_eq!(stack.stop().await, 0);
}
