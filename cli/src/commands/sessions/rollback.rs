//! `callboard sessions rollback`: shows what would be done, and takes back what calls changed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::args;
use crate::client::{Client, segment, shapes};
use crate::commands::connect;
use crate::commands::here::Here;
use crate::exit::Exit;
use crate::print;

/// Pause before a rollback that goes on is asked about again; the gateway waits for it, too.
const AGAIN: Duration = Duration::from_millis(500);

/// Runs the command: fails if a call cannot be taken back, and then none is.
///
/// # Errors
/// When there is no gateway to ask, no such session, call or step, or something came in between.
pub(super) async fn run(here: &Here, rollback: &args::Rollback) -> anyhow::Result<Exit> {
    let (plan, done) = connect::with(here, async |client| {
        let plan = ask(client, rollback, true).await?;
        if rollback.dry_run || !is_clear(&plan) || steps(&plan).is_empty() {
            return Ok((plan, None));
        }
        // What will be done is seen before it is.
        print::err(print::visible(&page(&plan)).trim_end());
        let done = ask(client, rollback, false).await?;
        Ok((plan, Some(done)))
    })
    .await?;
    let shown = done.as_ref().unwrap_or(&plan);
    if rollback.output.json {
        print::json(shown)?;
    } else if steps(shown).is_empty() {
        print::err("Nothing has been changed since that step.");
    } else {
        print::out(&print::visible(&page(shown)))?;
    }
    Ok(if is_clear(shown) { Exit::Done } else { Exit::Failed })
}

async fn ask(client: &Client, rollback: &args::Rollback, is_plan: bool) -> anyhow::Result<Value> {
    let path = format!("/v1/sessions/{}/rollback", segment(&rollback.session));
    let mut body = json!({"dry_run": is_plan});
    match (&rollback.call, rollback.to_step) {
        (Some(call), _) => body["call_id"] = json!(call),
        (None, step) => body["to_step"] = json!(step),
    }
    // One that takes long is asked about under its key until it is over.
    let key = uuid::Uuid::new_v4().to_string();
    let mut said = 0;
    loop {
        let done = client.post_under(&path, &body, &key).await?;
        if done["goes_on"] != json!(true) {
            return Ok(done);
        }
        let made = steps(&done).iter().filter(|step| step["status"] == "undone").count();
        if made != said {
            said = made;
            print::err(&format!("{made} of {} calls are taken back …", steps(&done).len()));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn steps(document: &Value) -> &[Value] {
    document["steps"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether every call was, or could be, taken back.
fn is_clear(document: &Value) -> bool {
    steps(document).iter().all(|step| step["status"] == "would_undo" || step["status"] == "undone")
}

fn page(document: &Value) -> String {
    let lines: Vec<String> = steps(document).iter().map(shapes::taken_back).collect();
    lines.join("\n") + "\n"
}
