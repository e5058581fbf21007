use std::time::Duration;

use callboard_proto::reason;
use serde_json::{Value, json};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;
use wire::{FailureKind, InvokeMode, invoke_response::Piece, preflight_response::Verdict};

use crate::{
    specimens::{Record, service},
    testing::{Served, collect, start, start_in, start_with},
};

use super::*;

struct Rig {
    served: Served,
    record: Arc<Record>,
}

async fn rig() -> Rig {
    let record = Record::new();
    Rig { served: start(service(&record)).await.unwrap(), record }
}

impl Rig {
    async fn refused(&self, call: wire::ToolCall, mode: InvokeMode) -> Status {
        self.served.send(call, mode).await.unwrap_err()
    }
}

fn reason_of(status: &Status) -> Option<String> {
    status.get_details_error_info().map(|info| {
        assert_eq!(info.domain, "callboard");
        info.reason
    })
}

fn structured(output: &wire::Output) -> Value {
    serde_json::from_slice(&output.structured).unwrap()
}

#[tokio::test]
async fn a_call_is_answered_with_its_output() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "answer", "text": "45"}));
    let (told, outcome) = rig.served.send(call.clone(), InvokeMode::Start).await.unwrap();
    assert_eq!((told, &outcome.call_id), (vec![], &call.call_id));
    let Some(wire::outcome::Result::Output(output)) = outcome.result else { panic!() };
    assert_eq!(output.content, "45");
    assert_eq!(structured(&output), json!({"attempt": 1, "held": null}));
    assert_eq!(rig.record.started(), [call.call_id]);
}

#[tokio::test]
async fn a_failure_is_told_with_kind_and_time() {
    let rig = rig().await;
    let failure = rig.served.invoke("look", json!({"act": "fail"})).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::RateLimited);
    assert_eq!((failure.message.as_str(), failure.retry_after_ms), ("Too many.", 2));
}

#[tokio::test]
async fn without_the_approval_of_what_it_would_do_now_nothing_is_started() {
    let rig = rig().await;
    let mut call = rig.served.call("ask", &json!({"act": "answer"}));
    let asked = || rig.served.start(call.clone());
    let failure = asked().await.unwrap().unwrap_err();
    assert_eq!((failure.kind(), failure.preview.as_str()), (FailureKind::PreviewChanged, "old"));

    let Verdict::Ask(ask) = rig.served.preflight(call.clone()).await.unwrap() else { panic!() };
    assert_eq!(
        (ask.reason.as_str(), ask.preview.as_str(), ask.irreversible),
        ("It writes.", "old", true)
    );
    // printf old | sha256sum
    let digest = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4";
    assert_eq!(ask.preview_digest, digest);

    "new".clone_into(&mut rig.record.preview.lock().unwrap());
    call.approved_preview = digest.to_owned();
    let failure = rig.served.start(call.clone()).await.unwrap().unwrap_err();
    assert_eq!((failure.kind(), failure.preview.as_str()), (FailureKind::PreviewChanged, "new"));
    assert_eq!(rig.record.started(), Vec::<String>::new());

    "old".clone_into(&mut rig.record.preview.lock().unwrap());
    let output = rig.served.start(call.clone()).await.unwrap().unwrap();
    assert_eq!(structured(&output), json!({"attempt": 1, "held": "old"}));
    assert_eq!(rig.record.started(), [call.call_id]);
}

#[tokio::test]
async fn a_block_cannot_be_approved_away() {
    let rig = rig().await;
    let mut call = rig.served.call("refuse", &json!({"act": "answer"}));
    let Verdict::Block(block) = rig.served.preflight(call.clone()).await.unwrap() else { panic!() };
    assert_eq!(block.reason, "Never.");
    call.approved_preview = "0".repeat(64);
    let failure = rig.served.start(call).await.unwrap().unwrap_err();
    assert_eq!((failure.kind(), failure.message.as_str()), (FailureKind::Blocked, "Never."));
    assert_eq!(rig.record.started(), Vec::<String>::new());
}

#[tokio::test]
async fn an_effect_that_a_policy_takes_away_is_done_without_or_blocked() {
    let rig = rig().await;
    let mut call = rig.served.call("change", &json!({"act": "answer"}));
    call.denied_effects = vec![wire::Effect::Network.into()];
    assert!(rig.served.start(call.clone()).await.unwrap().is_ok());

    let mut call = rig.served.call("change", &json!({"act": "answer"}));
    call.denied_effects = vec![wire::Effect::Network.into(), wire::Effect::Write.into()];
    let Verdict::Block(block) = rig.served.preflight(call.clone()).await.unwrap() else { panic!() };
    let reason = "A policy takes the effect `write` away, and change cannot work without it.";
    assert_eq!(block.reason, reason);
    let failure = rig.served.start(call.clone()).await.unwrap().unwrap_err();
    assert_eq!((failure.kind(), failure.message.as_str()), (FailureKind::Blocked, reason));

    call.denied_effects = vec![99];
    assert_eq!(rig.refused(call, InvokeMode::Start).await.code(), Code::InvalidArgument);
    assert_eq!(rig.record.started().len(), 1);
}

#[tokio::test]
async fn a_stale_owner_is_told_so_and_starts_nothing() {
    let rig = rig().await;
    rig.served.invoke("look", json!({"act": "answer"})).await.unwrap();
    let mut call = rig.served.call("change", &json!({"act": "answer"}));
    call.epoch = Some(wire::Epoch { generation: 1, revision: 9 });
    let status = rig.refused(call.clone(), InvokeMode::Start).await;
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert_eq!(reason_of(&status).as_deref(), Some(reason::STALE_OWNER));
    let seen = status.get_details_error_info().unwrap().metadata;
    assert_eq!((seen["generation"].as_str(), seen["revision"].as_str()), ("1", "10"));
    let cancel = wire::CancelRequest {
        deployment: call.deployment,
        session: call.session,
        call_id: call.call_id,
        partition: call.partition,
        epoch: call.epoch,
        team: call.team,
    };
    let status = rig.served.client().cancel(cancel).await.unwrap_err();
    assert_eq!(reason_of(&status).as_deref(), Some(reason::STALE_OWNER));
    assert_eq!(rig.record.started().len(), 1);
}

#[tokio::test]
async fn a_call_for_another_incarnation_or_workspace_is_not_admitted() {
    let record = Record::new();
    let served = start_in(service(&record), std::path::Path::new("/tmp")).await.unwrap();
    let call = served.call("change", &json!({"act": "answer"}));
    let others = [
        wire::ToolCall { incarnation: "another".to_owned(), ..call.clone() },
        wire::ToolCall { incarnation: String::new(), ..call.clone() },
        wire::ToolCall { workspace: "another".to_owned(), ..call },
    ];
    for other in others {
        let status = served.send(other, InvokeMode::Start).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(reason_of(&status).as_deref(), Some(reason::NOT_ADMITTED));
    }
    assert_eq!(record.started(), Vec::<String>::new());
}

#[tokio::test]
async fn an_attach_finds_a_call_or_starts_nothing() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({"act": "answer"}));
    let status = rig.refused(call.clone(), InvokeMode::Attach).await;
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(reason_of(&status).as_deref(), Some(reason::UNKNOWN_CALL));
    assert_eq!(rig.record.started(), Vec::<String>::new());

    let first = rig.served.send(call.clone(), InvokeMode::Start).await.unwrap();
    let bare = wire::ToolCall { arguments: Vec::new().into(), ..call.clone() };
    assert_eq!(rig.served.send(bare, InvokeMode::Attach).await.unwrap(), first);
    let second = wire::ToolCall { attempt: 2, ..call.clone() };
    assert_eq!(rig.served.send(second, InvokeMode::Start).await.unwrap(), first);
    assert_eq!(rig.record.started(), [call.call_id]);
}

#[tokio::test]
async fn a_passing_failure_is_tried_again_only_where_nothing_changes() {
    let rig = rig().await;
    let mut expected = 0;
    for (tool, text, attempts) in [
        ("look", "unavailable", 2),
        ("look", "timeout", 2),
        ("look", "rate_limited", 2),
        ("look", "not_found", 1),
        ("look", "internal", 1),
        ("change", "unavailable", 1),
        ("change", "timeout", 1),
        ("change", "rate_limited", 1),
    ] {
        let call = rig.served.call(tool, &json!({"act": "fail", "text": text}));
        for attempt in 1..=2 {
            let call = wire::ToolCall { attempt, ..call.clone() };
            let failure = rig.served.start(call).await.unwrap().unwrap_err();
            assert_eq!(
                failure.kind().as_str_name(),
                format!("FAILURE_KIND_{}", text.to_uppercase())
            );
        }
        expected += attempts;
        assert_eq!(rig.record.started().len(), expected, "{tool} {text}");
    }
}

#[tokio::test]
async fn a_reading_call_that_its_time_limit_ended_can_succeed_when_it_is_sent_again() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "wait"}));
    let message = wire::InvokeRequest { call: Some(call.clone()), mode: InvokeMode::Start.into() };
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_millis(100));
    let stream = rig.served.client().invoke(request).await.unwrap().into_inner();
    let (_, outcome) = collect(stream).await.unwrap();
    let Some(wire::outcome::Result::Failure(failure)) = outcome.result else { panic!() };
    assert_eq!(failure.kind(), FailureKind::Timeout);

    let status = rig.refused(call.clone(), InvokeMode::Attach).await;
    assert_eq!(reason_of(&status).as_deref(), Some(reason::UNKNOWN_CALL));
    rig.record.gate.add_permits(1);
    let again = wire::ToolCall { attempt: 2, ..call };
    let output = rig.served.start(again).await.unwrap().unwrap();
    assert_eq!(structured(&output)["attempt"], json!(2));
    assert_eq!(rig.record.started().len(), 2);
}

#[tokio::test]
async fn other_arguments_under_the_same_id_are_a_conflict() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({"act": "answer"}));
    rig.served.start(call.clone()).await.unwrap().unwrap();
    for other in [
        wire::ToolCall { arguments: r#"{"act":"tell"}"#.into(), ..call.clone() },
        wire::ToolCall { tool: "look".to_owned(), ..call.clone() },
    ] {
        for mode in [InvokeMode::Start, InvokeMode::Attach] {
            let (_, outcome) = rig.served.send(other.clone(), mode).await.unwrap();
            let Some(wire::outcome::Result::Failure(failure)) = outcome.result else { panic!() };
            assert_eq!(failure.kind(), FailureKind::Conflict);
        }
    }
    assert_eq!(rig.record.started().len(), 1);
}

#[tokio::test]
async fn a_lost_stream_ends_nothing() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({"act": "wait"}));
    let request = wire::InvokeRequest { call: Some(call.clone()), mode: InvokeMode::Start.into() };
    let stream = rig.served.client().invoke(request).await.unwrap();
    rig.record.begun(1).await;
    drop(stream);
    rig.record.gate.add_permits(1);
    let (_, outcome) = rig.served.send(call, InvokeMode::Attach).await.unwrap();
    assert!(matches!(outcome.result, Some(wire::outcome::Result::Output(_))));
    assert_eq!(rig.record.started().len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_says_what_was_done() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({"act": "wait_politely"}));
    let cancel = |call: &wire::ToolCall| wire::CancelRequest {
        deployment: call.deployment.clone(),
        session: call.session.clone(),
        call_id: call.call_id.clone(),
        partition: call.partition,
        epoch: call.epoch,
        team: call.team.clone(),
    };
    let unknown = rig.served.client().cancel(cancel(&call)).await.unwrap().into_inner();
    assert!(!unknown.known);
    let running = rig.served.send(call.clone(), InvokeMode::Start);
    let cancelling = async {
        rig.record.begun(1).await;
        rig.served.client().cancel(cancel(&call)).await.unwrap().into_inner().known
    };
    let (ended, known) = tokio::join!(running, cancelling);
    let Some(wire::outcome::Result::Failure(failure)) = ended.unwrap().1.result else { panic!() };
    assert!(known);
    assert_eq!(failure.kind(), FailureKind::Cancelled);
    assert_eq!(failure.message, "Stopped after 3 of 7.");
}

#[tokio::test]
async fn the_callers_time_limit_ends_the_whole_call() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "wait"}));
    let message = wire::InvokeRequest { call: Some(call), mode: InvokeMode::Start.into() };
    let mut request = Request::new(message.clone());
    request.set_timeout(Duration::from_millis(200));
    let stream = rig.served.client().invoke(request).await.unwrap().into_inner();
    let (_, outcome) = collect(stream).await.unwrap();
    let Some(wire::outcome::Result::Failure(failure)) = outcome.result else { panic!() };
    assert_eq!(failure.kind(), FailureKind::Timeout);
    assert_eq!(rig.record.open(), 0);

    let call = rig.served.call("look", &json!({"act": "answer"}));
    let mut request = Request::new(wire::InvokeRequest { call: Some(call), ..message });
    request.set_timeout(Duration::ZERO);
    let status = rig.served.client().invoke(request).await.unwrap_err();
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    assert_eq!(rig.record.started().len(), 1);
}

#[tokio::test]
async fn what_no_caller_can_mean_is_refused_before_it_touches_anything() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "answer"}));
    let change = |change: fn(&mut wire::ToolCall)| {
        let mut call = call.clone();
        change(&mut call);
        call
    };
    for (call, mode) in [
        (change(|call| call.call_id.clear()), InvokeMode::Start),
        (change(|call| call.session.clear()), InvokeMode::Start),
        (change(|call| call.call_id = "x".repeat(257)), InvokeMode::Start),
        (change(|call| call.deployment = "x".repeat(257)), InvokeMode::Start),
        (change(|call| call.epoch = None), InvokeMode::Start),
        (call.clone(), InvokeMode::Unspecified),
    ] {
        assert_eq!(rig.refused(call, mode).await.code(), Code::InvalidArgument);
    }
    let status = rig.refused(change(|call| call.tool = "fly".to_owned()), InvokeMode::Start).await;
    assert_eq!(status.code(), Code::Unimplemented);
    assert_eq!(reason_of(&status).as_deref(), Some(reason::UNKNOWN_TOOL));
    let empty = wire::InvokeRequest { call: None, mode: InvokeMode::Start.into() };
    assert_eq!(rig.served.client().invoke(empty).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(rig.record.started(), Vec::<String>::new());
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named_by_both_doors() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "answer", "text": 5}));
    let failure = rig.served.start(call.clone()).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), FailureKind::InvalidArguments);
    let violation = wire::Violation {
        pointer: "/text".to_owned(),
        message: "invalid type: integer `5`, expected a string".to_owned(),
    };
    assert_eq!(failure.violations, std::slice::from_ref(&violation));
    let status = rig.served.preflight(call).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_details_bad_request().unwrap();
    assert_eq!(details.field_violations[0].field, violation.pointer);
    assert_eq!(details.field_violations[0].description, violation.message);
}

#[tokio::test]
async fn sizes_of_the_wire_are_enforced() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "answer", "text": "x".repeat(1_048_576)}));
    let failure = rig.served.start(call.clone()).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), FailureKind::TooLarge);
    assert!(failure.message.contains("the limit is 1048576"), "{}", failure.message);
    assert_eq!(rig.served.preflight(call).await.unwrap_err().code(), Code::InvalidArgument);
    let call = rig.served.call("look", &json!({"act": "answer", "text": "x".repeat(2_100_000)}));
    assert_eq!(rig.refused(call, InvokeMode::Start).await.code(), Code::OutOfRange);
    assert_eq!(rig.record.started(), Vec::<String>::new());

    let text = "x".repeat(900_000);
    let output = rig.served.invoke("look", json!({"act": "answer", "text": text})).await.unwrap();
    assert_eq!(output.content.len(), 65_536);
    assert_eq!(output.artifact, text);
}

#[tokio::test]
async fn a_panic_ends_one_call_and_not_the_service() {
    let rig = rig().await;
    let failure = rig.served.invoke("look", json!({"act": "panic"})).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Internal);
    let call = rig.served.call("refuse", &json!({"act": "panic"}));
    assert_eq!(rig.served.preflight(call.clone()).await.unwrap_err().code(), Code::Internal);
    let failure = rig.served.start(call).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Internal);
    let output = rig.served.invoke("look", json!({"act": "answer"})).await.unwrap();
    assert_eq!(output.content, "done");
}

#[tokio::test]
async fn what_a_tool_tells_comes_before_its_outcome() {
    let rig = rig().await;
    let call = rig.served.call("look", &json!({"act": "tell", "text": "数"}));
    let (told, _) = rig.served.send(call, InvokeMode::Start).await.unwrap();
    let progress = |message: &str, fraction| {
        Piece::Progress(wire::Progress { message: message.to_owned(), fraction })
    };
    let expected =
        [progress("begun", None), progress("half done", Some(0.5)), Piece::Chunk("数".to_owned())];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_full_instance_says_so_before_it_starts() {
    let record = Record::new();
    let served = start_with(service(&record), |config| config.capacity = 1).await.unwrap();
    let running = served.send(served.call("look", &json!({"act": "wait"})), InvokeMode::Start);
    let refused = async {
        record.begun(1).await;
        let call = served.call("look", &json!({"act": "answer"}));
        let status = served.send(call, InvokeMode::Start).await.unwrap_err();
        record.gate.add_permits(1);
        status
    };
    let (ended, status) = tokio::join!(running, refused);
    ended.unwrap();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(reason_of(&status).as_deref(), Some(reason::NOT_ADMITTED));
    assert!(status.get_details_retry_info().is_some());
}

#[tokio::test]
async fn a_forgotten_outcome_is_gone_and_the_call_does_not_run_again() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({"act": "answer"}));
    rig.served.start(call.clone()).await.unwrap().unwrap();
    let forget = wire::ForgetRequest {
        team: call.team.clone(),
        session: call.session.clone(),
        call_ids: vec![call.call_id.clone(), "unknown".to_owned()],
        whole_session: false,
    };
    rig.served.client().forget(forget.clone()).await.unwrap();
    let status = rig.refused(call, InvokeMode::Start).await;
    assert_eq!(reason_of(&status).as_deref(), Some(reason::OUTCOME_GONE));
    let many = wire::ForgetRequest { call_ids: vec!["x".to_owned(); 1001], ..forget };
    assert_eq!(rig.served.client().forget(many).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(rig.record.started().len(), 1);
}

#[tokio::test]
async fn of_a_session_that_was_removed_nothing_is_kept_and_of_others_all() {
    let rig = rig().await;
    let call = |session: &str| wire::ToolCall {
        session: session.to_owned(),
        ..rig.served.call("change", &json!({"act": "answer"}))
    };
    let (gone, stays) = (call("gone"), call("stays"));
    for call in [&gone, &stays] {
        rig.served.start(call.clone()).await.unwrap().unwrap();
    }
    let forget = wire::ForgetRequest {
        team: gone.team.clone(),
        session: "gone".to_owned(),
        whole_session: true,
        ..wire::ForgetRequest::default()
    };
    rig.served.client().forget(forget.clone()).await.unwrap();
    let status = rig.refused(gone, InvokeMode::Start).await;
    assert_eq!(reason_of(&status).as_deref(), Some(reason::OUTCOME_GONE));
    assert!(rig.served.start(stays).await.unwrap().is_ok());
    let nameless = wire::ForgetRequest { session: String::new(), ..forget };
    let status = rig.served.client().forget(nameless).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(rig.record.started().len(), 2);
}

#[tokio::test]
async fn a_rollback_is_done_by_a_tool_that_can() {
    use wire::rollback_response::Result as Ended;
    let rig = rig().await;
    let rollback = async |tool: &str, token: &str, dry_run| {
        let call = Some(rig.served.call(tool, &json!({})));
        let request = wire::RollbackRequest {
            call,
            undo_token: token.to_owned(),
            dry_run,
            ..Default::default()
        };
        let response = rig.served.client().rollback(request).await;
        response.map(|response| response.into_inner().result.unwrap())
    };
    assert_eq!(rollback("change", "t", true).await.unwrap(), Ended::Undone("could".into()));
    assert_eq!(rollback("change", "t", false).await.unwrap(), Ended::Undone("did".into()));
    let conflict = Ended::Conflict("It was changed since.".into());
    assert_eq!(rollback("change", "changed", false).await.unwrap(), conflict);
    for (tool, token) in [("change", ""), ("look", "t")] {
        let ended = rollback(tool, token, false).await.unwrap();
        assert!(matches!(ended, Ended::NotReversible(_)), "{ended:?}");
    }
    assert_eq!(rollback("change", "panic", false).await.unwrap_err().code(), Code::Internal);
    assert_eq!(*rig.record.undone.lock().unwrap(), ["t"]);
}

#[tokio::test]
async fn a_lost_caller_does_not_leave_half_a_rollback() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({}));
    let request = wire::RollbackRequest {
        call: Some(call),
        undo_token: "wait".to_owned(),
        ..Default::default()
    };
    let mut client = rig.served.client();
    let limit = Duration::from_millis(200);
    assert!(tokio::time::timeout(limit, client.rollback(request.clone())).await.is_err());
    let again = rig.served.client().rollback(request).await.unwrap_err();
    assert_eq!(again.code(), Code::Aborted);
    rig.record.gate.add_permits(1);
    rig.served.stop().await.unwrap();
    assert_eq!(*rig.record.undone.lock().unwrap(), ["wait"]);
}

#[tokio::test]
async fn a_dry_run_takes_no_more_calls_for_taken_back_than_the_wire_says() {
    let rig = rig().await;
    let call = rig.served.call("change", &json!({}));
    let look = async |assumed: usize| {
        let request = wire::RollbackRequest {
            call: Some(call.clone()),
            undo_token: "t".to_owned(),
            dry_run: true,
            assumed_undone: vec!["a".to_owned(); assumed],
            ..Default::default()
        };
        rig.served.roll_back(request).await
    };
    assert!(look(1_000).await.is_ok());
    assert_eq!(look(1_001).await.unwrap_err().code(), Code::InvalidArgument);
}
