//! The loop over OpenAI's real wire: what is sent satisfies the rules, what is broken is said.

mod cuts;

use std::collections::HashSet;

use callboard_tests::{Callboard, ModelServer, Reply};
use serde_json::{Value, json};

fn with(model: &ModelServer) -> Callboard {
    Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url())
        .env("CALLBOARD__ORCHESTRATOR__MODELS__RETRIES", "1")
}

async fn ask(callboard: &Callboard, arguments: &[&str]) -> (i32, Value, String) {
    let all = [&["ask", "--json", "--model", "openai:scripted"], arguments].concat();
    let finished = callboard.run(&all).await;
    callboard.nothing_is_left().await;
    let json = serde_json::from_str(&finished.stdout).unwrap_or(Value::Null);
    (finished.code, json, finished.stderr)
}

/// The rules of the context, for one request.
fn check(body: &Value, input: &str) {
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    let has_input = messages.iter().any(|m| m["role"] == "user" && m["content"] == input);
    assert!(has_input, "the input is there word for word");
    let (mut open, mut seen) = (Vec::new(), HashSet::new());
    for message in messages {
        if message["role"] == "tool" {
            assert!(!open.is_empty(), "a result without a call");
            assert_eq!(message["tool_call_id"], open.remove(0), "in the order of the calls");
        } else {
            assert!(open.is_empty(), "a call without a result");
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                assert!(seen.insert(call["id"].clone()), "ids are unique");
                open.push(call["id"].clone());
            }
        }
    }
    assert!(open.is_empty(), "every call has its result");
    let tools = body["tools"].as_array().map_or(0, Vec::len);
    assert!(tools <= 16, "{tools} tools");
}

#[tokio::test]
async fn two_calls_and_text_in_one_step_are_one_message() {
    let model = ModelServer::start(|n, _| match n {
        0 => Reply::Calls(
            "Let me calculate both.".into(),
            vec![
                ("calculate".into(), json!({"expression": "6*7"}).to_string()),
                ("calculate".into(), json!({"expression": "2^10"}).to_string()),
            ],
        ),
        _ => Reply::text("42 and 1024."),
    })
    .await;
    let callboard = with(&model);
    let (code, run, stderr) = ask(&callboard, &["both please"]).await;
    assert_eq!((code, &run["answer"]), (0, &"42 and 1024.".into()), "{stderr}");
    assert_eq!(run["usage"], json!({"input_tokens": 22, "output_tokens": 14}));
    assert_eq!(run["steps"], 2);
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    for body in &requests {
        check(body, "both please");
    }
    let messages = requests[1]["messages"].as_array().unwrap();
    let tail: Vec<_> =
        messages[messages.len() - 3..].iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(tail, ["assistant", "tool", "tool"]);
    let assistant = &messages[messages.len() - 3];
    assert_eq!(assistant["content"], "Let me calculate both.");
    assert_eq!(assistant["tool_calls"].as_array().unwrap().len(), 2);
    assert!(messages[messages.len() - 2]["content"].as_str().unwrap().contains("42"));
    assert!(messages[messages.len() - 1]["content"].as_str().unwrap().contains("1024"));
    let authorised = model.headers()[0]["authorization"].to_str().unwrap().to_owned();
    assert_eq!(authorised, "Bearer sk-test-key-0123456789");
    assert!(model.headers()[0].contains_key("traceparent"), "the trace goes on to the provider");
}

#[tokio::test]
async fn forty_steps_with_large_results_stay_within_the_rules() {
    let model = ModelServer::start(|n, _| {
        if n < 40 {
            Reply::call("read_file", &json!({"path": format!("big{n}.txt")}))
        } else {
            Reply::text("Read them all.")
        }
    })
    .await;
    let callboard = with(&model);
    for n in 0..40 {
        callboard.file(&format!("big{n}.txt"), format!("line {n} of a large file\n").repeat(900));
    }
    let (code, run, stderr) = ask(&callboard, &["--max-steps", "50", "read all"]).await;
    assert_eq!((code, &run["steps"]), (0, &41.into()), "{stderr}");
    let requests = model.requests();
    assert_eq!(requests.len(), 41);
    // 32,768 tokens; four ASCII characters are one.
    let budget = 32_768 * 4;
    for (n, body) in requests.iter().enumerate() {
        check(body, "read all");
        let messages = body["messages"].as_array().unwrap();
        let size = |m: &Value| m["content"].as_str().map_or(0, |text| text.chars().count());
        let results: usize = messages.iter().filter(|m| m["role"] == "tool").map(size).sum();
        assert!(results <= budget / 2, "request {n}: {results} characters of results");
        assert!(messages.iter().map(size).sum::<usize>() <= budget, "request {n}");
        if n > 0 {
            assert!(size(messages.last().unwrap()) > 10_000, "the newest result is not shrunk");
        }
    }
    let first = requests[40]["messages"].as_array().unwrap().iter().find(|m| m["role"] == "tool");
    let first = first.unwrap()["content"].as_str().unwrap().chars().count();
    assert!(first <= 500, "the oldest result is a summary line of at most 500 characters");
}

#[tokio::test]
async fn a_provider_in_trouble_gives_a_clear_failure() {
    let error = json!({"error": {"message": "boom"}}).to_string();
    let plain = |status: u16, body: &str| Reply::Raw(status, Vec::new(), body.to_owned());
    let limited = Reply::Raw(429, vec![("retry-after".into(), "0".into())], error.clone());
    let sse = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    for (name, reply, says) in [
        ("500", plain(500, &error), "500"),
        ("429", limited, "429"),
        ("401", plain(401, &error), "key"),
        ("no JSON", plain(200, "<html>hello</html>"), "OpenAI-compatible"),
        (
            "cut",
            Reply::Cut(
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n".into(),
            ),
            "",
        ),
        (
            "error in a stream",
            Reply::Raw(200, sse, format!("data: {error}\n\ndata: [DONE]\n\n")),
            "boom",
        ),
    ] {
        let model = ModelServer::script(vec![reply]).await;
        let (code, run, stderr) = ask(&with(&model), &["hello"]).await;
        assert_eq!((code, &run["status"]), (1, &"failed".into()), "{name}: {run} {stderr}");
        let said = format!("{}{stderr}", run["answer"]);
        assert!(said.contains(says), "{name}: {said}");
        assert!(!said.contains("half"), "{name}: a cut reply is no answer");
        assert!(!said.contains("sk-test-key"), "{name}: no secret is shown");
    }
}

#[tokio::test]
async fn a_provider_that_refuses_or_hangs_does_not_hang_us() {
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .env("CALLBOARD__ORCHESTRATOR__MODELS__RETRIES", "0");
    let (code, run, _) = ask(&callboard, &["hello"]).await;
    assert_eq!((code, &run["status"]), (1, &"failed".into()), "{run}");

    let model = ModelServer::script(vec![Reply::Hang]).await;
    let callboard = with(&model)
        .env("CALLBOARD__ORCHESTRATOR__MODELS__RETRIES", "0")
        .env("CALLBOARD__ORCHESTRATOR__MODELS__IDLE_TIMEOUT_MS", "300")
        .env("CALLBOARD__ORCHESTRATOR__MODELS__FIRST_BYTE_TIMEOUT_MS", "300");
    let (code, run, _) = ask(&callboard, &["hello"]).await;
    assert_eq!((code, &run["status"]), (1, &"failed".into()), "{run}");
}

#[tokio::test]
async fn a_silent_model_is_said_to_be_silent_and_ends_at_its_limit() {
    let model = ModelServer::script(vec![Reply::Hang]).await;
    let callboard = with(&model).env("CALLBOARD__ORCHESTRATOR__MODELS__WHOLE_TIMEOUT_MS", "6000");
    let (code, run, stderr) = ask(&callboard, &["hello"]).await;
    assert_eq!((code, &run["status"]), (1, &"failed".into()), "{run}");
    assert!(run["answer"].as_str().unwrap().contains("6 s"), "{run}");
    let said = "callboard: waiting for the model (openai:scripted), which has not answered yet\n";
    assert_eq!(stderr, said);
}

#[tokio::test]
async fn wrong_arguments_go_back_to_the_model_all_at_once() {
    let model = ModelServer::start(|n, body| match n {
        0 => Reply::call("read_file", &json!({"offset": "x", "nonsense": 1})),
        1 => {
            let said = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
            for part in ["path", "/offset", "nonsense"] {
                assert!(said.contains(part), "{part} is not named: {said}");
            }
            Reply::Calls(String::new(), vec![("read_file".into(), "{\"path\": \"a.txt\"".into())])
        }
        2 => {
            let said = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
            assert!(
                !said.contains("secret line"),
                "cut arguments are never closed and run: {said}"
            );
            Reply::call("nonexistent", &json!({}))
        }
        _ => Reply::text("Gave up."),
    })
    .await;
    let callboard = with(&model);
    callboard.file("a.txt", "secret line\n");
    let (code, run, stderr) = ask(&callboard, &["go"]).await;
    assert_eq!(code, 0, "{run} {stderr}");
    let statuses: Vec<_> = run["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["failed", "failed", "failed"]);
}

#[tokio::test]
async fn the_step_limit_ends_with_a_last_word_and_code_4() {
    let model = ModelServer::start(|n, body| {
        if body.get("tools").is_some_and(|tools| !tools.as_array().unwrap().is_empty()) {
            Reply::call("calculate", &json!({"expression": format!("{n}+1")}))
        } else {
            Reply::text("This is what I have.")
        }
    })
    .await;
    let (code, run, _) = ask(&with(&model), &["--max-steps", "3", "go on"]).await;
    assert_eq!((code, &run["status"]), (4, &"limit_reached".into()), "{run}");
    assert_eq!(run["answer"], "This is what I have.");
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_model_that_comes_after_the_stack_is_found() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ollama = format!("http://{}", listener.local_addr().unwrap());
    let callboard =
        Callboard::new().env("CALLBOARD__ORCHESTRATOR__MODELS__OLLAMA__BASE_URL", &ollama);
    let stack = callboard.up(&[]).await;
    let models = async || {
        let status = callboard.run(&["status", "--json"]).await.expect(0).json();
        status["status"]["models"].clone()
    };
    assert_eq!(models().await, json!(["offline"]));
    let doctor = callboard.run(&["doctor"]).await;
    assert!(doctor.stdout.contains("`offline`"), "{doctor:?}");

    let _model = ModelServer::serve(listener, |_, _| Reply::text("Hello from upstairs."));
    let found = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        while models().await != json!(["ollama:scripted"]) {}
    });
    found.await.expect("the look is repeated");
    let asked = callboard.run(&["ask", "hello"]).await.expect(0);
    assert_eq!(asked.stdout.trim(), "Hello from upstairs.");
    let doctor = callboard.run(&["doctor"]).await;
    assert!(doctor.stdout.contains("ollama:scripted"), "{doctor:?}");
    assert_eq!(stack.stop().await, 0);
}
