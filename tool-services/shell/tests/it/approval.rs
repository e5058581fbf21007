//! Nothing runs that a person did not agree to, whoever calls.

use callboard_proto::tool as wire;
use serde_json::json;

use crate::place::Place;

async fn ask(place: &Place, arguments: serde_json::Value) -> wire::Ask {
    let call = place.served.call("run_command", &arguments);
    match place.served.preflight(call).await.unwrap() {
        wire::preflight_response::Verdict::Ask(ask) => ask,
        verdict => panic!("expected a question, got {verdict:?}"),
    }
}

#[tokio::test]
async fn every_command_asks_and_shows_itself() {
    let place = Place::new().await;
    std::fs::create_dir(place.ws("sub")).unwrap();
    for command in ["uname -s", "true", "rm -rf ./build", "cat .env", "ls\nls"] {
        let preview = ask(&place, json!({ "command": command })).await.preview;
        assert_eq!(preview, format!("For at most 60 s, in the workspace:\n{command}"));
    }
    let there = ask(&place, json!({ "command": "ls", "cwd": "sub" })).await;
    assert_eq!(there.preview, "For at most 60 s, in the folder sub:\nls");
}

#[tokio::test]
async fn a_call_without_approval_starts_nothing() {
    let place = Place::new().await;
    let arguments = json!({ "command": "touch made" });
    let failure = place.served.invoke("run_command", arguments).await.unwrap_err();
    assert_eq!(failure.kind(), wire::FailureKind::PreviewChanged);
    assert_eq!(failure.preview, "For at most 60 s, in the workspace:\ntouch made");
    assert!(!place.ws("made").exists());
}

#[tokio::test]
async fn an_approval_of_another_command_or_folder_starts_nothing() {
    let place = Place::new().await;
    std::fs::create_dir(place.ws("sub")).unwrap();
    let approved = ask(&place, json!({ "command": "touch made" })).await;
    for arguments in [
        json!({ "command": "touch made " }),
        json!({ "command": "touch made", "cwd": "sub" }),
        json!({ "command": "touch made", "timeout_s": 61 }),
        json!({ "command": "touch made; touch more" }),
    ] {
        let mut call = place.served.call("run_command", &arguments);
        call.approved_preview.clone_from(&approved.preview_digest);
        let failure = place.served.start(call).await.unwrap().unwrap_err();
        assert_eq!(failure.kind(), wire::FailureKind::PreviewChanged, "{arguments}");
    }
    assert!(!place.ws("made").exists() && !place.ws("sub/made").exists());
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told_without_asking_anybody() {
    let place = Place::new().await;
    let arguments = json!({ "command": "touch made", "cwd": "nowhere" });
    let call = place.served.call("run_command", &arguments);
    let verdict = place.served.preflight(call.clone()).await.unwrap();
    assert!(matches!(verdict, wire::preflight_response::Verdict::Allow(_)));
    let failure = place.served.start(call).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), wire::FailureKind::NotFound);
    assert!(!place.ws("made").exists());
}

#[tokio::test]
async fn with_write_taken_away_the_workspace_is_read_only() {
    for isolation in crate::place::ALL {
        let place = Place::with(isolation).await;
        place.write("kept.txt", "kept");
        let command = "echo x > kept.txt; rm kept.txt; touch made; cat kept.txt; echo t > \
                       $TMPDIR/t && cat $TMPDIR/t";
        let mut call = place.served.call("run_command", &json!({ "command": command }));
        call.denied_effects = vec![wire::Effect::Write.into()];
        let verdict = place.served.preflight(call.clone()).await.unwrap();
        let wire::preflight_response::Verdict::Ask(ask) = verdict else { panic!("{verdict:?}") };
        assert!(
            ask.preview.starts_with("For at most 60 s, without changing the workspace, in the ")
        );
        call.approved_preview = ask.preview_digest;
        let output = place.served.start(call).await.unwrap().unwrap();
        assert!(output.content.contains("\nkeptt\n"), "{}", output.content);
        assert_eq!(std::fs::read_to_string(place.ws("kept.txt")).unwrap(), "kept");
        assert!(!place.ws("made").exists());
    }
}

#[tokio::test]
async fn a_policy_against_execution_blocks_it() {
    let place = Place::new().await;
    let mut call = place.served.call("run_command", &json!({ "command": "touch made" }));
    call.denied_effects = vec![wire::Effect::Execute.into()];
    let verdict = place.served.preflight(call.clone()).await.unwrap();
    assert!(matches!(verdict, wire::preflight_response::Verdict::Block(_)));
    let failure = place.served.start(call).await.unwrap().unwrap_err();
    assert_eq!(failure.kind(), wire::FailureKind::Blocked);
    assert!(!place.ws("made").exists());
}
