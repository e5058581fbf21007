//! A run in the three ways that a client can ask for it, and what makes a repeat harmless.

use callboard_proto::agent::CallSummary;
use http::{HeaderValue, Method};
use serde_json::{Value, json};

use super::{
    client::{self, Events, numbers},
    stage::{Stage, request},
};

fn keyed(path: &str, body: Value, key: &str) -> http::Request<Vec<u8>> {
    let mut request = request(Method::POST, path, Some(body));
    request.headers_mut().insert("idempotency-key", HeaderValue::from_str(key).unwrap());
    request
}

#[tokio::test]
async fn a_run_answers_with_its_ids_once_it_is_recorded() {
    let stage = Stage::new().await;
    stage.script.leave_runs_to_the_test();
    let reply = stage.post("/v1/runs", json!({ "input": "40+5?" })).await;
    assert_eq!(reply.status, 202);
    let body = reply.json();
    let session = body["session"].as_str().unwrap();
    let kept = stage.script.journal.session(session).unwrap();
    assert_eq!((kept.runs[0].id.as_str(), kept.facts.len()), (body["run"].as_str().unwrap(), 1));
    assert_eq!(reply.header("location"), format!("/v1/sessions/{session}"));
    assert_eq!(reply.header("callboard-run"), body["run"]);
}

#[tokio::test]
async fn what_the_client_says_reaches_the_orchestrator() {
    let stage = Stage::new().await;
    let body = json!({
        "input": "帮我算一下", "agent": "default", "model": ["a", "b"], "title": "T", "wait": true,
        "approver": true, "approve": ["run_*"],
        "limits": { "max_steps": 3, "max_calls": 4, "max_time_ms": 5, "max_tokens": 6 },
    });
    assert_eq!(stage.post("/v1/runs", body).await.status, 200);
    let start = stage.script.started().remove(0);
    let (open, limits) = (start.open.unwrap(), start.limits.unwrap());
    assert_eq!((start.input.as_str(), start.approver_attached), ("帮我算一下", true));
    assert_eq!(start.approve, ["run_*"]);
    assert_eq!((open.session, open.title.as_str()), (start.session, "T"));
    assert_eq!(
        (open.agent.as_str(), open.models),
        ("default", vec!["a".to_owned(), "b".to_owned()])
    );
    let limits = (limits.max_steps, limits.max_calls, limits.max_time_ms, limits.max_tokens);
    assert_eq!(limits, (3, 4, 5, 6));
    assert!(!start.idempotency_key.is_empty(), "the gateway adds a key for its own repeats");
    assert_eq!(start.principal.unwrap().name, "local");
}

#[tokio::test]
async fn a_stream_tells_facts_glimpses_and_the_result() {
    let stage = Stage::new().await;
    let events = stage.stream("/v1/runs", json!({ "input": "40+5?" })).await;
    let session = events.headers["callboard-session"].to_str().unwrap().to_owned();
    let run = events.headers["callboard-run"].to_str().unwrap().to_owned();
    let events = events.rest().await;
    assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6]);
    assert_eq!(
        events[0].data,
        json!({
            "seq": 1, "type": "input.received", "session": session, "run": run, "at": 1001,
            "data": events[0].data["data"],
        })
    );
    let glimpse = events.iter().find(|event| event.name == "glimpse").unwrap();
    assert_eq!(
        glimpse.data,
        json!({ "run": run, "request": 1, "call_id": "", "offset": 0, "text": "thinking", "restarted": false })
    );
    assert_eq!(glimpse.id, None, "a glimpse is no place to resume from");
    let last = events.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["answer"]), ("result", &json!("45")));
    assert_eq!((&last.data["session"], &last.data["run"]), (&json!(session), &json!(run)));
}

#[tokio::test]
async fn a_second_run_in_a_session_is_a_run_of_its_own() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    let body = json!({ "input": "again", "wait": true });
    let by_path = stage.post(&format!("/v1/sessions/{session}/runs"), body).await;
    assert_eq!((by_path.status.as_u16(), &by_path.json()["session"]), (200, &json!(session)));
    let events =
        stage.stream("/v1/runs", json!({ "input": "and again", "session": session })).await;
    assert_eq!(numbers(&events.rest().await), [13, 14, 15, 16, 17, 18]);
    assert_eq!(stage.script.started().len(), 3);
    assert!(stage.script.started()[1..].iter().all(|start| start.open.is_none()));
}

#[tokio::test]
async fn a_repeat_under_a_key_meets_the_same_session_and_run() {
    let stage = Stage::new().await;
    let body = || json!({ "input": "40+5?", "wait": true });
    let first = stage.send(keyed("/v1/runs", body(), "k-1")).await.json();
    let again = stage.send(keyed("/v1/runs", body(), "k-1")).await;
    assert_eq!(
        (&first["session"], &first["run"]),
        (&again.json()["session"], &again.json()["run"])
    );
    // What the headers say is the run that is, not the one that the repeat would have begun.
    assert_eq!(again.header("callboard-run"), first["run"]);
    let session = first["session"].as_str().unwrap();
    assert_eq!(uuid::Uuid::try_parse(session).unwrap().get_version_num(), 8);
    let other = stage.send(keyed("/v1/runs", body(), "k-2")).await.json();
    assert_ne!(first["session"], other["session"]);
    // Another principal's key is another key.
    let mut by_token = keyed("/v1/runs", body(), "k-1");
    let token = format!("Bearer {}", super::stage::TOKEN);
    by_token.headers_mut().insert("authorization", HeaderValue::from_str(&token).unwrap());
    let others = client::send(&stage.tcp, by_token).await.json();
    assert_ne!(first["session"], others["session"]);

    let calls = ["a", "a", "b"]
        .map(|key| keyed("/v1/tools/calculate/invoke", json!({ "arguments": {} }), key));
    for call in calls {
        assert_eq!(stage.send(call).await.status, 200);
    }
    let ids: Vec<_> = stage.script.invoked().into_iter().map(|c| (c.session, c.run)).collect();
    assert!(ids[0] == ids[1] && ids[1] != ids[2], "{ids:?}");
}

/// It waits for a person, so its stream tells nothing.
#[tokio::test]
async fn a_repeat_that_meets_a_working_run_is_told_where_it_is_or_watches_it() {
    let stage = Stage::new().await;
    stage.script.leave_runs_to_the_test();
    let first = stage.send(keyed("/v1/runs", json!({ "input": "x" }), "k")).await;
    let again = stage.send(keyed("/v1/runs", json!({ "input": "x" }), "k")).await;
    assert_eq!((again.status.as_u16(), &again.json()["run"]), (409, &first.json()["run"]));
    let session = first.json()["session"].as_str().unwrap().to_owned();
    assert_eq!(again.header("location"), format!("/v1/sessions/{session}"));
    assert_eq!(again.json()["reason"], "run_works");
    let mut ask = keyed("/v1/runs", json!({ "input": "x" }), "k");
    ask.headers_mut().insert("accept", HeaderValue::from_static("text/event-stream"));
    let events = Events::open(&stage.socket, ask).await;
    assert_eq!(events.headers["callboard-run"], first.json()["run"].as_str().unwrap());
    let (session, run) = (first.json()["session"].clone(), first.json()["run"].clone());
    let (session, run) = (session.as_str().unwrap(), run.as_str().unwrap());
    stage.script.journal.end(session, run, |run| run.answer = "approved".to_owned());
    let events = events.rest().await;
    assert_eq!((numbers(&events), &events[1].data["answer"]), (vec![2], &json!("approved")));
    assert_eq!(stage.script.journal.session(session).unwrap().runs.len(), 1);
    let after = stage.send(keyed("/v1/runs", json!({ "input": "x" }), "k")).await;
    assert_eq!((after.status.as_u16(), after.json()), (202, first.json()), "the first answer");
}

#[tokio::test]
async fn a_client_that_leaves_ends_nothing() {
    let stage = Stage::new().await;
    stage.script.leave_runs_to_the_test();
    let mut events = stage.stream("/v1/runs", json!({ "input": "40+5?" })).await;
    let first = events.next().await.unwrap();
    let (session, run) =
        (first.data["session"].as_str().unwrap(), first.data["run"].as_str().unwrap());
    drop(events);
    stage.script.journal.append(session, run, "run.started", &json!({}));
    stage.script.journal.end(session, run, |run| run.answer = "later".to_owned());
    let back = stage.events(session, "?after=1&until=idle").await.rest().await;
    assert_eq!(numbers(&back), [2, 3]);
    assert!(!stage.script.asked().contains(&"cancel"));
}

#[tokio::test]
async fn a_problem_before_the_first_event_is_a_plain_answer() {
    let stage = Stage::new().await;
    let id = "018f2c3e-0000-7000-8000-000000000000";
    let path = format!("/v1/sessions/{id}/runs");
    let mut ask = request(Method::POST, &path, Some(json!({ "input": "x" })));
    ask.headers_mut()
        .insert("accept", HeaderValue::from_static("text/html, text/event-stream;q=1"));
    let reply = stage.send(ask).await;
    assert_eq!(
        (reply.status.as_u16(), reply.problem()),
        (404, format!("there is no session {id}"))
    );
}

#[tokio::test]
async fn fifty_pairs_at_once_are_not_mixed() {
    let stage = Stage::new().await;
    let asked = (0..50).map(async |number| {
        let body = json!({ "input": format!("{number}"), "title": format!("{number}") });
        let events = stage.stream("/v1/runs", body).await;
        let (session, events) = (events.headers["callboard-session"].clone(), events.rest().await);
        (number, session.to_str().unwrap().to_owned(), events)
    });
    for (number, session, events) in futures_util::future::join_all(asked).await {
        assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6]);
        assert_eq!(events.last().unwrap().data["input"], number.to_string());
        assert!(events.iter().filter(|e| e.name == "fact").all(|e| e.data["session"] == session));
    }
}

/// The stream's own reader, over TCP, with the token.
#[tokio::test]
async fn a_stream_flows_over_tcp_too() {
    let stage = Stage::new().await;
    let mut ask = request(Method::POST, "/v1/runs", Some(json!({ "input": "40+5?" })));
    let token = format!("Bearer {}", super::stage::TOKEN);
    ask.headers_mut().insert("authorization", HeaderValue::from_str(&token).unwrap());
    let events = Events::open(&stage.tcp, ask).await.rest().await;
    assert_eq!(events.last().unwrap().data["answer"], "45");
    assert_eq!(stage.script.started()[0].principal.as_ref().unwrap().name, "api");
}

#[tokio::test]
async fn a_session_is_new_only_where_nobody_can_have_named_it() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    // The first answer is lost, so what is sent again may have opened it.
    stage.script.refuse("start", tonic::Status::unavailable("lost"));
    stage.played().await;
    stage.send(keyed("/v1/runs", json!({ "input": "x", "wait": true }), "k")).await;
    let path = format!("/v1/sessions/{session}/runs");
    stage.post(&path, json!({ "input": "x", "wait": true })).await;
    let started: Vec<_> = stage.script.started().iter().map(|start| start.is_new).collect();
    assert_eq!(started, [true, false, false, false]);

    stage.post("/v1/tools/calculate/invoke", json!({ "arguments": {} })).await;
    let call = "/v1/tools/calculate/invoke";
    stage.send(keyed(call, json!({ "arguments": {} }), "k")).await;
    let invoked: Vec<_> = stage.script.invoked().iter().map(|call| call.is_new).collect();
    assert_eq!(invoked, [true, false]);
}

#[tokio::test]
async fn what_no_single_message_holds_is_told_whole() {
    let stage = Stage::new().await;
    stage.script.leave_runs_to_the_test();
    let begin = |input: &str| stage.stream("/v1/runs", json!({ "input": input }));
    let events = begin("all three").await;
    let session = events.headers["callboard-session"].to_str().unwrap().to_owned();
    let run = events.headers["callboard-run"].to_str().unwrap().to_owned();
    let call = |id: &str| CallSummary { call_id: id.to_owned(), ..super::agent::call() };
    let three = ["c-1", "c-2", "c-3"].map(call);
    stage.script.journal.end(&session, &run, |run| run.calls = three.to_vec());
    let ids = |run: &Value| -> Vec<String> {
        let calls = run["tool_calls"].as_array().unwrap().iter();
        calls.map(|call| call["call_id"].as_str().unwrap().to_owned()).collect()
    };
    let result = events.rest().await.pop().unwrap();
    assert_eq!(
        (result.name.as_str(), ids(&result.data)),
        (
            "result",
            ids(&json!({
                "tool_calls": [{ "call_id": "c-1" }, { "call_id": "c-2" }, { "call_id": "c-3" }],
            }))
        )
    );

    let more =
        stage.stream(&format!("/v1/sessions/{session}/runs"), json!({ "input": "no" })).await;
    let second = more.headers["callboard-run"].to_str().unwrap().to_owned();
    stage.script.journal.end(&session, &second, |_| {});
    more.rest().await;
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.json();
    assert_eq!(shown["runs"].as_array().unwrap().len(), 2);
    assert_eq!(shown["runs"][0], result.data);
    assert_eq!((&shown["runs"][1]["run"], ids(&shown["runs"][1]).len()), (&json!(second), 0));
}
