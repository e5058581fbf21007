//! What is large is shown whole: many calls in one reply, in one run, in one session.

use callboard_discovery::Instance;
use callboard_proto::agent::{GetSessionRequest, GetSessionResponse, Principal};
use callboard_tests::{Callboard, ModelServer, Reply, send};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::raw::{agents, instance, is_soon, replaced};

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

/// A page of a session's runs, as a gateway asks for it.
async fn page(orchestrator: &Instance, session: &str, token: &str) -> GetSessionResponse {
    let principal = Principal { team: "default".to_owned(), name: "raw".to_owned() };
    let request = GetSessionRequest {
        principal: Some(principal),
        session: session.to_owned(),
        page_token: token.to_owned(),
        ..GetSessionRequest::default()
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        match agents(orchestrator).get_session(request.clone()).await {
            Err(status) if is_soon(status.code()) && std::time::Instant::now() < deadline => {}
            answer => return answer.unwrap().into_inner(),
        }
    }
}

/// The pages from `token` on.
async fn pages(
    orchestrator: &Instance,
    session: &str,
    mut token: String,
) -> Vec<GetSessionResponse> {
    let mut pages = Vec::new();
    loop {
        let next = page(orchestrator, session, &token).await;
        token.clone_from(&next.next_page_token);
        pages.push(next);
        if token.is_empty() {
            return pages;
        }
    }
}

#[tokio::test]
async fn pages_that_were_begun_go_on_as_the_session_was_then() {
    let model = ModelServer::start(|n, _| {
        let call = |nth: usize| {
            let arguments = json!({ "path": "big.txt", "offset": nth + 1, "limit": 1 });
            ("read_file".to_owned(), arguments.to_string())
        };
        match n {
            0 => Reply::Calls(String::new(), (0..100).map(call).collect()),
            _ => Reply::text("All done."),
        }
    })
    .await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let lines: Vec<_> = (1..=100).map(|line| format!("{line} {}", "y".repeat(15_000))).collect();
    callboard.file("big.txt", lines.join("\n"));
    let stack = callboard.up(&[]).await;
    let ask = ["ask", "--json", "--model", "openai:scripted", "count"];
    let run = callboard.run(&ask).await.expect(0).json();
    let session = run["session"].as_str().unwrap();
    let owner = instance(&callboard, "orchestrator").await;
    let before = pages(&owner, session, String::new()).await;
    assert!(before.len() > 2, "{} pages", before.len());
    let calls: usize = before.iter().flat_map(|page| &page.runs).map(|run| run.calls.len()).sum();
    assert_eq!(calls, 100);

    // Between two pages the session goes on, and so does the process that had folded it.
    let first = page(&owner, session, "").await;
    let more = ["ask", "--json", "--session", session, "once more"];
    let second = callboard.run(&more).await.expect(0).json();
    let second_page = page(&owner, session, &first.next_page_token).await;
    send(owner.pid, Signal::KILL);
    let heir = replaced(&callboard, "orchestrator", owner.pid).await;
    let mut told = pages(&heir, session, second_page.next_page_token.clone()).await;
    told.splice(0..0, [first, second_page]);
    let runs = |pages: &[GetSessionResponse]| -> Vec<_> {
        pages.iter().map(|page| page.runs.clone()).collect()
    };
    assert!(runs(&told) == runs(&before), "the pages do not fit together");

    let now = pages(&heir, session, String::new()).await;
    let last = now.iter().flat_map(|page| &page.runs).next_back().unwrap();
    assert_eq!((json!(last.id), &json!(last.answer)), (second["run"].clone(), &second["answer"]));
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}
