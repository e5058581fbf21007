//! What history costs: one run of many calls against many runs of few.

use std::path::Path;

use callboard_tests::{Callboard, ModelServer, Reply};
use serde_json::{Value, json};

/// Calls of the long run, and how the same number is split.
const CALLS: usize = 1_000;
const RUNS: usize = 10;

pub async fn compare() {
    let long = cost(1, CALLS).await;
    let short = cost(RUNS, CALLS / RUNS).await;
    println!(
        "journal of 1 run of {CALLS} calls: {:.2} MB; of {RUNS} runs of {}: {:.2} MB; ratio {:.2} \
         (at most 1.2)",
        long / 1e6,
        CALLS / RUNS,
        short / 1e6,
        long / short
    );
}

/// Bytes that a journal grows by with `runs` runs of `calls` calls each in one session.
async fn cost(runs: usize, calls: usize) -> f64 {
    let model = ModelServer::start(move |asked, _| reply(asked, calls)).await;
    let callboard =
        Callboard::new().env("OPENAI_API_KEY", "none").env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    let http = stack.client();
    let answer = http.post(format!("{}/v1/sessions", stack.url)).json(&json!({})).send().await;
    let session: Value = answer.unwrap().json().await.unwrap();
    let url = format!("{}/v1/sessions/{}/runs", stack.url, session["id"].as_str().unwrap());
    for _ in 0..runs {
        let limits = json!({"max_steps": calls + 1, "max_calls": calls, "max_time_ms": 600_000});
        let body = json!({"input": "work", "wait": true, "limits": limits});
        let run = http.post(&url).json(&body).send().await.unwrap();
        let run: Value = run.json().await.unwrap();
        assert_eq!(run["status"], "completed", "{}", run["answer"]);
        assert_eq!(run["tool_calls"].as_array().unwrap().len(), calls);
    }
    assert_eq!(stack.stop().await, 0);
    journal(&callboard.home().join("state"))
}

/// As many calls as a run has, then a text; `asked` is how often the model was asked before.
fn reply(asked: usize, calls: usize) -> Reply {
    let made = asked % (calls + 1);
    if made == calls {
        return Reply::text("done");
    }
    Reply::call("calculate", &json!({"expression": format!("{made} + 1")}))
}

/// Size of the journal in a folder, in bytes; it was closed, so nothing waits in its log.
fn journal(folder: &Path) -> f64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            bytes += journal(&path) as u64;
        } else if path.file_name().unwrap().to_string_lossy().starts_with("journal") {
            bytes += entry.metadata().unwrap().len();
        }
    }
    bytes as f64
}
