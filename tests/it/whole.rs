//! What is large is shown whole: many calls in one reply, in one run, in one session.

use callboard_tests::{Callboard, ModelServer, Reply};
use serde_json::{Value, json};

/// Calls of each reply, one of them more than a provider would ever send.
const CALLS: [usize; 5] = [300, 250, 250, 199, 1];
/// Characters of a line, so that the results of one run are larger than any one message.
const LINE: usize = 1_500;

/// Line of the file that a call reads, from 1.
fn line(reply: usize, nth: usize) -> usize {
    CALLS[..reply].iter().sum::<usize>() + nth + 1
}

fn text(line: usize) -> String {
    format!("{line} {}", "x".repeat(LINE))
}

#[tokio::test]
async fn a_thousand_calls_of_one_run_are_shown_whole() {
    let model = ModelServer::start(|n, _| {
        let Some(count) = CALLS.get(n) else { return Reply::text("All done.") };
        let call = |nth| {
            let arguments = json!({ "path": "big.txt", "offset": line(n, nth), "limit": 1 });
            ("read_file".to_owned(), arguments.to_string())
        };
        Reply::Calls(String::new(), (0..*count).map(call).collect())
    })
    .await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url())
        .env("CALLBOARD__ORCHESTRATOR__AGENT__MAX_CALLS", "1000")
        .env("CALLBOARD__ORCHESTRATOR__AGENT__CONTEXT_TOKENS", "200000");
    let lines: Vec<_> = (1..=1000).map(text).collect();
    callboard.file("big.txt", lines.join("\n"));
    let stack = callboard.up(&[]).await;
    let ask = ["ask", "--json", "--model", "openai:scripted", "count"];
    let run = callboard.run(&ask).await.expect(0).json();
    check(&run);
    let session = run["session"].as_str().unwrap();
    // A second run, so that the session is larger still, and has a first one that fills pages.
    let more = ["ask", "--json", "--session", session, "once more"];
    let second = callboard.run(&more).await.expect(0).json();
    assert_eq!(second["answer"], "All done.");

    let shown = callboard.run(&["sessions", "show", "--json", session]).await.expect(0).json();
    assert_eq!(shown["runs"], json!([run, second]));
    let url = format!("{}/v1/sessions/{session}", stack.url);
    let got: Value = stack.client().get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(got["runs"], shown["runs"]);
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

fn check(run: &Value) {
    assert_eq!((&run["status"], &run["answer"]), (&json!("completed"), &json!("All done.")));
    let calls = run["tool_calls"].as_array().unwrap();
    let asked = CALLS.iter().enumerate().flat_map(|(n, count)| (0..*count).map(move |i| (n, i)));
    assert_eq!(calls.len(), 1000);
    for (call, (reply, nth)) in calls.iter().zip(asked) {
        let line = line(reply, nth);
        assert_eq!(call["arguments"]["offset"], line);
        assert_eq!((&call["status"], &call["step"]), (&json!("ok"), &json!(reply + 1)));
        assert_eq!(call["structured"]["text"].as_str().unwrap().trim_end(), text(line));
    }
    assert!(run.to_string().len() > 2 << 20, "more than one message between processes holds");
}
