//! Wires the gateway: its Unix socket for clients of the same user, and a port where one is wanted.

use callboard_discovery::Address;
use callboard_gateway::{Listeners, Node};
use callboard_telemetry::Telemetry;

use super::{Role, refused, report};
use crate::exit::usage;
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
