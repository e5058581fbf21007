//! A write happens once, whichever side of its rename the process dies on, and so does the way back.

use std::fs;

use callboard_proto::tool::{
    self as wire, InvokeMode, outcome, rollback_response::Result as Undone,
};
use callboard_tool::testing::Program;
use serde_json::json;
use tonic::Code;

use crate::program::Place;

/// The rename itself, which is killed before it is done; the temporary file is whole by then.
const BEFORE: &str = "renameat";
/// The sync of the folder, right after the rename.
const AFTER: &str = "fsync";

async fn cut_off(place: &Place, at: &str) -> (Program, wire::ToolCall) {
    let mut program = place.serve_until(at).await;
    let arguments = json!({"path": "a.md", "content": "new\n"});
    let call = program.approved("write_file", &arguments).await.unwrap();
    program.outcome(&call, InvokeMode::Start).await.unwrap_err();
    assert!(program.is_killed().await.unwrap());
    (place.serve().await, call)
}

fn content(outcome: wire::Outcome) -> (String, String) {
    match outcome.result {
        Some(outcome::Result::Output(output)) => (output.content, output.undo_token),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_write_that_died_before_its_rename_is_started_again_under_the_same_id() {
    let place = Place::new();
    fs::write(place.at("a.md"), "old\n").unwrap();
    let (program, call) = cut_off(&place, BEFORE).await;
    assert_eq!(fs::read(place.at("a.md")).unwrap(), b"old\n");
    let status = program.outcome(&call, InvokeMode::Attach).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(place.names(), ["a.md"], "what the dead process began is removed");
    let (told, _) = content(program.outcome(&call, InvokeMode::Start).await.unwrap());
    assert!(told.starts_with("Wrote a.md: 4 bytes, 1 line;"), "{told}");
    assert_eq!(fs::read(place.at("a.md")).unwrap(), b"new\n");
}

#[tokio::test]
async fn a_write_that_died_after_its_rename_is_told_and_can_be_taken_back() {
    let place = Place::new();
    fs::write(place.at("a.md"), "old\n").unwrap();
    let (program, call) = cut_off(&place, AFTER).await;
    assert_eq!(fs::read(place.at("a.md")).unwrap(), b"new\n");
    let outcome = program.outcome(&call, InvokeMode::Start).await.unwrap();
    let (told, token) = content(outcome.clone());
    assert_eq!(
        told,
        "Wrote a.md: 4 bytes, 1 line; the old content is replaced. Nothing more to do for \
         this file."
    );
    assert_eq!(token, format!("kept:{}", call.call_id));
    assert_eq!(program.outcome(&call, InvokeMode::Attach).await.unwrap(), outcome);
    let undone = program.undo(&call, "wish").await.unwrap();
    assert!(matches!(undone, Undone::Undone(_)), "{undone:?}");
    assert_eq!(fs::read(place.at("a.md")).unwrap(), b"old\n");
    assert_eq!(place.names(), ["a.md"]);
}

#[tokio::test]
async fn an_edit_that_died_on_either_side_of_its_rename_is_done_once() {
    for (at, left) in [(BEFORE, "n = 1\n"), (AFTER, "n = 11\n")] {
        let place = Place::new();
        fs::write(place.at("a.md"), "n = 1\n").unwrap();
        let mut program = place.serve_until(at).await;
        let arguments = json!({"path": "a.md", "edits": [{"old": "1", "new": "11"}]});
        let call = program.approved("edit_file", &arguments).await.unwrap();
        program.outcome(&call, InvokeMode::Start).await.unwrap_err();
        assert!(program.is_killed().await.unwrap());
        assert_eq!(fs::read_to_string(place.at("a.md")).unwrap(), left);
        let program = place.serve().await;
        let (told, _) = content(program.outcome(&call, InvokeMode::Start).await.unwrap());
        assert!(told.starts_with("Edited a.md: 1 replacement;"), "{told}");
        assert_eq!(fs::read_to_string(place.at("a.md")).unwrap(), "n = 11\n");
        let undone = program.undo(&call, "wish").await.unwrap();
        assert!(matches!(undone, Undone::Undone(_)), "{undone:?}");
        assert_eq!(fs::read_to_string(place.at("a.md")).unwrap(), "n = 1\n");
        assert_eq!(place.names(), ["a.md"]);
    }
}

#[tokio::test]
async fn a_file_that_somebody_changed_after_the_crash_is_not_guessed_about() {
    let place = Place::new();
    fs::write(place.at("a.md"), "old\n").unwrap();
    let (program, call) = cut_off(&place, AFTER).await;
    fs::write(place.at("a.md"), "by somebody\n").unwrap();
    let status = program.outcome(&call, InvokeMode::Attach).await.unwrap_err();
    assert_eq!(status.code(), Code::DataLoss);
    // Started again it is judged again, and what was approved is no longer what it would do.
    let outcome = program.outcome(&call, InvokeMode::Start).await.unwrap();
    let Some(outcome::Result::Failure(failure)) = outcome.result else { panic!() };
    assert_eq!(failure.kind(), wire::FailureKind::PreviewChanged);
    assert_eq!(fs::read(place.at("a.md")).unwrap(), b"by somebody\n");
}

#[tokio::test]
async fn a_rollback_that_died_on_either_side_of_its_rename_is_finished() {
    for at in [BEFORE, AFTER] {
        let place = Place::new();
        fs::write(place.at("a.md"), "old\n").unwrap();
        let program = place.serve().await;
        let arguments = json!({"path": "a.md", "content": "new\n"});
        let call = program.approved("write_file", &arguments).await.unwrap();
        program.outcome(&call, InvokeMode::Start).await.unwrap();
        program.kill().await.unwrap();
        let mut program = place.serve_until(at).await;
        program.undo(&call, "wish").await.unwrap_err();
        assert!(program.is_killed().await.unwrap());
        let program = place.serve().await;
        let undone = program.undo(&call, "wish").await.unwrap();
        assert!(matches!(undone, Undone::Undone(_)), "{undone:?}");
        assert_eq!(fs::read(place.at("a.md")).unwrap(), b"old\n");
        assert_eq!(program.undo(&call, "wish").await.unwrap(), undone);
    }
}
