//! A reply that is cut anywhere, by the end of its stream or by a broken connection: it is the whole
//! reply or none, and no call is made of a part of it.

use callboard_tests::{ModelServer, Reply, Stack};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::with;

/// Runs at the same time.
const AT_ONCE: usize = 16;
/// The arguments of both calls, as the model writes them. Cut short, either would still be arithmetic.
const EXPRESSIONS: [&str; 2] = ["12345+1", "(2+3)*4567"];

/// The stream of a reply with two calls in fragments.
fn body() -> String {
    let chunk = |delta: &Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let fragment = |index: usize, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        let call = json!({"index": index, "id": id, "function": function});
        chunk(&json!({"tool_calls": [call]}), None)
    };
    let mut body = chunk(&json!({"content": "both:"}), None);
    for (index, expression) in EXPRESSIONS.iter().enumerate() {
        let arguments = json!({"expression": expression}).to_string();
        let (one, other) = arguments.split_at(arguments.len() / 2);
        body += &fragment(index, Some(["a", "b"][index]), Some("calculate"), one);
        body += &fragment(index, None, None, other);
    }
    body + &chunk(&json!({}), Some("tool_calls")) + "data: [DONE]\n\n"
}

/// What the model answers to a run with the input `KIND N`: the first `N` bytes, then the end of that
/// kind; once it sees results, an answer.
fn reply(body: &str, request: &Value) -> Reply {
    let messages = request["messages"].as_array().unwrap();
    if messages.iter().any(|message| message["role"] == "tool") {
        return Reply::text("done");
    }
    let input = messages.last().unwrap()["content"].as_str().unwrap();
    let (kind, at) = input.split_once(' ').unwrap();
    let part = body[..at.parse::<usize>().unwrap()].to_owned();
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    if kind == "end" { Reply::Raw(200, headers, part) } else { Reply::Cut(part) }
}

async fn run(stack: &Stack, kind: &str, at: usize) -> Value {
    let request =
        json!({"input": format!("{kind} {at}"), "model": "openai:scripted", "wait": true});
    let answer = stack.client().post(format!("{}/v1/runs", stack.url)).json(&request).send().await;
    answer.unwrap().json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_is_cut_at_any_byte_is_whole_or_none() {
    let body = body();
    // From here on the reply has said that it is whole; until the line's end it may be taken so.
    let said = body.find("\"finish_reason\":\"tool_calls\"").unwrap();
    let said = said + body[said..].find('\n').unwrap();
    let played = body.clone();
    let model = ModelServer::start(move |_, request| reply(&played, request)).await;
    let callboard = with(&model).env("CALLBOARD__ORCHESTRATOR__MODELS__RETRIES", "0");
    let stack = callboard.up(&[]).await;
    let all = (0..=body.len()).flat_map(|at| [("end", at), ("reset", at)]);
    let runs = stream::iter(all).map(async |(kind, at)| (kind, at, run(&stack, kind, at).await));
    let mut whole = 0;
    let mut runs = runs.buffer_unordered(AT_ONCE);
    while let Some((kind, at, run)) = runs.next().await {
        let calls = run["tool_calls"].as_array().unwrap_or_else(|| panic!("{kind} {at}: {run}"));
        if run["status"] == "failed" {
            assert!(calls.is_empty(), "{kind} {at}: {run}");
            assert!(at <= said + 2 || kind == "reset", "it was whole: {kind} {at}: {run}");
            continue;
        }
        assert!(at >= said, "it was not whole: {kind} {at}: {run}");
        assert_eq!((&run["status"], &run["answer"]), (&json!("completed"), &json!("done")));
        let made: Vec<&Value> = calls.iter().map(|call| &call["arguments"]["expression"]).collect();
        assert_eq!(made, EXPRESSIONS);
        whole += 1;
    }
    drop(runs);
    assert!(whole >= "data: [DONE]\n\n".len(), "{whole}");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}
