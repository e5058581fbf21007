//! A recorded session is folded through today's code: the same, or the first difference is named.

use callboard_tests::{Callboard, ModelServer, Reply};
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_replays_the_same_until_something_is_changed() {
    let callboard = Callboard::new();
    callboard.file("notes.md", "# One\n# Two\n");
    let stack = callboard.up(&[]).await;
    let run = callboard.run(&["ask", "--json", "What is 6 * 7?"]).await.expect(0).json();
    let session = run["session"].as_str().unwrap();
    let more = ["ask", "--session", session, "What are the section headings of notes.md?"];
    let _ = callboard.run(&more).await.expect(0);
    // A denied call is a story of its own.
    let _ = callboard.run(&["ask", "--session", session, "Run: uname -s"]).await.expect(3);

    let replayed = callboard.run(&["sessions", "replay", session]).await.expect(0);
    assert!(replayed.stdout.starts_with("The same: "), "{replayed:?}");
    let export = callboard.run(&["sessions", "export", session]).await.expect(0).stdout;
    let lines: Vec<Value> = export.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines[0]["session"]["id"], session);
    assert_eq!(lines.len() as u64, 1 + lines[0]["session"]["last_seq"].as_u64().unwrap());
    let file = callboard.file("session.jsonl", &export).display().to_string();
    assert_eq!(stack.stop().await, 0);

    // From the file alone, without any stack.
    let replay = ["sessions", "replay", session, "--against", &file, "--json"];
    let same = callboard.run(&replay).await.expect(0).json();
    assert_eq!(same, json!({"events": lines.len() - 1, "same": true, "divergence": null}));
    for (variable, value, what) in [
        ("CALLBOARD__ORCHESTRATOR__AGENT__MAX_STEPS", "3", "max_steps"),
        ("CALLBOARD__ORCHESTRATOR__AGENT__SYSTEM_PROMPT", "Be rude.", "system_prompt"),
    ] {
        let mut command = callboard.command(&replay);
        let output = command.env(variable, value).output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["divergence"]["what"], what, "{found}");
        assert_eq!(found["divergence"]["type"], "run.started", "{found}");
    }
    // What was recorded is not what is replayed if a result was changed afterwards.
    let tampered = export.replace("# One", "# 0ne").replace("\"42", "\"43");
    assert_ne!(tampered, export);
    let file = callboard.file("tampered.jsonl", tampered).display().to_string();
    let found = callboard.run(&["sessions", "replay", session, "--against", &file]).await.expect(1);
    assert!(found.stdout.contains("digest"), "{found:?}");
    let part = callboard.file("part.jsonl", export.lines().next().unwrap()).display().to_string();
    let _ = callboard.run(&["sessions", "replay", session, "--against", &part]).await.expect(1);
    let _ = callboard.run(&["sessions", "replay", "another", "--against", &file]).await.expect(2);
}

#[tokio::test]
async fn a_run_of_many_calls_that_was_cancelled_replays_the_same() {
    let model = ModelServer::start(|n, _| match n {
        0 => Reply::Calls(
            "Both.".to_owned(),
            vec![
                ("calculate".to_owned(), json!({"expression": "1+1"}).to_string()),
                ("run_command".to_owned(), json!({"command": "true"}).to_string()),
                ("no_such_tool".to_owned(), "{}".to_owned()),
            ],
        ),
        1 => Reply::Hang,
        _ => Reply::text("Never mind."),
    })
    .await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    let ask = stack.client().post(format!("{}/v1/runs", stack.url));
    let body = json!({"input": "go", "model": "openai:scripted", "approve": ["run_command"]});
    let begun: Value = ask.json(&body).send().await.unwrap().json().await.unwrap();
    let session = begun["session"].as_str().unwrap();
    callboard_tests::within(std::time::Duration::from_secs(20), "the model is asked twice", || {
        (model.requests().len() == 2).then_some(())
    })
    .await;
    let _ = callboard.run(&["sessions", "cancel", session]).await.expect(0);
    let _ = callboard.run(&["ask", "--session", session, "and now?"]).await.expect(0);
    let _ = callboard.run(&["sessions", "replay", session]).await.expect(0);
    let _ = callboard.run(&["sessions", "delete", session]).await.expect(0);
    let _ = callboard.run(&["sessions", "show", session]).await.expect(2);
    let _ = callboard.run(&["sessions", "delete", session]).await.expect(2);
    assert_eq!(stack.stop().await, 0);
}
