//! What a role refuses by itself, whoever calls it: a tool service without orchestrator, policy or
//! person, an orchestrator without a gateway.

use callboard_discovery::{
    Config, Instance,
    transport::{Channel, Credentials, channel},
};
use callboard_proto::agent::{
    GetSessionRequest, OpenSessionRequest, Principal, StartRequest,
    agent_service_client::AgentServiceClient, notice::Kind,
};
use callboard_proto::tool::{
    Epoch, InvokeMode, InvokeRequest, Outcome, ToolCall, invoke_response::Piece, outcome,
    tool_service_client::ToolServiceClient,
};
use callboard_tests::{Callboard, send, within};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The live instance of a service, found as the roles find one another.
pub(super) async fn instance(callboard: &Callboard, service: &str) -> Instance {
    replaced(callboard, service, 0).await
}

/// The same, which is not the process that was.
pub(super) async fn replaced(callboard: &Callboard, service: &str, was: u32) -> Instance {
    let states = std::fs::read_dir(callboard.home().join("state/callboard")).unwrap();
    let folder = states.flatten().next().unwrap().path().join("discovery");
    let discovery = callboard_discovery::connect(Config::Directory { path: folder }).await.unwrap();
    let live = discovery.live();
    within(std::time::Duration::from_secs(30), "the service is registered", || {
        let set = live.borrow();
        set.instances.values().find(|live| live.name == service && live.pid != was).cloned()
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

fn start(session: &str, input: &str, is_new: bool) -> StartRequest {
    let principal = Principal { team: "default".to_owned(), name: "raw".to_owned() };
    StartRequest {
        principal: Some(principal.clone()),
        session: session.to_owned(),
        open: Some(OpenSessionRequest {
            principal: Some(principal),
            session: session.to_owned(),
            ..OpenSessionRequest::default()
        }),
        run: uuid::Uuid::now_v7().to_string(),
        input: input.to_owned(),
        is_new,
        ..StartRequest::default()
    }
}

pub(super) fn agents(orchestrator: &Instance) -> AgentServiceClient<Channel> {
    AgentServiceClient::new(channel(&orchestrator.address, &Credentials::default()).unwrap())
}

/// The answer of a run; asked for again, as a gateway does, until somebody takes it.
async fn answer(
    client: &mut AgentServiceClient<Channel>,
    start: StartRequest,
) -> Result<String, tonic::Status> {
    let mut stream = loop {
        match client.start(start.clone()).await {
            Err(status) if status.code() == tonic::Code::FailedPrecondition => {}
            Err(status) if is_soon(status.code()) && !start.is_new => {}
            other => break other?.into_inner(),
        }
    };
    loop {
        let piece = stream.message().await?.expect("a result is the last message");
        if let Some(Kind::Result(result)) = piece.notice.and_then(|notice| notice.kind) {
            return Ok(result.run.unwrap_or_default().answer);
        }
    }
}

/// Nobody owns the session yet, or it is being opened anew.
pub(super) fn is_soon(code: tonic::Code) -> bool {
    matches!(code, tonic::Code::FailedPrecondition | tonic::Code::Unavailable)
}

/// The gateway never says of a session that is there that it is new; whoever does changes nothing.
#[tokio::test]
async fn a_session_that_is_there_survives_being_called_new() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let first = instance(&callboard, "orchestrator").await;
    let session = uuid::Uuid::now_v7().to_string();
    let answered = answer(&mut agents(&first), start(&session, "1 + 1?", true)).await;
    assert_eq!(answered.unwrap(), "1 + 1 = 2");
    // Another process, so that only the journal knows of it.
    send(first.pid, Signal::KILL);
    let second = replaced(&callboard, "orchestrator", first.pid).await;
    let mut client = agents(&second);
    let another = uuid::Uuid::now_v7().to_string();
    answer(&mut client, start(&another, "7 + 7?", false)).await.unwrap();
    let refused = answer(&mut client, start(&session, "2 + 2?", true)).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unavailable, "{refused}");
    assert_eq!(answer(&mut client, start(&session, "3 + 3?", false)).await.unwrap(), "3 + 3 = 6");
    let get = GetSessionRequest {
        principal: start(&session, "", false).principal,
        session: session.clone(),
        ..GetSessionRequest::default()
    };
    let kept = client.get_session(get).await.unwrap().into_inner();
    let answers: Vec<_> = kept.runs.iter().map(|run| run.answer.as_str()).collect();
    assert_eq!(answers, ["1 + 1 = 2", "3 + 3 = 6"]);
    assert_eq!(stack.stop().await, 0);
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
