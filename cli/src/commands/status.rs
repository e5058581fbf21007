//! `callboard status`: what runs for this workspace, and how its runs went. Starts nothing.

use serde_json::{Value, json};

use crate::args::Output;
use crate::commands::connect::{self, Connection};
use crate::commands::here::Here;
use crate::commands::words;
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
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        row(&key.replace('_', " "), words::brief(&value, 80));
    }
    row("ready", words::brief(&ready.to_string(), 200));
    print::out(&words::columns(&rows))?;
    Ok(Exit::Done)
}

async fn ask(connection: &Connection) -> anyhow::Result<(Value, Value)> {
    let figures = connection.client.get("/v1/status").await?;
    // A gateway that is not ready says why in the same shape; that is no failure of this command.
    let ready = match connection.client.get("/readyz").await {
        Ok(ready) => ready,
        Err(error) => json!({"ready": false, "detail": error.to_string()}),
    };
    Ok((figures, ready))
}
