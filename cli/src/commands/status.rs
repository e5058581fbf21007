//! `callboard status`: what runs for this workspace, and how its runs went. Starts nothing.

use serde_json::{Value, json};

use crate::args::Output;
use crate::commands::connect::{self, Connection};
use crate::commands::here::Here;
use crate::commands::{process, words};
use crate::exit::Exit;
use crate::print;

/// Prints the status; nothing running is a status too, with exit code 1.
///
/// # Errors
/// A stack that does not answer, or one of another configuration.
pub(crate) async fn run(here: &Here, output: Output) -> anyhow::Result<Exit> {
    let Some(connection) = connect::open_running(here).await? else {
        if output.json {
            print::json(&json!({"running": false}))?;
        } else {
            print::out(
                "Nothing runs for this workspace. `callboard up` starts a stack; `callboard ask` starts one for its task.",
            )?;
        }
        return Ok(Exit::Failed);
    };
    let asked = ask(&connection).await;
    let stack = connection.stack().map(|stack| {
        json!({"pid": stack.pid, "workspace": stack.workspace, "version": stack.version,
               "http": stack.http, "socket": stack.gateway, "directory": stack.directory})
    });
    connection.close().await;
    let (figures, ready) = asked?;
    if output.json {
        print::json(&json!({"running": true, "stack": stack, "status": figures, "ready": ready}))?;
        return Ok(Exit::Done);
    }
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(stack) = &stack {
        row("process", stack["pid"].to_string());
        row("workspace", stack["workspace"].as_str().unwrap_or_default().to_owned());
        if let Some(http) = stack["http"].as_str() {
            row("address", http.to_owned());
        }
    }
    for (key, value) in figures.as_object().into_iter().flatten() {
        // Which sessions are refused is told by `doctor`.
        if key != "orchestrators" && key != "refused" {
            row(&key.replace('_', " "), words::brief(&text(value), 80));
        }
    }
    row("ready", text(&ready["status"]));
    if ready["discovery"]["confirmed"] == json!(false) {
        row("discovery", "is away: what follows is as it was last seen".to_owned());
    }
    for role in ["orchestrators", "tool_services"] {
        for instance in ready[role].as_array().into_iter().flatten() {
            row(&text(&instance["name"]), said_of(instance, stack.is_some()));
        }
    }
    print::out(&print::visible(&words::columns(&rows)))?;
    Ok(Exit::Done)
}

/// A value as people read it: texts as they are, lists with commas.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// What there is to say of an instance; of its process only where that is on this machine.
fn said_of(instance: &Value, is_here: bool) -> String {
    let said = format!("{}, {}", text(&instance["instance"]), text(&instance["state"]));
    let pid = instance["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    let Some(pid) = pid.filter(|_| is_here) else { return said };
    match process::state(pid) {
        Some('T' | 't') => {
            format!("{said}, but process {pid} is stopped: `kill -CONT {pid}`, or end it")
        }
        Some(_) => format!("{said}, process {pid}"),
        None => format!("{said}, but process {pid} is gone"),
    }
}

async fn ask(connection: &Connection) -> anyhow::Result<(Value, Value)> {
    let figures = connection.client.get("/v1/status").await?;
    // A gateway that is not ready says why in the same shape; that is no failure of this command.
    let ready = match connection.client.get("/readyz").await {
        Ok(ready) => ready,
        Err(error) => json!({"status": "not_ready", "detail": error.to_string()}),
    };
    Ok((figures, ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_told_with_its_process_where_that_is_near() {
        let own = std::process::id();
        let instance = |pid: u32| json!({"instance": "a-1", "state": "serving", "pid": pid});
        assert_eq!(said_of(&instance(own), true), format!("a-1, serving, process {own}"));
        assert_eq!(said_of(&instance(own), false), "a-1, serving");
        // No process has the largest number.
        let gone = u32::MAX;
        assert_eq!(
            said_of(&instance(gone), true),
            format!("a-1, serving, but process {gone} is gone")
        );
        assert_eq!(text(&json!(["a", "b"])), "a, b");
    }
}
