//! `callboard sessions`: list, show, cancel, decide, export, delete. Next: `sessions/rollback.rs`,
//! then `sessions/replay.rs`.

mod replay;
mod rollback;

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::args::{Choose, OfSession, Sessions};
use crate::client::segment;
use crate::client::shapes::{self, Call, Run};
use crate::commands::here::Here;
use crate::commands::{connect, words};
use crate::exit::Exit;
use crate::print;

/// Runs one of the commands.
///
/// # Errors
/// When there is no gateway to ask, or no such session.
pub(crate) async fn run(here: &Here, command: Sessions) -> anyhow::Result<Exit> {
    match command {
        Sessions::List { limit, output } => list(here, limit, output.json).await,
        Sessions::Show(of) => show(here, &of).await,
        Sessions::Cancel(of) => cancel(here, &of).await,
        Sessions::Decide(choose) => decide(here, &choose).await,
        Sessions::Rollback(rollback) => rollback::run(here, &rollback).await,
        Sessions::Replay(replay) => replay::run(here, &replay).await,
        Sessions::Export { session } => export(here, &session).await,
        Sessions::Delete { session } => delete(here, &session).await,
    }
}

async fn list(here: &Here, limit: u32, is_json: bool) -> anyhow::Result<Exit> {
    let path = format!("/v1/sessions?limit={limit}");
    let mut document = connect::with(here, async |client| client.get(&path).await).await?;
    let sessions = document["sessions"].take();
    if is_json {
        print::json(&sessions)?;
        return Ok(Exit::Done);
    }
    let now = words::now_ms();
    let rows: Vec<Vec<String>> = sessions
        .as_array()
        .into_iter()
        .flatten()
        .map(|session| {
            let text = |key: &str| session[key].as_str().unwrap_or_default().to_owned();
            let updated = session["updated_at"].as_i64().unwrap_or_default();
            let (state, updated) = (text("state"), words::ago(updated, now));
            vec![text("id"), state, updated, words::brief(&text("title"), 60)]
        })
        .collect();
    if rows.is_empty() {
        print::err("No sessions yet.");
    } else {
        print::out(&words::columns(&rows))?;
    }
    Ok(Exit::Done)
}

async fn show(here: &Here, of: &OfSession) -> anyhow::Result<Exit> {
    let path = format!("/v1/sessions/{}", segment(&of.session));
    let document = connect::with(here, async |client| client.get(&path).await).await?;
    if of.output.json {
        print::json(&document)?;
        return Ok(Exit::Done);
    }
    let session = &document["session"];
    let text = |key: &str| session[key].as_str().unwrap_or_default();
    let mut page = format!(
        "{}  {}  {}  {}\n",
        text("id"),
        text("kind"),
        text("state"),
        words::brief(text("title"), 80)
    );
    let mut steps = 0;
    for run in document["runs"].as_array().into_iter().flatten() {
        let run = shapes::read(run)?;
        page.push_str(&page_of(&run, steps));
        steps += steps_of(&run);
    }
    print::out(&print::visible(&page))?;
    Ok(Exit::Done)
}

/// Steps of a run, as a rollback counts them: model replies, and one for a direct call.
fn steps_of(run: &Run) -> u64 {
    let is_direct = run.tool_calls.iter().any(|call| call.step == 0);
    run.steps.max(u64::from(is_direct))
}

/// A run after so many steps of its session: what was wanted, each call with its step, id, verdict,
/// attempts and instance, the answer.
fn page_of(run: &Run, steps: u64) -> String {
    let mut page = format!("\n> {}\n", run.input.trim_end().replace('\n', "\n> "));
    for call in &run.tool_calls {
        let failure = call.failure.as_ref().map(|failure| failure.message.as_str());
        let said = failure.filter(|text| !text.is_empty()).unwrap_or(&call.content);
        let _ = write!(
            page,
            "  {} {}\n    step {} · call {}\n    {} · {} · {} · {} · {}\n    {}\n",
            call.tool,
            words::brief(&call.arguments.to_string(), 100),
            steps + call.step.max(1),
            call.call_id,
            call.status,
            decided(call),
            words::count(call.attempts, "attempt"),
            if call.instance.is_empty() { "no instance" } else { &call.instance },
            words::duration(call.duration_ms),
            words::brief(said, 100)
        );
        if call.waited_ms > 0 {
            let waited = words::duration(call.waited_ms);
            let _ = writeln!(page, "    waited {waited} for a place or its rate");
        }
        if !call.undone.is_empty() {
            let _ = writeln!(page, "    taken back: {}", words::brief(&call.undone, 100));
        }
    }
    let tokens = run.usage.input_tokens + run.usage.output_tokens;
    let _ = write!(
        page,
        "{}\n[{} · {} · {} · {} · run {}]\n",
        run.answer,
        run.status,
        run.model,
        words::count(tokens, "token"),
        words::duration(run.duration_ms),
        run.run
    );
    page
}

/// The verdict, the rule that gave it, and who answered.
fn decided(call: &Call) -> String {
    let mut words = call.verdict.clone();
    if !call.rule.is_empty() {
        let _ = write!(words, " by {}", call.rule);
    }
    if !call.decided_by.is_empty() {
        let _ = write!(words, ", answered by {}", call.decided_by);
    }
    words
}

async fn cancel(here: &Here, of: &OfSession) -> anyhow::Result<Exit> {
    let path = format!("/v1/sessions/{}/cancel", segment(&of.session));
    let reason = json!({"reason": "cancelled with `callboard sessions cancel`"});
    let document: Value =
        connect::with(here, async |client| client.post(&path, &reason).await).await?;
    if of.output.json {
        print::json(&document)?;
    } else if document["was_running"] == json!(false) {
        print::err("Nothing was running in this session.");
    } else {
        print::err("The run was asked to end.");
    }
    Ok(Exit::Done)
}

async fn decide(here: &Here, choose: &Choose) -> anyhow::Result<Exit> {
    let (session, call) = (segment(&choose.session), segment(&choose.call_id));
    let path = format!("/v1/sessions/{session}/outcomes/{call}");
    let body = json!({"choice": choose.choice.as_str(), "note": choose.note});
    let document = connect::with(here, async |client| client.post(&path, &body).await).await?;
    if choose.output.json {
        print::json(&document)?;
        return Ok(Exit::Done);
    }
    let when = if document["first"] == json!(false) { " already" } else { "" };
    let what = match document["choice"].as_str() {
        Some("done") => "counts as done".to_owned(),
        Some("not_done") => "counts as not done".to_owned(),
        _ => format!("is called again, in run {}", document["run"].as_str().unwrap_or_default()),
    };
    print::err(&print::visible(&format!("The call{when} {what}.")));
    Ok(Exit::Done)
}

async fn export(here: &Here, session: &str) -> anyhow::Result<Exit> {
    let text = exported(here, session).await?;
    print::out(&text)?;
    let last: Value =
        text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    match last["refused"].as_str() {
        Some(why) => {
            print::err(&print::visible(&format!("Not the whole session: {why}")));
            Ok(Exit::Failed)
        }
        None => Ok(Exit::Done),
    }
}

/// A session whole, as the gateway exports it.
async fn exported(here: &Here, session: &str) -> anyhow::Result<String> {
    let path = format!("/v1/sessions/{}/export", segment(session));
    connect::with(here, async |client| client.get_text(&path).await).await
}

async fn delete(here: &Here, session: &str) -> anyhow::Result<Exit> {
    let path = format!("/v1/sessions/{}", segment(session));
    connect::with(here, async |client| client.delete(&path).await).await?;
    print::err("The session is removed.");
    Ok(Exit::Done)
}
