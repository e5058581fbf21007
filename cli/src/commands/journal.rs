//! `callboard journal`: what an operator does to the journal itself, past every gateway.

use callboard_orchestrator::journal;
use serde_json::json;

use crate::args::Journal;
use crate::commands::here::Here;
use crate::exit::Exit;
use crate::print;
use crate::serve::backend;

/// Runs the command.
///
/// # Errors
/// When there is no journal, it cannot be opened, or it or discovery does not answer.
pub(crate) async fn run(here: &Here, command: Journal) -> anyhow::Result<Exit> {
    let Journal::RaiseGeneration(output) = command;
    let (settings, place) = (here.load()?.settings, here.place()?);
    let discovery = backend(&settings, &place.directory());
    let deployment = callboard_discovery::connect(discovery).await?.deployment().await?;
    let config = settings.orchestrator.journal;
    let generation = journal::config::raise_generation(&config, &place.state, &deployment).await?;
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
