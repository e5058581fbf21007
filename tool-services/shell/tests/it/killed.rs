//! A service that is killed takes its commands along: nothing of it can do that, only the kernel.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use callboard_discovery::transport::{Credentials, channel};
use callboard_discovery::{Config, Instance, connect};
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use callboard_proto::tool::{self as wire, preflight_response::Verdict};
use tokio::time::{interval, timeout};

use crate::place::{LAUNCHER, processes_with};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_killed_service_leaves_no_command_behind() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("ws");
    std::fs::create_dir(&workspace).unwrap();
    let directory = folder.path().join("d");
    let mut service = Command::new(LAUNCHER)
        .env("CALLBOARD_DIRECTORY", &directory)
        .env("CALLBOARD_WORKSPACE", format!("work={}", workspace.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let discovery = connect(Config::Directory { path: directory }).await.unwrap();
    let mut live = discovery.live();
    let found = timeout(SOON, live.wait_for(|live| !live.instances.is_empty())).await.unwrap();
    let instance = found.unwrap().instances.values().next().cloned().unwrap();

    let marker = "316.1";
    let command = format!("touch begun; setsid sleep {marker} & sleep {marker}");
    let mut client =
        ToolServiceClient::new(channel(&instance.address, &Credentials::default()).unwrap());
    let mut call = call(&instance, &command);
    let asked = client.preflight(wire::PreflightRequest { call: Some(call.clone()) }).await;
    let Some(Verdict::Ask(ask)) = asked.unwrap().into_inner().verdict else {
        panic!("no question")
    };
    call.approved_preview = ask.preview_digest;
    let mode = wire::InvokeMode::Start.into();
    let invoked = client.invoke(wire::InvokeRequest { call: Some(call), mode }).await.unwrap();
    let begun = workspace.join("begun");
    until(|| begun.exists() && processes_with(marker).len() >= 2).await;

    kill(&mut service);
    until(|| processes_with(marker).is_empty()).await;
    drop(invoked);
}

fn call(instance: &Instance, command: &str) -> wire::ToolCall {
    wire::ToolCall {
        deployment: "test".to_owned(),
        call_id: "0199aa00-0000-7000-8000-000000000001".to_owned(),
        attempt: 1,
        session: "session".to_owned(),
        partition: 1,
        epoch: Some(wire::Epoch { generation: 1, revision: 1 }),
        incarnation: instance.incarnation.clone(),
        team: "default".to_owned(),
        workspace: "work".to_owned(),
        tool: "run_command".to_owned(),
        arguments: serde_json::json!({ "command": command }).to_string().into(),
        ..wire::ToolCall::default()
    }
}

fn kill(service: &mut Child) {
    service.kill().unwrap();
    service.wait().unwrap();
}

/// Waits for a condition that must come.
async fn until(mut is_met: impl FnMut() -> bool) {
    let mut ticks = interval(Duration::from_millis(10));
    let waiting = async {
        while !is_met() {
            ticks.tick().await;
        }
    };
    timeout(SOON, waiting).await.unwrap();
}
