//! Nothing runs unasked.

use callboard_tests::{Callboard, ModelServer, Reply};
use serde_json::json;

const PROMPT: &str = "Run: uname -s";

#[tokio::test]
async fn without_a_terminal_a_command_is_denied_at_once() {
    let callboard = Callboard::new();
    let finished = callboard.run(&["ask", PROMPT]).await.expect(3);
    assert!(finished.stderr.contains("--approve run_command"), "{finished:?}");
    assert!(finished.stderr.contains("orchestrator.policy.rules"), "{finished:?}");
    assert!(!finished.stdout.contains("Linux"), "{finished:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn the_flag_approves_beforehand() {
    let callboard = Callboard::new();
    let finished = callboard.run(&["ask", "--approve", "run_command", PROMPT]).await.expect(0);
    assert!(finished.stdout.contains("Linux"), "{finished:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn on_a_terminal_a_person_decides() {
    for (key, code, ran) in [("y\n", 0, true), ("n\n", 3, false)] {
        let callboard = Callboard::new();
        let (status, screen) = callboard.run_on_terminal(&["ask", PROMPT], "[y/n]", key).await;
        assert_eq!(status, code, "{key:?}: {screen}");
        assert!(screen.contains("uname -s"), "the preview is the command: {screen}");
        assert_eq!(screen.contains("Linux"), ran, "{key:?}: {screen}");
        callboard.nothing_is_left().await;
    }
}

#[tokio::test]
async fn a_summary_is_saved_after_approval() {
    let model = ModelServer::start(|n, body| match n {
        0 => Reply::call(
            "find_files",
            &json!({"pattern": "*.md", "path": "meetings", "sort": "modified"}),
        ),
        1 => {
            let found = last_result(body);
            assert!(found.find("b.md") < found.find("a.md"), "newest first: {found}");
            Reply::call("read_file", &json!({"path": "meetings/b.md"}))
        }
        2 => {
            assert!(last_result(body).contains("# Budget"), "the heading is there");
            let content = "# Summary\n\nThe budget was agreed.\n";
            Reply::call("write_file", &json!({"path": "meetings/b-summary.md", "content": content}))
        }
        _ => Reply::text("Saved the summary in meetings/b-summary.md."),
    })
    .await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    for (name, age, text) in [("a.md", 500, "# Old\n"), ("b.md", 5, "# Budget\n\nAgreed.\n")] {
        let path = callboard.file(&format!("meetings/{name}"), text);
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let ask = ["ask", "--model", "openai:scripted", "Summarise the newest meeting"];
    let (status, screen) = callboard.run_on_terminal(&ask, "[y/n]", "y\n").await;
    assert_eq!(status, 0, "{screen}");
    assert!(screen.contains("+The budget was agreed."), "the preview is the diff: {screen}");
    let saved = std::fs::read_to_string(callboard.workspace().join("meetings/b-summary.md"));
    assert_eq!(saved.unwrap(), "# Summary\n\nThe budget was agreed.\n");
    callboard.nothing_is_left().await;
}

fn last_result(body: &serde_json::Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "tool");
    last["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_rule_of_the_configuration_allows() {
    let callboard = Callboard::new();
    let rule = "[[orchestrator.policy.rules]]\ntool = \"run_command\"\nverdict = \"allow\"\n";
    let file = callboard.home().join("mine.toml");
    std::fs::write(&file, rule).unwrap();
    let finished =
        callboard.run(&["ask", "--config", file.to_str().unwrap(), PROMPT]).await.expect(0);
    assert!(finished.stdout.contains("Linux"), "{finished:?}");
    callboard.nothing_is_left().await;
}
