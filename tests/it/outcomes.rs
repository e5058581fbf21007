//! A call whose outcome nobody knows: what the model and the person are told, and what a person's word
//! on it does.

use std::time::Duration;

use callboard_tests::{Callboard, ModelServer, Reply, Stack, processes_of, within};
use serde_json::{Value, json};

/// A session with a call whose service was killed in the middle of it.
async fn lost() -> (Callboard, Stack, ModelServer, Value) {
    let model = ModelServer::start(|n, _| match n {
        0 => {
            let command = "echo ran >> ran.txt; if [ ! -e once ]; then touch once; sleep 60; fi";
            Reply::call("run_command", &json!({"command": command}))
        }
        _ => Reply::text("I do not know whether it ran."),
    })
    .await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    let run = stack.client().post(format!("{}/v1/runs", stack.url)).json(&json!({
        "input": "go", "model": "openai:scripted", "approve": ["run_command"], "wait": true}));
    let run = tokio::spawn(async move { run.send().await.unwrap().json::<Value>().await.unwrap() });
    let begun = callboard.workspace().join("once");
    within(Duration::from_secs(20), "the command runs", || begun.exists().then_some(())).await;
    let processes = processes_of(callboard.home());
    let shell = processes.iter().find(|(_, command)| command.contains("serve shell")).unwrap().0;
    let pid = rustix::process::Pid::from_raw(shell.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let run = run.await.unwrap();
    assert_eq!(run["tool_calls"][0]["status"], "outcome_unknown", "{run}");
    (callboard, stack, model, run)
}

fn ids(run: &Value) -> (&str, &str) {
    (run["session"].as_str().unwrap(), run["tool_calls"][0]["call_id"].as_str().unwrap())
}

/// What the model reads of the lost call when it is asked again.
async fn read_again(stack: &Stack, model: &ModelServer, session: &str) -> String {
    let url = format!("{}/v1/sessions/{session}/runs", stack.url);
    let body = json!({"input": "and now?", "wait": true});
    let answer = stack.client().post(url).json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let asked = model.requests().pop().unwrap();
    let messages = asked["messages"].as_array().unwrap();
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_says_that_it_took_effect() {
    let (callboard, stack, model, run) = lost().await;
    let (session, call) = ids(&run);
    let told = run["tool_calls"][0]["content"].as_str().unwrap();
    assert!(told.starts_with("{\"status\":\"outcome_unknown\""), "{told}");
    assert!(told.contains("ask the person before repeating it"), "{told}");
    let way_out = format!("callboard sessions decide {session} {call} done");
    let shown = callboard.run(&["sessions", "show", session, "--json"]).await.expect(0).stdout;
    assert!(shown.contains(&way_out), "the person is told how: {shown}");
    let done = ["sessions", "decide", session, call, "done", "--note", "I saw the line"];
    let said = callboard.run(&done).await.expect(0);
    assert_eq!(said.stderr.trim(), "The call counts as done.");
    let said = callboard.run(&done).await.expect(0);
    assert_eq!(said.stderr.trim(), "The call already counts as done.");
    let other = callboard.run(&["sessions", "decide", session, call, "not-done"]).await.expect(1);
    assert!(other.stderr.contains("`done` was made before"), "{other:?}");
    let read = read_again(&stack, &model, session).await;
    assert!(read.starts_with("[A person checked: it took effect. Do not repeat it."), "{read}");
    assert!(read.contains("They say: I saw the line"), "{read}");
    // A call whose outcome is known leaves nothing to decide.
    let nothing = callboard.run(&["sessions", "decide", session, "no-such-call", "done"]).await;
    assert!(nothing.expect(1).stderr.contains("nothing is to be decided"));
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn a_person_has_it_repeated_along_the_same_path() {
    let (callboard, stack, model, run) = lost().await;
    let (session, call) = ids(&run);
    let ran = || std::fs::read_to_string(callboard.workspace().join("ran.txt")).unwrap();
    assert_eq!(ran(), "ran\n", "it is not repeated by itself");
    let url = format!("{}/v1/sessions/{session}", stack.url);
    let tools = format!("{}/v1/tools", stack.url);
    let is_back = async || {
        let tools = stack.client().get(&tools).send().await.unwrap().json::<Value>().await.unwrap();
        let mut tools = tools["tools"].as_array().unwrap().iter();
        let shell = tools.find(|tool| tool["name"] == "run_command");
        shell.is_some_and(|tool| !tool["instances"].as_array().unwrap().is_empty())
    };
    while !is_back().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let repeat = json!({"choice": "repeat"});
    let mut chosen = Vec::new();
    for _ in 0..2 {
        let request = stack.client().post(format!("{url}/outcomes/{call}")).json(&repeat);
        let answer = request.header("idempotency-key", "again").send().await.unwrap();
        chosen.push(answer.json::<Value>().await.unwrap());
    }
    assert_eq!(chosen[0], chosen[1], "told twice, it is one repetition");
    assert_eq!(chosen[0]["first"], true);
    let again = chosen[0]["run"].as_str().unwrap();
    let find = async || {
        let shown = stack.client().get(&url).send().await.unwrap().json::<Value>().await.unwrap();
        let runs = shown["runs"].as_array().unwrap();
        runs.iter().find(|run| run["run"] == again).unwrap().clone()
    };
    // It is judged anew, and asked about anew.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while find().await["status"] != "waiting" {
        assert!(std::time::Instant::now() < deadline, "{}", find().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ran(), "ran\n");
    let waiting = find().await["tool_calls"][0]["call_id"].as_str().unwrap().to_owned();
    let _ = callboard.run(&["approvals", "approve", session, &waiting]).await.expect(0);
    while find().await["status"] != "completed" {
        assert!(std::time::Instant::now() < deadline, "{}", find().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ran(), "ran\nran\n");
    let read = read_again(&stack, &model, session).await;
    assert!(read.starts_with("[A person had it repeated; do not repeat it. The result:"), "{read}");
    let _ = callboard.run(&["sessions", "replay", session]).await.expect(0);
    assert_eq!(stack.stop().await, 0);
}
