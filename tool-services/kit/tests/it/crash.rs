//! A service as a process of its own that is killed in the middle of its calls, and what the next
//! one over the same store makes of them. The oracle is a ledger file that only the tools write.

use callboard_proto::{reason, tool as wire};
use callboard_tool::testing::Program;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::{InvokeMode, rollback_response::Result as Ended};

use crate::{ledger, program::Place};

/// The program under test: this test is started again, as a process of its own, and serves.
#[test]
fn serves_where_the_environment_says_so() {
    if std::env::var_os(ledger::FILE).is_some() {
        callboard_tool::main(ledger::service);
    }
}

fn why(status: &Status) -> String {
    status.get_details_error_info().map_or_else(String::new, |info| info.reason)
}

fn content(outcome: wire::Outcome) -> String {
    match outcome.result {
        Some(wire::outcome::Result::Output(output)) => output.content,
        other => panic!("{other:?}"),
    }
}

/// Starts a call in which the process is killed, and serves again.
async fn cut_off(place: &Place, tool: &str, when: &str) -> (Program, wire::ToolCall) {
    let mut program = place.serve().await;
    let call = program.call(tool, &json!({"line": "x"}));
    place.die(when);
    program.outcome(&call, InvokeMode::Start).await.unwrap_err();
    assert!(program.is_killed().await.unwrap());
    (place.serve().await, call)
}

#[tokio::test]
async fn a_call_that_cannot_be_looked_into_is_never_repeated() {
    for (when, lines) in [("before", 0), ("after", 1)] {
        let place = Place::new();
        let (program, call) = cut_off(&place, "blind", when).await;
        for mode in [InvokeMode::Attach, InvokeMode::Start, InvokeMode::Attach] {
            let status = program.outcome(&call, mode).await.unwrap_err();
            assert_eq!(
                (status.code(), why(&status).as_str()),
                (Code::DataLoss, reason::OUTCOME_GONE)
            );
        }
        assert_eq!(place.lines().len(), lines, "{when}");
    }
}

#[tokio::test]
async fn a_call_that_changed_nothing_is_started_again_and_happens_once() {
    for when in ["before", "noted"] {
        let place = Place::new();
        let (program, call) = cut_off(&place, "careful", when).await;
        let status = program.outcome(&call, InvokeMode::Attach).await.unwrap_err();
        assert_eq!((status.code(), why(&status).as_str()), (Code::NotFound, reason::UNKNOWN_CALL));
        assert_eq!(place.lines().len(), 0);
        let outcome = program.outcome(&call, InvokeMode::Start).await.unwrap();
        assert_eq!(content(outcome), "written");
        program.outcome(&call, InvokeMode::Start).await.unwrap();
        assert_eq!(place.lines().len(), 1, "{when}");
    }
}

#[tokio::test]
async fn a_start_alone_also_finds_that_nothing_was_changed() {
    let place = Place::new();
    let (program, call) = cut_off(&place, "careful", "noted").await;
    assert_eq!(content(program.outcome(&call, InvokeMode::Start).await.unwrap()), "written");
    assert_eq!(place.lines().len(), 1);
}

#[tokio::test]
async fn a_call_that_was_done_gets_its_outcome_after_the_crash() {
    for mode in [InvokeMode::Attach, InvokeMode::Start] {
        let place = Place::new();
        let (program, call) = cut_off(&place, "careful", "after").await;
        let outcome = program.outcome(&call, mode).await.unwrap();
        assert_eq!(content(outcome.clone()), "found written");
        assert_eq!(program.outcome(&call, InvokeMode::Start).await.unwrap(), outcome);
        assert_eq!(place.lines().len(), 1);
    }
}

#[tokio::test]
async fn outcomes_epochs_and_kin_outlive_the_process() {
    let place = Place::new();
    let program = place.serve().await;
    let mut call = program.call("blind", &json!({"line": "x"}));
    let first = program.outcome(&call, InvokeMode::Start).await.unwrap();
    call.epoch = Some(wire::Epoch { generation: 1, revision: 50 });
    program.outcome(&call, InvokeMode::Attach).await.unwrap();
    let store = program.instance.store.clone();
    program.kill().await.unwrap();
    let program = place.serve().await;
    assert_eq!(program.instance.store, store);
    assert_ne!(program.instance.incarnation, call.incarnation);
    // Meant for the incarnation that died, which kept its records in the same store.
    assert_eq!(program.outcome(&call, InvokeMode::Start).await.unwrap(), first);
    assert_eq!(place.lines().len(), 1);
    let stranger = wire::ToolCall { incarnation: "stranger".to_owned(), ..call.clone() };
    let status = program.outcome(&stranger, InvokeMode::Attach).await.unwrap_err();
    assert_eq!(why(&status), reason::NOT_ADMITTED);
    for revision in [10, 49] {
        call.epoch = Some(wire::Epoch { generation: 1, revision });
        let status = program.outcome(&call, InvokeMode::Start).await.unwrap_err();
        assert_eq!(why(&status), reason::STALE_OWNER);
    }
    let other = wire::ToolCall { arguments: b"{\"line\":\"y\"}".to_vec().into(), ..call };
    let epoch = Some(wire::Epoch { generation: 1, revision: 50 });
    let outcome = program.outcome(&wire::ToolCall { epoch, ..other }, InvokeMode::Start).await;
    let Some(wire::outcome::Result::Failure(failure)) = outcome.unwrap().result else {
        panic!("other arguments are no repeat")
    };
    assert_eq!(failure.kind(), wire::FailureKind::Conflict);
    assert_eq!(place.lines().len(), 1);
}

#[tokio::test]
async fn a_rollback_that_was_cut_off_is_finished_once() {
    for when in ["undo_before", "undo_after"] {
        let place = Place::new();
        let mut program = place.serve().await;
        let call = program.call("careful", &json!({"line": "x"}));
        program.outcome(&call, InvokeMode::Start).await.unwrap();
        place.die(when);
        program.undo(&call, "wish").await.unwrap_err();
        assert!(program.is_killed().await.unwrap());
        let program = place.serve().await;
        let undone = program.undo(&call, "wish").await.unwrap();
        assert!(matches!(undone, Ended::Undone(_)), "{undone:?}");
        assert_eq!(program.undo(&call, "wish").await.unwrap(), undone);
        let again = program.undo(&call, "another wish").await.unwrap();
        assert!(matches!(&again, Ended::Undone(text) if text.contains("already")), "{again:?}");
        assert_eq!(place.lines(), ["- x"], "{when}");
    }
}

#[tokio::test]
async fn two_processes_over_one_store_do_a_call_once() {
    let place = Place::new();
    let (one, two) = (place.serve().await, place.serve().await);
    assert_eq!(one.instance.store, two.instance.store);
    let call = one.call("slow", &json!({"line": "x"}));
    let (first, second) =
        tokio::join!(one.outcome(&call, InvokeMode::Start), two.outcome(&call, InvokeMode::Start),);
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(place.lines().len(), 1);
}

#[tokio::test]
async fn a_full_disk_refuses_a_change_before_any_effect() {
    let place = Place::with_small_disk();
    let program = place.serve().await;
    let fill = place.fill(&program);
    let call = program.call("careful", &json!({"line": "x"}));
    let mut status = None;
    // What the file had left is used up by what is refused, too.
    for _ in 0..200 {
        let call = program.call("careful", &json!({"line": "x"}));
        match program.outcome(&call, InvokeMode::Start).await {
            Ok(_) => {}
            Err(refused) => {
                status = Some(refused);
                break;
            }
        }
    }
    let status = status.expect("a full disk refuses");
    assert_eq!(
        (status.code(), why(&status).as_str()),
        (Code::ResourceExhausted, reason::NOT_ADMITTED)
    );
    let lines = place.lines().len();
    program.outcome(&call, InvokeMode::Start).await.unwrap_err();
    assert_eq!(place.lines().len(), lines);
    let look = program.call("look", &json!({"line": "x"}));
    assert_eq!(content(program.outcome(&look, InvokeMode::Start).await.unwrap()), "seen");
    std::fs::remove_file(fill).unwrap();
    program.outcome(&call, InvokeMode::Start).await.unwrap();
    assert_eq!(place.lines().len(), lines + 1);
}
