//! Wires the orchestrator. It alone is handed the keys of model providers. In a debug build a test may
//! arm one of its crash points.

use std::time::Duration;

use callboard_orchestrator::call::policy;
use callboard_orchestrator::{Error, Node};
use callboard_telemetry::Telemetry;

use super::{Role, refused};
use crate::config::settings::Profile;

/// The crash point to arm, in a debug build: `NAME[:NTH[:stop|panic]]`.
#[cfg(debug_assertions)]
const CRASH_POINT: &str = "CALLBOARD_CRASH_POINT";

/// Serves until shutdown and the drain.
pub(super) async fn serve(role: Role) -> (anyhow::Result<()>, Telemetry) {
    #[cfg(debug_assertions)]
    if let Some(point) = std::env::var_os(CRASH_POINT)
        && let Err(error) = callboard_orchestrator::crash::arm(&point.to_string_lossy())
    {
        return (Err(crate::exit::usage(format!("{CRASH_POINT}: {error}"))), role.telemetry);
    }
    let drain = role.drain(Duration::from_millis(role.settings.orchestrator.drain_ms));
    let mut config = role.settings.orchestrator.clone();
    config.drain_ms = u64::try_from(drain.as_millis()).unwrap_or(u64::MAX);
    if role.settings.profile == Profile::Production {
        // The stricter one counts, whichever of the two keys says so.
        config.profile = policy::Profile::Production;
    }
    // What must never leave: whatever results and arguments hold of it is masked.
    config.calls.secrets = crate::config::secrets_in(&role.order.settings);
    config.calls.secrets.extend(config.journal.password());
    let node = Node {
        instance: Some(role.instance),
        listen: role.order.listen.clone(),
        advertise: role.order.advertise.clone(),
        state: role.state.clone(),
        zone: role.settings.serve.zone.clone(),
        discovery: role.discovery,
        credentials: role.credentials,
        rules: role.rules,
        // A supervisor tells the person who waits, and starts it again.
        waits_for_journal: !role.is_supervised,
        metrics: role.telemetry.metrics(),
    };
    let served = callboard_orchestrator::run(config, node, role.shutdown).await;
    let served = served.map_err(|error| match error {
        Error::Bind(_) | Error::Calls(_) | Error::Models(_) => refused(&error),
        error => error.into(),
    });
    (served, role.telemetry)
}
