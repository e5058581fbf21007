//! Wires the tool services that come with the program: which service a role is, and the workspace
//! that it serves. What a service does is its crate's business.

use std::time::Duration;

use callboard_telemetry::Telemetry;
use callboard_tool::{Config, ServeError, Service, StoreSettings, Workspace};
use tokio::task::spawn_blocking;

use super::{Role, refused, report};
use crate::exit::usage;
use crate::stack::order::{Report, RoleName};

/// How long streams may take their last message, where a supervisor waits.
const SUPERVISED_LINGER: Duration = Duration::from_millis(500);

/// Serves until shutdown and the drain.
pub(super) async fn serve(role: Role) -> (anyhow::Result<()>, Telemetry) {
    // Finding out how commands can be walled in takes some hundredths of a second.
    let name = role.name;
    let service = match spawn_blocking(move || service(name)).await {
        Ok(Ok(service)) => service,
        Ok(Err(problems)) => return (withhold(&role, problems).await, role.telemetry),
        Err(error) => return (Err(error.into()), role.telemetry),
    };
    let mut config = Config::new(role.order.listen.clone());
    config.advertise.clone_from(&role.order.advertise);
    config.drain = role.drain(role.settings.serve.drain());
    if role.is_supervised {
        config.linger = SUPERVISED_LINGER;
    }
    config.credentials = role.credentials;
    config.instance = Some(role.instance);
    // What was done outlives the process; made only by services that change something.
    let store = role.state.join("tools").join(role.name.as_str());
    config.store = Some(StoreSettings::new(store));
    config.team.clone_from(&role.settings.serve.team);
    config.zone.clone_from(&role.settings.serve.zone);
    if role.name != RoleName::Calculator {
        let id = role.settings.orchestrator.workspace.clone();
        config.workspaces = vec![Workspace { id, path: role.workspace }];
    }
    let served = callboard_tool::serve(service, config, role.discovery, role.shutdown).await;
    let served = served.map_err(|error| match error {
        ServeError::Bind(_) | ServeError::Descriptor(_) | ServeError::Store(_) => refused(&error),
        error => error.into(),
    });
    (served, role.telemetry)
}

/// Offers nothing, and says why. In a stack the others go on without.
async fn withhold(role: &Role, problems: String) -> anyhow::Result<()> {
    if !role.is_supervised {
        return Err(usage(problems));
    }
    report(&Report::Withheld(problems));
    role.shutdown.cancelled().await;
    Ok(())
}

/// The service that a role is, or why it cannot be offered here.
fn service(role: RoleName) -> Result<Service, String> {
    match role {
        RoleName::Calculator => Ok(callboard_calculator::service()),
        RoleName::Files => Ok(callboard_files::service()),
        RoleName::Search => Ok(callboard_search::service()),
        RoleName::Shell => shell(),
        RoleName::Gateway | RoleName::Orchestrator => Err(format!("{role} is no tool service")),
    }
}

fn shell() -> Result<Service, String> {
    let found = callboard_shell::probe();
    if found.isolation.is_none() {
        return Err(format!(
            "no commands are offered, because this machine cannot keep them away from what they \
             must not reach: {}",
            found.problems.join("; ")
        ));
    }
    for problem in &found.problems {
        tracing::warn!(problem, "commands cannot be walled in as they should");
    }
    let config = callboard_shell::Config { isolation: found.isolation, ..Default::default() };
    Ok(callboard_shell::service_with(&config))
}
