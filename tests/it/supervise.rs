//! Roles that die under a stack are started again, and who waits for an answer gets it.

use std::{sync::Arc, time::Duration};

use callboard_tests::{Callboard, Events, ModelServer, Reply, Stack, alive, role_of, send, within};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_secs(30);

/// An installation whose model is played.
fn with_model(model: &ModelServer) -> Callboard {
    Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url())
}

/// The process of a role, once there is one other than `before`.
async fn process(callboard: &Callboard, role: &str, before: u32) -> u32 {
    within(SOON, role, || role_of(callboard.home(), role).filter(|pid| *pid != before)).await
}

async fn begin(stack: &Stack, input: &str) -> Events {
    let body = json!({"input": input, "model": "openai:x", "approve": ["*"]});
    Events::of(stack.client().post(format!("{}/v1/runs", stack.url)).json(&body)).await
}

/// The instance that serves a service's tools.
async fn serving(stack: &Stack, service: &str) -> Option<String> {
    let answer = stack.client().get(format!("{}/v1/tools", stack.url)).send().await.unwrap();
    let tools: Value = answer.json().await.unwrap();
    let tool = tools["tools"].as_array()?.iter().find(|tool| tool["service"] == service)?;
    let live = tool["instances"].as_array()?.iter().find(|one| one["state"] == "serving")?;
    live["id"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_killed_gateway_is_replaced_and_the_client_sees_the_answer() {
    let gate = Arc::new(Notify::new());
    let held = Reply::Held(Arc::clone(&gate), Box::new(Reply::text("Here I am.")));
    let model = ModelServer::script(vec![held]).await;
    let callboard = with_model(&model);
    let stack = callboard.up(&[]).await;
    let ask = callboard.command(&["ask", "--json", "--model", "openai:x", "hello"]).spawn();
    within(SOON, "the model is asked", || (!model.requests().is_empty()).then_some(())).await;
    let gateway = process(&callboard, "gateway", 0).await;
    send(gateway, Signal::KILL);
    process(&callboard, "gateway", gateway).await;
    gate.notify_one();
    let output = tokio::time::timeout(SOON, ask.unwrap().wait_with_output()).await;
    let output = output.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&run["answer"], &run["status"]),
        (&json!("Here I am."), &json!("completed")),
        "{run}"
    );
    assert_eq!(model.requests().len(), 1);
    // Its port and its token are the same ones.
    let status = stack.client().get(format!("{}/v1/status", stack.url)).send().await.unwrap();
    assert_eq!(status.status(), 200);
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

/// Resolves once the orchestrator knows a tool: one that was never known is not waited for.
async fn is_offered(stack: &Stack, tool: &str) {
    loop {
        let asked = stack.client().get(format!("{}/v1/tools", stack.url)).send().await.unwrap();
        let offered: Value = asked.json().await.unwrap();
        if offered["tools"].as_array().unwrap().iter().any(|offered| offered["name"] == tool) {
            return;
        }
    }
}

/// What only reads is done again by the service's next process.
#[tokio::test]
async fn a_tool_service_that_is_killed_during_a_call_is_replaced_and_the_call_made_again() {
    // Files and search judge a call before it is made, and are stopped while they do.
    let (asked, sent) = ("model.replied", "attempt.started");
    for (service, last, tool, arguments, expected) in [
        ("calculator", sent, "calculate", json!({"expression": "6 * 7"}), "42"),
        ("files", asked, "read_file", json!({"path": "notes.md"}), "meet at noon"),
        ("search", asked, "search_text", json!({"pattern": "noon"}), "notes.md"),
    ] {
        let model =
            ModelServer::script(vec![Reply::call(tool, &arguments), Reply::text("Done.")]).await;
        let callboard = with_model(&model);
        callboard.file("notes.md", "meet at noon\n");
        let stack = callboard.up(&[]).await;
        tokio::time::timeout(SOON, is_offered(&stack, tool)).await.expect("it is offered");
        let process = process(&callboard, service, 0).await;
        send(process, Signal::STOP);
        let mut events = begin(&stack, "do it").await;
        events.until(last).await;
        send(process, Signal::KILL);
        let run = tokio::time::timeout(SOON, events.result()).await.expect("it ends");
        let call = &run["tool_calls"][0];
        assert_eq!((&run["answer"], &call["status"]), (&json!("Done."), &json!("ok")), "{run}");
        assert!(call["content"].as_str().unwrap().contains(expected), "{service}: {call}");
        // One that is gone may be met once more before that is known.
        let least = if last == sent { 2 } else { 1 };
        assert!(call["attempts"].as_u64().unwrap() >= least, "{call}");
        assert_eq!(stack.stop().await, 0);
        callboard.nothing_is_left().await;
    }
}

#[tokio::test]
async fn a_killed_shell_runs_nothing_twice_and_serves_again() {
    let command = |text: &str| Reply::call("run_command", &json!({"command": text}));
    let gate = Arc::new(Notify::new());
    let again = Reply::Held(Arc::clone(&gate), Box::new(command("cat log")));
    let replies = vec![command("echo once >> log; sleep 60"), again, Reply::text("Done.")];
    let model = ModelServer::script(replies).await;
    let callboard = with_model(&model);
    let stack = callboard.up(&[]).await;
    let mut events = begin(&stack, "do it").await;
    let log = callboard.workspace().join("log");
    within(SOON, "the command runs", || std::fs::read_to_string(&log).ok()).await;
    let first = process(&callboard, "shell", 0).await;
    let offers = serving(&stack, "shell").await;
    send(first, Signal::KILL);
    while serving(&stack, "shell").await.is_none_or(|now| Some(now) == offers) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    gate.notify_one();
    let run = tokio::time::timeout(SOON, events.result()).await.expect("it ends");
    let calls = &run["tool_calls"];
    assert_eq!(calls[0]["status"], "outcome_unknown", "{run}");
    assert_eq!(calls[1]["status"], "ok", "{run}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "once\n");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_killed_orchestrator_attaches_to_the_call_that_still_runs() {
    let command = json!({"command": "echo once >> log; until [ -e go ]; do sleep 0.05; done"});
    let model =
        ModelServer::script(vec![Reply::call("run_command", &command), Reply::text("Done.")]).await;
    let callboard = with_model(&model);
    let stack = callboard.up(&[]).await;
    let mut events = begin(&stack, "do it").await;
    let log = callboard.workspace().join("log");
    within(SOON, "the command runs", || std::fs::read_to_string(&log).ok()).await;
    let first = process(&callboard, "orchestrator", 0).await;
    send(first, Signal::KILL);
    process(&callboard, "orchestrator", first).await;
    callboard.file("go", "");
    let run = tokio::time::timeout(SOON, events.result()).await.expect("it ends");
    assert_eq!((&run["answer"], &run["status"]), (&json!("Done."), &json!("completed")), "{run}");
    assert_eq!(run["tool_calls"][0]["status"], "ok", "{run}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "once\n");
    let owners = events.kinds().iter().filter(|kind| **kind == "owner.taken").count();
    assert!(owners <= 1, "the session's own events are no part of a run's stream");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_role_that_keeps_dying_ends_the_stack_and_is_named_with_its_log() {
    let callboard = Callboard::new();
    let mut stack = callboard.up(&[]).await;
    let mut last = 0;
    for _ in 0..6 {
        last = process(&callboard, "calculator", last).await;
        send(last, Signal::KILL);
    }
    let ended = tokio::time::timeout(SOON, stack.child.wait()).await.expect("it ends").unwrap();
    assert_eq!(ended.code(), Some(1));
    let said = std::fs::read_to_string(callboard.home().join("up.err")).unwrap();
    let last = said.lines().rfind(|line| line.contains("giving up")).unwrap_or_default();
    assert!(last.contains("calculator ended again after 5 restarts"), "{said}");
    let log = last.split_whitespace().last().unwrap_or_default();
    assert!(std::path::Path::new(log).exists(), "{log} in {last}");
    assert!(!alive(stack.child.id().unwrap_or(0)), "it is over");
    callboard.nothing_is_left().await;
}
