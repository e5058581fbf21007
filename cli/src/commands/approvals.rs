//! `callboard approvals`: the calls that wait for a person, and deciding them from another terminal.

use serde_json::{Value, json};

use crate::args::{Approvals, Decide};
use crate::client::{Client, segment};
use crate::commands::here::Here;
use crate::commands::{connect, words};
use crate::exit::Exit;
use crate::print;

/// Sessions that are looked at: those that wait are among the newest.
const SESSIONS: &str = "/v1/sessions?limit=500";

/// Runs one of the commands.
///
/// # Errors
/// When there is no gateway to ask, no such call, or another decision stands already.
pub(crate) async fn run(here: &Here, command: Approvals) -> anyhow::Result<Exit> {
    match command {
        Approvals::List(output) => list(here, output.json).await,
        Approvals::Approve(decide) => decided(here, &decide, "approve").await,
        Approvals::Deny(decide) => decided(here, &decide, "deny").await,
    }
}

async fn list(here: &Here, is_json: bool) -> anyhow::Result<Exit> {
    let waiting = connect::with(here, waiting).await?;
    if is_json {
        print::json(&Value::Array(waiting))?;
        return Ok(Exit::Done);
    }
    if waiting.is_empty() {
        print::err("Nothing waits for a person.");
        return Ok(Exit::Done);
    }
    for call in &waiting {
        let text = |key: &str| call[key].as_str().unwrap_or_default();
        print::out(&format!(
            "{} {}\n  {} {}\n",
            text("session"),
            text("call_id"),
            print::visible(text("tool")),
            words::brief(&call["arguments"].to_string(), 200)
        ))?;
    }
    Ok(Exit::Done)
}

async fn waiting(client: &Client) -> anyhow::Result<Vec<Value>> {
    let sessions = client.get(SESSIONS).await?;
    let mut found = Vec::new();
    for session in sessions["sessions"].as_array().into_iter().flatten() {
        if session["state"] != json!("waiting") {
            continue;
        }
        let id = session["id"].as_str().unwrap_or_default();
        let document = client.get(&format!("/v1/sessions/{}", segment(id))).await?;
        let runs = document["runs"].as_array().into_iter().flatten();
        let calls = runs.flat_map(|run| run["tool_calls"].as_array().into_iter().flatten());
        for call in calls.filter(|call| call["status"] == json!("waiting")) {
            found.push(json!({"session": id, "call_id": call["call_id"], "tool": call["tool"],
                              "arguments": call["arguments"]}));
        }
    }
    Ok(found)
}

async fn decided(here: &Here, decide: &Decide, decision: &str) -> anyhow::Result<Exit> {
    let (session, call) = (segment(&decide.session), segment(&decide.call_id));
    let path = format!("/v1/sessions/{session}/approvals/{call}");
    let body = json!({"decision": decision, "note": decide.note});
    let document = connect::with(here, async |client| client.post(&path, &body).await).await?;
    if decide.output.json {
        print::json(&document)?;
    } else {
        let what = if document["approved"] == json!(true) { "approved" } else { "denied" };
        let when = if document["first"] == json!(false) { " already" } else { "" };
        print::err(&format!("The call is{when} {what}."));
    }
    Ok(Exit::Done)
}
