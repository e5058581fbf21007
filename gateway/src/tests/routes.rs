//! Every route, answered by an orchestrator, in the shape that programs rely on.

use callboard_proto::agent::{CallFailure, CallSummary, Session};
use http::Method;
use serde_json::json;

use super::{
    agent::artifact,
    stage::{Stage, request},
};

#[tokio::test]
async fn a_session_is_opened_shown_listed_and_removed() {
    let stage = Stage::new().await;
    let opened = stage.post("/v1/sessions", json!({ "title": "Loans", "model": "offline" })).await;
    assert_eq!(opened.status, 201);
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(uuid::Uuid::try_parse(&id).unwrap().get_version_num(), 7);
    assert_eq!(opened.header("location"), format!("/v1/sessions/{id}"));
    let session = json!({
        "id": id, "title": "Loans", "agent": "default", "kind": "chat", "state": "idle",
        "opened_at": 1000, "updated_at": 2000, "last_seq": 1,
    });
    assert_eq!(opened.json(), session);
    let shown = stage.get(&format!("/v1/sessions/{id}")).await;
    assert_eq!(
        (shown.status.as_u16(), shown.json()),
        (200, json!({ "session": session, "runs": [] }))
    );
    let listed = stage.get("/v1/sessions?limit=10").await;
    assert_eq!(listed.json(), json!({ "sessions": [session] }));
    let delete = request(Method::DELETE, &format!("/v1/sessions/{id}"), None);
    assert_eq!(stage.send(delete).await.status, 204);
    let gone = stage.get(&format!("/v1/sessions/{id}")).await;
    assert_eq!((gone.status.as_u16(), gone.problem()), (404, format!("there is no session {id}")));
}

#[tokio::test]
async fn a_session_opens_without_a_body_and_with_several_models() {
    let stage = Stage::new().await;
    assert_eq!(stage.send(request(Method::POST, "/v1/sessions", None)).await.status, 201);
    let opened = stage.post("/v1/sessions", json!({ "model": ["a", "b"] })).await;
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    let facts = stage.script.journal.session(&id).unwrap().facts;
    assert_eq!(facts[0].json, r#"{"models":["a","b"]}"#);
}

#[tokio::test]
async fn a_run_is_shown_with_its_calls() {
    let stage = Stage::new().await;
    let id = stage.played().await;
    let shown = stage.get(&format!("/v1/sessions/{id}")).await.json();
    let run = &shown["runs"][0];
    assert_eq!(uuid::Uuid::try_parse(run["run"].as_str().unwrap()).unwrap().get_version_num(), 7);
    assert_eq!(
        *run,
        json!({
            "session": id, "run": run["run"], "status": "completed", "answer": "45",
            "model": "offline", "steps": 2,
            "tool_calls": [{
                "call_id": "c-1", "tool": "calculate",
                // Passed on digit by digit, not as a double.
                "arguments": { "expression": "40+5", "digits": 10_000_000_000_000_001_u64 },
                "status": "ok", "instance": "calculator-1", "duration_ms": 3, "attempts": 1,
                "rule": "default: read-only", "waited_ms": 2,
                "verdict": "allow", "content": "45", "structured": { "value": "45" },
                "failure": null, "step": 1,
            }],
            "usage": { "input_tokens": 10, "output_tokens": 3 },
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "duration_ms": 12,
            "reason": run["reason"], "input": "40+5?",
        })
    );
}

#[tokio::test]
async fn arguments_too_deep_for_a_parser_are_shown_as_text() {
    let stage = Stage::new().await;
    let id = stage.played().await;
    let run = stage.script.journal.session(&id).unwrap().runs[0].id.clone();
    let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
    stage.script.journal.end(&id, &run, |run| {
        run.calls[0].arguments.clone_from(&deep);
        run.calls[0].structured.clone_from(&deep);
    });
    let shown = stage.get(&format!("/v1/sessions/{id}")).await.json();
    let call = &shown["runs"][0]["tool_calls"][0];
    assert_eq!((&call["arguments"], &call["structured"]), (&json!(deep), &json!(deep)));
}

#[tokio::test]
async fn a_call_refused_before_it_was_judged_counts_as_blocked() {
    let stage = Stage::new().await;
    let id = stage.played().await;
    let run = stage.script.journal.session(&id).unwrap().runs[0].id.clone();
    stage.script.journal.end(&id, &run, |run| {
        let call = &mut run.calls[0];
        call.verdict.clear();
        call.status = "failed".to_owned();
        call.failure = Some(CallFailure { kind: "arguments".to_owned(), ..CallFailure::default() });
        // One that waits to be judged has no verdict yet.
        let waiting = CallSummary { status: "working".to_owned(), ..CallSummary::default() };
        run.calls.push(waiting);
    });
    let shown = stage.get(&format!("/v1/sessions/{id}")).await.json();
    let calls = &shown["runs"][0]["tool_calls"];
    assert_eq!((&calls[0]["verdict"], &calls[1]["verdict"]), (&json!("block"), &json!("")));
}

#[tokio::test]
async fn a_malformed_glob_is_refused_before_anything_begins() {
    let stage = Stage::new().await;
    for (path, body) in [
        ("/v1/runs", json!({ "input": "x", "approve": ["run_*", "["] })),
        ("/v1/tools/calculate/invoke", json!({ "arguments": {}, "approve": ["["] })),
    ] {
        let refused = stage.post(path, body).await;
        assert_eq!(refused.status, 400, "{path}");
        assert!(refused.problem().contains("`[`"), "{path}");
    }
    assert!(stage.script.asked().is_empty(), "{:?}", stage.script.asked());
}

#[tokio::test]
async fn tools_are_listed_with_schema_and_instances() {
    let stage = Stage::new().await;
    assert_eq!(
        stage.get("/v1/tools").await.json(),
        json!({ "tools": [{
            "name": "calculate", "service": "calculator", "team": "shared", "version": "0.1.0",
            "description": "Arithmetic. 计算",
            "input_schema": { "type": "object", "required": ["expression"] },
            "output_schema": null,
            "annotations": {
                "read_only": true, "destructive": false, "idempotent": true, "open_world": false,
            },
            "instances": [{ "id": "calculator-1", "state": "serving", "in_flight": 2 }],
            "withheld": "",
            "examples": [{ "request": "2+2?", "arguments": { "expression": "2+2" } }],
        }]})
    );
}

#[tokio::test]
async fn a_direct_call_passes_its_arguments_on_byte_by_byte() {
    let stage = Stage::new().await;
    let raw = r#"{"arguments": {"expression" : "40+5",  "n": 1.0e2}, "approve": ["calc*"]}"#;
    let mut call = request(Method::POST, "/v1/tools/calculate/invoke", Some(json!({})));
    *call.body_mut() = raw.as_bytes().to_vec();
    let reply = stage.send(call).await;
    let invoked = stage.script.invoked().remove(0);
    assert_eq!(invoked.arguments, br#"{"expression" : "40+5",  "n": 1.0e2}"#);
    assert_eq!(invoked.approve, ["calc*"]);
    let principal = invoked.principal.unwrap();
    assert_eq!((principal.team.as_str(), principal.name.as_str()), ("default", "local"));
    assert_eq!(
        reply.json(),
        json!({
            "call_id": "c-1", "tool": "calculate",
            "arguments": { "expression": "40+5", "digits": 10_000_000_000_000_001_u64 },
            "status": "ok", "instance": "calculator-1", "duration_ms": 3, "attempts": 1,
                "rule": "default: read-only", "waited_ms": 2,
            "verdict": "allow", "content": "45", "structured": { "value": "45" },
            "failure": null, "step": 1, "session": invoked.session,
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        })
    );
    assert_eq!(reply.header("callboard-session"), invoked.session);
}

#[tokio::test]
async fn a_direct_call_takes_text_that_is_no_json_and_streams_where_asked() {
    let stage = Stage::new().await;
    let body = json!({ "arguments_text": "{expression: 40+5" });
    let events = stage.stream("/v1/tools/calculate/invoke", body).await.rest().await;
    assert_eq!(stage.script.invoked()[0].arguments, b"{expression: 40+5");
    assert_eq!(events.first().unwrap().data["type"], "input.received");
    let result = events.last().unwrap();
    assert_eq!((result.name.as_str(), &result.data["content"]), ("result", &json!("45")));

    let unknown = stage.post("/v1/tools/calculator/invoke", json!({ "arguments": {} })).await;
    let detail = "there is no tool `calculator`; did you mean `calculate`?";
    assert_eq!((unknown.status.as_u16(), unknown.problem().as_str()), (404, detail));
}

#[tokio::test]
async fn the_first_decision_stands() {
    let stage = Stage::new().await;
    let path = format!("/v1/sessions/{}/approvals/c-1", stage.played().await);
    let first = stage.post(&path, json!({ "decision": "approve", "note": "go on" })).await;
    assert_eq!(first.json(), json!({ "first": true, "approved": true }));
    let again = stage.post(&path, json!({ "decision": "approve" })).await;
    assert_eq!(again.json(), json!({ "first": false, "approved": true }));
    let other = stage.post(&path, json!({ "decision": "deny" })).await;
    assert_eq!(
        (other.status.as_u16(), other.problem().as_str()),
        (409, "The call was approved before.")
    );
    assert_eq!(other.json()["approved"], true);
}

#[tokio::test]
async fn cancel_and_rollback_are_passed_on() {
    let stage = Stage::new().await;
    let session = format!("/v1/sessions/{}", stage.played().await);
    let cancelled = stage.send(request(Method::POST, &format!("{session}/cancel"), None)).await;
    assert_eq!(cancelled.json(), json!({ "was_running": false }));
    for (body, call_id, status) in [
        (json!({ "call_id": "c-1" }), "c-1", "undone"),
        (json!({ "to_step": 0, "dry_run": true }), "after step 0", "would_undo"),
    ] {
        let done = stage.post(&format!("{session}/rollback"), body).await;
        let step =
            json!({ "call_id": call_id, "status": status, "message": "notes.md is as it was" });
        assert_eq!(done.json(), json!({ "steps": [step] }));
    }
    // What is in the way is told step by step; a look at it is no error.
    for (dry_run, status) in [(false, 409), (true, 200)] {
        let body = json!({ "call_id": "c-changed", "dry_run": dry_run });
        let refused = stage.post(&format!("{session}/rollback"), body).await;
        assert_eq!(refused.status.as_u16(), status);
        assert_eq!(refused.json()["steps"][0]["status"], "conflict");
    }
}

#[tokio::test]
async fn an_artifact_is_read_whole_and_by_page() {
    let stage = Stage::new().await;
    let path = format!("/v1/sessions/{}/artifacts/{}", stage.played().await, "ab".repeat(32));
    let whole = artifact();
    for (query, from, to) in [
        ("", 0, whole.len()),
        ("?offset=10&limit=5", 10, 15),
        ("?offset=100&limit=500000", 100, 500_100),
        ("?offset=599999", 599_999, whole.len()),
        ("?offset=700000", whole.len(), whole.len()),
        ("?limit=0", 0, 0),
    ] {
        let page = stage.get(&format!("{path}{query}")).await;
        assert_eq!(page.status, 200, "{query}");
        assert!(page.body == whole[from..to], "{query}: {} bytes", page.body.len());
        if query != "?limit=0" {
            assert_eq!(page.header("callboard-artifact-size"), "600000", "{query}");
        }
        assert_eq!(page.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn the_trace_is_a_tree_of_the_journal() {
    let stage = Stage::new().await;
    let id = stage.played().await;
    let trace = stage.get(&format!("/v1/sessions/{id}/trace")).await.json();
    let run = &trace["runs"][0];
    assert_eq!(trace["is_whole"], true);
    assert_eq!(
        (&run["name"], &run["status"]),
        (&json!("invoke_agent default"), &json!("completed"))
    );
    assert_eq!(run["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    let children: Vec<_> = run["children"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(children, ["chat offline", "execute_tool calculate"]);
}

#[tokio::test]
async fn figures_are_summed_over_orchestrators() {
    let stage = Stage::new().await;
    let _second = super::agent::Agent::stand_by(
        "second",
        &stage.script,
        &stage.discovery,
        stage.folder.path(),
    )
    .await;
    // The gateway has its own view: wait until it has seen both.
    let both = |body: &serde_json::Value| body["orchestrators"].as_array().unwrap().len() == 2;
    let ready = until(&stage, "/readyz", both).await;
    assert_eq!(
        (&ready["status"], &ready["partitions"]),
        (&json!("ready"), &json!({ "owned": 256, "total": 256 }))
    );
    assert_eq!(ready["discovery"], json!({ "confirmed": true }));
    let mut status = stage.get("/v1/status").await.json();
    let listed = status.as_object_mut().unwrap().remove("orchestrators").unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(
        status,
        json!({
            "uptime_seconds": 60, "runs_total": 16, "runs_failed": 4, "success_rate": 0.75,
            "tokens_total": 200, "last_active": 1_700_000_000_000_i64, "active_runs": 2,
            "refused_sessions": 2,
            "refused": [{"session": "s", "reason": "event 3"}, {"session": "s", "reason": "event 3"}],
            "models": ["offline"],
        })
    );
}

#[tokio::test]
async fn probes_and_metrics_answer() {
    let stage = Stage::without_agent(crate::Config::default()).await;
    assert_eq!(stage.get("/healthz").await.json(), json!({ "status": "ok" }));
    let ready = stage.get("/readyz").await;
    assert_eq!((ready.status.as_u16(), &ready.json()["status"]), (503, &json!("not_ready")));
    let metrics = stage.get("/metrics").await;
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

/// Asks until the answer fits.
pub(super) async fn until(
    stage: &Stage,
    path: &str,
    fits: impl Fn(&serde_json::Value) -> bool,
) -> serde_json::Value {
    let asking = async {
        loop {
            let body = stage.get(path).await.json();
            if fits(&body) {
                return body;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::client::DEADLINE, asking).await.expect("it fits in time")
}

/// The list's own limit is the orchestrator's; ours only refuses what cannot be meant.
#[tokio::test]
async fn a_list_has_a_limit() {
    let stage = Stage::new().await;
    for number in 0..3 {
        let id = format!("018f2c3e-0000-7000-8000-00000000000{number}");
        stage.script.journal.open(Session { id, ..Session::default() });
    }
    let two = stage.get("/v1/sessions?limit=2").await.json();
    assert_eq!(two["sessions"].as_array().unwrap().len(), 2);
    for query in ["limit=0", "limit=501", "limit=x", "limits=1"] {
        assert_eq!(stage.get(&format!("/v1/sessions?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn the_rules_are_listed_and_tried_out() {
    let stage = Stage::new().await;
    let listed = stage.get("/v1/policy").await;
    let rule = json!({
        "name": "drafts", "team": "", "agent": "", "tool": "write_file", "effect": "",
        "annotations": {"destructive": false}, "condition": "args.path.startsWith(\"drafts/\")",
        "expires": "", "verdict": "allow", "reason": "", "warning": "",
    });
    let refused = "`orchestrator.policy.rules[0].tool`: no pattern";
    assert_eq!(
        listed.json(),
        json!({"profile": "development", "rules": [rule], "refused": refused})
    );
    let body = json!({"tool": "write_file", "arguments": {"path": "a"}, "team": "blue"});
    let tested = stage.post("/v1/policy/test", body).await;
    assert_eq!(
        tested.json(),
        json!({
            "tool": "write_file", "verdict": "ask", "rule": "drafts",
            "reason": "write_file as blue/", "denied_effects": ["{\"path\":\"a\"}"],
            "has_preflight": true,
        })
    );
    let misspelt = stage.post("/v1/policy/test", json!({"tol": "x"})).await;
    assert_eq!(misspelt.status, 400);
    assert!(misspelt.problem().contains("`tool`"), "{}", misspelt.problem());
}
