//! Wires the gateway: its Unix socket for clients of the same user, and a port where one is wanted.

use std::path::Path;

use anyhow::Context as _;
use callboard_discovery::{
    Address,
    small_file::{self, SECRET_LIMIT},
};
use callboard_gateway::{Listeners, Node, Secret};
use callboard_telemetry::Telemetry;

use super::{Role, refused, report};
use crate::config::settings::Settings;
use crate::exit::usage;
use crate::place::state;
use crate::stack::order::Report;

/// Serves until shutdown and the drain.
pub(super) async fn serve(role: Role) -> (anyhow::Result<()>, Telemetry) {
    let drain = role.drain(std::time::Duration::from_millis(role.settings.gateway.drain_ms));
    let mut config = role.settings.gateway.clone();
    config.drain_ms = u64::try_from(drain.as_millis()).unwrap_or(u64::MAX);
    config.listen.clone_from(&role.order.http);
    let served = async {
        let Address::Unix(socket) = &role.order.listen else {
            return Err(usage(
                "the gateway listens for other roles nowhere, and for clients of this user on a \
                 Unix socket: give --listen unix:/path, and --http HOST:PORT for a port",
            ));
        };
        let listeners = Listeners::bind(Some(socket), role.order.http.as_deref())
            .await
            .map_err(|error| refused(&error))?;
        if let (Some(address), true) = (listeners.tcp_address(), role.is_supervised) {
            report(&Report::Http(address.to_string()));
        }
        let node = Node {
            instance: Some(role.instance),
            zone: role.settings.serve.zone.clone(),
            discovery: role.discovery,
            credentials: role.credentials,
            metrics: role.telemetry.metrics(),
            secret: secret(&role.settings, &role.state)?,
        };
        callboard_gateway::run(config, listeners, node, role.shutdown).await.map_err(|error| {
            match error {
                callboard_gateway::Error::Discovery(_) => error.into(),
                _ => refused(&error),
            }
        })
    }
    .await;
    (served, role.telemetry)
}

/// What every gateway of the deployment knows: the token of its roles, or, on one machine, a secret
/// that lies beside the journal.
fn secret(settings: &Settings, state: &Path) -> anyhow::Result<Secret> {
    let file = match &settings.discovery.token_file {
        Some(file) => file.clone(),
        None => state::secret(state, "deployment-secret")
            .context("the secret of the deployment cannot be made")?,
    };
    let text = small_file::read(&file, SECRET_LIMIT)
        .with_context(|| format!("the secret in {} cannot be read", file.display()))?;
    Ok(Secret::new(&text))
}
