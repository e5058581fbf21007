//! Finding the owner of a session: waiting for one, following it when it moves, and knowing when a
//! request must not be sent again.

use std::time::Duration;

use callboard_proto::{agent::Owner, reason};
use prost::Message as _;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{agent::Agent, client::numbers, routes::until, stage::Stage};
use crate::Config;

/// A refusal as an orchestrator words it.
fn not_owner(instance: &str, revision: u64) -> Status {
    let owner =
        Owner { instance: instance.to_owned(), epoch_generation: 0, epoch_revision: revision };
    let detail = any("type.googleapis.com/callboard.agent.v1.Owner", &owner.encode_to_vec());
    let mut status = tonic_types::pb::Status {
        code: Code::FailedPrecondition.into(),
        message: "another orchestrator owns the session".to_owned(),
        details: Vec::new(),
    };
    status.details.push(detail);
    let message = status.message.clone();
    Status::with_details(Code::FailedPrecondition, message, status.encode_to_vec().into())
}

#[tokio::test]
async fn a_request_without_an_owner_waits_for_one() {
    let mut stage = Stage::without_agent(Config::default()).await;
    let body = json!({ "input": "40+5?", "wait": true });
    let (reply, agent) = tokio::join!(stage.post("/v1/runs", body), stage.another("late"));
    assert_eq!((reply.status.as_u16(), &reply.json()["answer"]), (200, &json!("45")));
    stage.agent = Some(agent);
    assert_eq!(stage.get("/v1/tools").await.status, 200);
}

#[tokio::test]
async fn a_wait_without_end_ends_with_retry_after() {
    let stage = Stage::without_agent(Config { park_ms: 30, ..Config::default() }).await;
    for path in ["/v1/tools", "/v1/sessions", "/v1/sessions/018f2c3e-0000-7000-8000-000000000000"] {
        let reply = stage.get(path).await;
        assert_eq!(reply.status, 503, "{path}");
        assert_eq!(reply.header("retry-after"), "1");
        reply.problem();
    }
    let run = stage.post("/v1/runs", json!({ "input": "x" })).await;
    assert_eq!(run.status, 503);
    assert_eq!(stage.get("/v1/status").await.status, 503);
}

#[tokio::test]
async fn a_session_is_asked_for_where_its_owner_is_named() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    let id = stage.agent.as_ref().unwrap().id.clone();
    let second =
        Agent::stand_by("second", &stage.script, &stage.discovery, stage.folder.path()).await;
    until(&stage, "/readyz", |body| body["orchestrators"].as_array().unwrap().len() == 2).await;
    // An owner that discovery lists, of a higher epoch: asked at once. An unknown one, a lower epoch,
    // nobody: not followed; the request waits, and meets the listed owner again.
    let high = u64::MAX - 1;
    for (named, revision) in
        [(second.id.as_str(), high), ("stranger-1", high), (id.as_str(), 0), ("", 0)]
    {
        stage.script.refuse("get", not_owner(named, revision));
        let reply = stage.get(&format!("/v1/sessions/{session}")).await;
        assert_eq!(reply.status, 200, "{named}");
    }
}

#[tokio::test]
async fn streams_and_requests_survive_the_death_of_an_orchestrator() {
    let mut stage = Stage::new().await;
    stage.script.leave_runs_to_the_test();
    let mut events = stage.stream("/v1/runs", json!({ "input": "40+5?" })).await;
    let first = events.next().await.unwrap();
    let (session, run) = (
        first.data["session"].as_str().unwrap().to_owned(),
        first.data["run"].as_str().unwrap().to_owned(),
    );
    let second =
        Agent::stand_by("second", &stage.script, &stage.discovery, stage.folder.path()).await;

    drop(stage.agent.take());
    // What happens while nobody is there to tell it is told later.
    stage.script.journal.append(&session, &run, "run.started", &json!({}));
    let shown = stage.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(shown.status, 200, "asked again at the new owner");
    second.wait_for_all().await;
    stage.script.journal.append(&session, &run, "model.requested", &json!({}));
    stage.script.journal.end(&session, &run, |run| run.answer = "after all".to_owned());
    let rest = events.rest().await;
    assert_eq!(numbers(&rest), [2, 3, 4]);
    assert!(stage.script.asked().contains(&"attach"), "the stream had to be taken up again");
    let last = rest.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["answer"]), ("result", &json!("after all")));
}

#[tokio::test]
async fn an_orchestrator_that_leaves_gets_nothing_new() {
    let stage = Stage::with(Config { park_ms: 100, ..Config::default() }).await;
    stage.played().await;
    stage.agent.as_ref().unwrap().drain().await;
    let draining = |body: &serde_json::Value| body["orchestrators"][0]["state"] == "draining";
    until(&stage, "/readyz", draining).await;
    let started = stage.script.started().len();
    assert_eq!(stage.post("/v1/runs", json!({ "input": "x" })).await.status, 503);
    assert_eq!(stage.script.started().len(), started);
}

#[tokio::test]
async fn what_is_harmless_to_repeat_is_asked_again() {
    let stage = Stage::new().await;
    let session = format!("/v1/sessions/{}", stage.played().await);
    let requests = [
        ("get", session.clone(), None),
        ("list", "/v1/sessions".to_owned(), None),
        ("tools", "/v1/tools".to_owned(), None),
        ("open", "/v1/sessions".to_owned(), Some(json!({}))),
        ("start", "/v1/runs".to_owned(), Some(json!({ "input": "x", "wait": true }))),
        ("invoke", "/v1/tools/calculate/invoke".to_owned(), Some(json!({ "arguments": {} }))),
        ("decide", format!("{session}/approvals/c-1"), Some(json!({ "decision": "deny" }))),
        ("cancel", format!("{session}/cancel"), Some(json!({}))),
        ("choose", format!("{session}/outcomes/c-1"), Some(json!({ "choice": "repeat" }))),
        ("get", format!("{session}/export"), None),
        ("rollback", format!("{session}/rollback"), Some(json!({ "call_id": "c-1" }))),
        ("attach", format!("{session}/trace"), None),
    ];
    for (name, path, body) in requests {
        stage.script.refuse(name, Status::unavailable("not now"));
        let reply = match body {
            Some(body) => stage.post(&path, body).await,
            None => stage.get(&path).await,
        };
        assert!(reply.status.is_success(), "{name}: {}", reply.status);
    }
}

#[tokio::test]
async fn an_orchestrators_refusal_has_one_status() {
    let stage = Stage::new().await;
    let session = format!("/v1/sessions/{}", stage.played().await);
    let info = |code, reason: &str| {
        let details = tonic_types::ErrorDetails::with_error_info(reason, reason::DOMAIN, []);
        Status::with_error_details(code, "in words for people", details)
    };
    let mut busy = tonic_types::ErrorDetails::with_retry_info(Some(Duration::from_secs(7)));
    busy.set_error_info(reason::QUEUE_FULL, reason::DOMAIN, []);
    let rows = [
        (Status::invalid_argument("in words for people"), 400, ""),
        (info(Code::InvalidArgument, reason::UNKNOWN_MODEL), 400, "unknown_model"),
        (info(Code::InvalidArgument, reason::TOO_LARGE), 413, "too_large"),
        (Status::not_found("in words for people"), 404, ""),
        (info(Code::AlreadyExists, reason::KEY_REUSED), 422, "key_reused"),
        (info(Code::FailedPrecondition, reason::SESSION_BUSY), 409, "session_busy"),
        (Status::permission_denied("in words for people"), 403, ""),
        (Status::unimplemented("in words for people"), 501, ""),
        (
            Status::with_error_details(Code::ResourceExhausted, "in words for people", busy),
            429,
            "queue_full",
        ),
    ];
    for (status, code, reason) in rows {
        stage.script.refuse("get", status);
        let reply = stage.get(&session).await;
        assert_eq!(
            (reply.status.as_u16(), reply.problem().as_str()),
            (code, "in words for people")
        );
        assert_eq!(reply.json()["reason"].as_str().unwrap_or_default(), reason);
        if code == 429 {
            assert_eq!(
                (reply.header("retry-after"), &reply.json()["retry_after_ms"]),
                ("7", &json!(7000))
            );
        }
    }
    // What is for the log stays there.
    for status in [Status::internal("at 10.0.0.7:50051"), Status::data_loss("page 3")] {
        stage.script.refuse("get", status);
        let reply = stage.get(&session).await;
        assert_eq!(
            (reply.status.as_u16(), reply.problem().as_str()),
            (500, "The orchestrator failed inside; its log says why.")
        );
    }
}

/// The clock jumps as soon as the request has arrived and nothing else can happen.
#[tokio::test]
async fn an_orchestrator_that_never_answers_does_not_hold_a_request_for_ever() {
    let stage = Stage::new().await;
    let session = format!("/v1/sessions/{}", stage.played().await);
    stage.script.hang("get");
    let jump = async |name| {
        stage.script.wait_for_request(name).await;
        tokio::time::pause();
    };
    let (reply, ()) = tokio::join!(stage.get(&session), jump("get"));
    assert_eq!(reply.status, 503);
    assert!(reply.problem().starts_with("No orchestrator could answer within 15 s."));
}

#[tokio::test]
async fn an_answer_that_came_too_late_is_a_timeout() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    stage.script.refuse("get", Status::deadline_exceeded("too slow"));
    assert_eq!(stage.get(&format!("/v1/sessions/{session}")).await.status, 504);
}

fn any(type_url: &str, value: &[u8]) -> prost_types::Any {
    prost_types::Any { type_url: type_url.to_owned(), value: value.to_vec() }
}
