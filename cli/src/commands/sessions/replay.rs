//! `callboard sessions replay`: folds a recorded session through this program with the settings of
//! here, and names the first event that would come out otherwise. Asks no model and calls no tool.

use anyhow::Context as _;
use callboard_orchestrator::run::event::Recorded;
use callboard_orchestrator::run::replay::{Divergence, Replay};
use serde_json::{Value, json};

use super::exported;
use crate::args;
use crate::commands::here::Here;
use crate::commands::words;
use crate::exit::{Exit, usage};
use crate::print;

/// Runs the command: fails if something differs.
///
/// # Errors
/// When the session cannot be read.
pub(super) async fn run(here: &Here, replay: &args::Replay) -> anyhow::Result<Exit> {
    let text = match &replay.against {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| usage(format!("--against {}: {error}", file.display())))?,
        None => exported(here, &replay.session).await?,
    };
    let events = read(&text, &replay.session)?;
    let agent = here.load()?.settings.orchestrator.agent;
    let mut folded = Replay::default();
    let found = events
        .iter()
        .try_for_each(|recorded| folded.step(recorded, |opened, input| agent.begin(opened, input)));
    let count = events.len();
    if replay.output.json {
        print::json(&document(count, found.as_ref().err()))?;
    } else {
        match &found {
            Ok(()) => print::out(&format!(
                "The same: {}.\n",
                words::count(u64::try_from(count)?, "event")
            ))?,
            Err(divergence) => print::out(&print::visible(&page(divergence)))?,
        }
    }
    Ok(if found.is_ok() { Exit::Done } else { Exit::Failed })
}

/// The events of an export, which must be one of this session.
fn read(text: &str, session: &str) -> anyhow::Result<Vec<Recorded>> {
    let mut lines = text.lines();
    let head: Value =
        lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let Some(id) = head["session"]["id"].as_str() else {
        return Err(usage("this is no export: write one with `callboard sessions export`"));
    };
    if head["format"] != json!(1) {
        return Err(usage("the export is of a format that this program does not know"));
    }
    if id != session {
        return Err(usage(format!("the export is of session {id}, not of {session}")));
    }
    let last = head["session"]["last_seq"].as_u64().unwrap_or_default();
    let events: Vec<Recorded> = (2..)
        .zip(lines)
        .map(|(number, line)| {
            let refused: Option<Refused> = serde_json::from_str(line).ok();
            if let Some(Refused { refused }) = refused {
                anyhow::bail!("the export is not whole: {refused}");
            }
            serde_json::from_str(line).with_context(|| format!("line {number} is no event"))
        })
        .collect::<anyhow::Result<_>>()?;
    let found = events.last().map_or(0, |event| event.seq);
    anyhow::ensure!(found == last, "the export ends at event {found}, and it had {last}");
    Ok(events)
}

/// Last line of an export that ends where its session cannot be read.
#[derive(serde::Deserialize)]
struct Refused {
    refused: String,
}

fn document(events: usize, found: Option<&Divergence>) -> Value {
    let divergence = found.map(|found| {
        json!({"seq": found.seq, "type": found.kind, "what": found.what, "then": found.then,
               "now": found.now})
    });
    json!({"events": events, "same": found.is_none(), "divergence": divergence})
}

fn page(found: &Divergence) -> String {
    format!(
        "Differs at event {} ({}): {}\n  then: {}\n  now:  {}\n",
        found.seq, found.kind, found.what, found.then, found.now
    )
}
