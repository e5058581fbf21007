//! The JSON that other programs rely on: fields may be added, never renamed.

use callboard_tests::Callboard;
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn has(value: &Value, wanted: &[&str]) {
    let keys = keys(value);
    for key in wanted {
        assert!(keys.contains(key), "`{key}` is missing: {value}");
    }
}

#[tokio::test]
async fn the_documents_for_programs_have_their_shapes() {
    let callboard = Callboard::new();
    callboard.file("a.txt", "one\ntwo\n");
    let stack = callboard.up(&[]).await;

    let run = callboard.run(&["ask", "--json", "What is 6 * 7?"]).await.expect(0).json();
    has(
        &run,
        &[
            "session",
            "run",
            "status",
            "answer",
            "model",
            "steps",
            "tool_calls",
            "usage",
            "trace_id",
            "duration_ms",
        ],
    );
    has(&run["usage"], &["input_tokens", "output_tokens"]);
    has(
        &run["tool_calls"][0],
        &["call_id", "tool", "arguments", "status", "instance", "duration_ms"],
    );
    assert!(run["tool_calls"][0]["arguments"].is_object());
    assert_eq!(run["trace_id"].as_str().unwrap().len(), 32);

    let ok = callboard
        .run(&["tools", "call", "calculate", "--args", "{\"expression\":\"0.1+0.2\"}", "--json"])
        .await
        .expect(0)
        .json();
    has(
        &ok,
        &[
            "call_id",
            "tool",
            "verdict",
            "status",
            "content",
            "structured",
            "failure",
            "attempts",
            "instance",
            "duration_ms",
        ],
    );
    assert_eq!(
        (&ok["verdict"], &ok["status"], &ok["content"]),
        (&json!("allow"), &json!("ok"), &json!("0.3"))
    );
    assert_eq!(
        (&ok["structured"]["value"], &ok["failure"], &ok["attempts"]),
        (&json!("0.3"), &Value::Null, &json!(1))
    );

    let failed = callboard
        .run(&["tools", "call", "read_file", "--args", "{\"offset\":0,\"what\":1}", "--json"])
        .await
        .expect(1)
        .json();
    assert_eq!(
        (&failed["status"], &failed["failure"]["kind"]),
        (&json!("failed"), &json!("invalid_arguments"))
    );
    let pointers: Vec<_> = failed["failure"]["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {}", one["pointer"].as_str().unwrap(), one["message"].as_str().unwrap())
        })
        .collect();
    assert!(pointers.len() >= 3, "all violations at once: {pointers:?}");

    let denied = callboard
        .run(&["tools", "call", "run_command", "--args", "{\"command\":\"true\"}", "--json"])
        .await
        .expect(3)
        .json();
    assert_eq!((&denied["verdict"], &denied["status"]), (&json!("ask"), &json!("denied")));

    let tools = callboard.run(&["tools", "list", "--json"]).await.expect(0).json();
    let tools = tools.as_array().unwrap();
    for tool in tools {
        has(
            tool,
            &[
                "name",
                "service",
                "team",
                "version",
                "description",
                "input_schema",
                "annotations",
                "instances",
            ],
        );
    }
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in [
        "calculate",
        "read_file",
        "list_dir",
        "find_files",
        "write_file",
        "edit_file",
        "search_text",
        "run_command",
    ] {
        assert!(names.contains(&name), "{name} is not offered: {names:?}");
    }
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn arguments_come_from_a_file_or_standard_input_too() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let file = callboard.file("args.json", "{\"expression\": \"2^10\"}");
    let from_file = format!("@{}", file.display());
    let called =
        callboard.run(&["tools", "call", "calculate", "--args", &from_file]).await.expect(0);
    assert_eq!(called.stdout.trim(), "1024");
    let called = callboard
        .run_with_input(
            &["tools", "call", "calculate", "--args", "-"],
            "{\"expression\": \"2^10\"}",
        )
        .await
        .expect(0);
    assert_eq!(called.stdout.trim(), "1024");
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn an_edit_is_done_once_it_is_approved() {
    let callboard = Callboard::new();
    let path = callboard.workspace().join("a.txt");
    std::fs::write(&path, "n = 1\r\nlast").unwrap();
    let stack = callboard.up(&[]).await;
    let arguments =
        json!({"path": "a.txt", "edits": [{"old": "n = 1\n", "new": "n = 2\nm = 3\n"}]});
    let arguments = arguments.to_string();
    let command = ["tools", "call", "edit_file", "--args", &arguments];
    let refused = callboard.run(&command).await;
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"n = 1\r\nlast");
    let approved = [&command[..], &["--approve", "edit_file"]].concat();
    let called = callboard.run(&approved).await.expect(0);
    assert!(called.stdout.starts_with("Edited a.txt: 1 replacement;"), "{called:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"n = 2\r\nm = 3\r\nlast");
    assert_eq!(stack.stop().await, 0);
}
