//! `callboard journal`: what an operator does to the journal itself, past every gateway.

use callboard_orchestrator::journal;
use serde_json::json;

use crate::args::Journal;
use crate::commands::here::Here;
use crate::exit::Exit;
use crate::print;

/// Runs the command.
///
/// # Errors
/// When there is no journal, it cannot be opened, or it does not answer.
pub(crate) async fn run(here: &Here, command: Journal) -> anyhow::Result<Exit> {
    let Journal::RaiseGeneration(output) = command;
    let config = here.load()?.settings.orchestrator.journal;
    let generation = journal::config::raise_generation(&config, &here.place()?.state).await?;
    if output.json {
        print::json(&json!({"generation": generation}))?;
    } else {
        print::out(&format!(
            "The journal has generation {generation} now: claims from before are void, and running \
             orchestrators claim anew by themselves.\n"
        ))?;
    }
    Ok(Exit::Done)
}
