//! What a tool service refuses by itself, whoever calls it: no orchestrator, no policy, no person.

use callboard_discovery::{
    Config, Instance,
    transport::{Channel, Credentials, channel},
};
use callboard_proto::tool::{
    Epoch, InvokeMode, InvokeRequest, Outcome, ToolCall, invoke_response::Piece, outcome,
    tool_service_client::ToolServiceClient,
};
use callboard_tests::{Callboard, within};
use serde_json::{Value, json};

/// The live instance of a service, found as the roles find one another.
async fn instance(callboard: &Callboard, service: &str) -> Instance {
    let states = std::fs::read_dir(callboard.home().join("state/callboard")).unwrap();
    let folder = states.flatten().next().unwrap().path().join("discovery");
    let discovery = callboard_discovery::connect(Config::Directory { path: folder }).await.unwrap();
    let live = discovery.live();
    within(std::time::Duration::from_secs(5), "the service is registered", || {
        let set = live.borrow();
        set.instances.values().find(|instance| instance.name == service).cloned()
    })
    .await
}

async fn invoke(instance: &Instance, tool: &str, arguments: Value) -> Outcome {
    let channel: Channel = channel(&instance.address, &Credentials::default()).unwrap();
    let call = ToolCall {
        deployment: "local".to_owned(),
        call_id: uuid::Uuid::now_v7().to_string(),
        attempt: 1,
        session: "raw".to_owned(),
        epoch: Some(Epoch { generation: 0, revision: 1 }),
        incarnation: instance.incarnation.clone(),
        team: "default".to_owned(),
        workspace: instance.workspaces.first().cloned().unwrap_or_default(),
        tool: tool.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..ToolCall::default()
    };
    let request = InvokeRequest { call: Some(call), mode: InvokeMode::Start.into() };
    let mut stream = ToolServiceClient::new(channel).invoke(request).await.unwrap().into_inner();
    loop {
        let piece = stream.message().await.unwrap().expect("an outcome is the last message");
        if let Some(Piece::Outcome(outcome)) = piece.piece {
            return outcome;
        }
    }
}

#[tokio::test]
async fn without_an_approval_nothing_happens() {
    let callboard = Callboard::new();
    callboard.file(".env", "SECRET=do-not-tell\n");
    let stack = callboard.up(&[]).await;
    let (shell, files) = (instance(&callboard, "shell").await, instance(&callboard, "files").await);
    for (service, tool, arguments) in [
        (&shell, "run_command", json!({"command": "touch ran"})),
        (&files, "write_file", json!({"path": "written", "content": "x"})),
        (&files, "read_file", json!({"path": ".env"})),
    ] {
        let outcome = invoke(service, tool, arguments).await;
        let Some(outcome::Result::Failure(failure)) = outcome.result else {
            panic!("{tool} was not refused: {outcome:?}");
        };
        assert!(!failure.message.contains("do-not-tell"));
    }
    for file in ["ran", "written"] {
        assert!(!callboard.workspace().join(file).exists(), "{file} is there");
    }
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn sensitive_files_are_out_of_reach_on_every_path() {
    let callboard = Callboard::new();
    callboard.file(".env", "SECRET=do-not-tell\n");
    callboard.file("keys/server.pem", "do-not-tell\n");
    callboard.file("notes.md", "do ask\n");
    let stack = callboard.up(&[]).await;
    std::os::unix::fs::symlink(".env", callboard.workspace().join("innocent.txt")).unwrap();
    std::fs::hard_link(callboard.workspace().join(".env"), callboard.workspace().join("hard.txt"))
        .unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": ".env"})),
        ("read_file", json!({"path": "innocent.txt"})),
        ("read_file", json!({"path": "hard.txt"})),
        ("read_file", json!({"path": "keys/server.pem"})),
        ("read_file", json!({"path": "../ws/.env"})),
        ("search_text", json!({"pattern": "do-not"})),
        (
            "run_command",
            json!({"command": "cat .env innocent.txt hard.txt keys/server.pem; cp .env x; cat x"}),
        ),
    ] {
        let called = callboard
            .run(&[
                "tools",
                "call",
                tool,
                "--approve",
                "*",
                "--json",
                "--args",
                &arguments.to_string(),
            ])
            .await;
        let everything = format!("{}{}", called.stdout, called.stderr);
        assert!(!everything.contains("do-not-tell"), "{tool} {arguments}: {everything}");
    }
    assert_eq!(stack.stop().await, 0);
}
