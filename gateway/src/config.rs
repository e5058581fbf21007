//! Settings of the gateway: the section `[gateway]`, and what the composition root adds. Nothing
//! here reads files or the environment. Next is `listeners.rs`.

use std::{fmt, sync::Arc, time::Duration};

use callboard_discovery::{Discovery, InstanceId, transport::Credentials};
use callboard_telemetry::MetricsHandle;
use serde::{Deserialize, Serialize};

/// The section `[gateway]`. `Debug` masks the token.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where browsers and programs reach it: `host:port`; none for clients on the Unix socket
    /// alone. Default `127.0.0.1:8080`.
    pub listen: Option<String>,
    /// What a client on TCP shows as `Authorization: Bearer`, at least 16 characters; a secret.
    /// Default none: then the gateway does not listen on TCP.
    pub token: Option<String>,
    /// The team that every client acts for. Default `default`.
    pub team: String,
    /// Names, besides `localhost`, `127.0.0.1` and `[::1]`, by which clients on TCP may call the
    /// gateway (the `Host` header, without a port). Default none.
    pub hosts: Vec<String>,
    /// Origins that count as the gateway's own, such as `https://ops.example.com`: for a proxy that
    /// changes the name by which pages call. Default none.
    pub origins: Vec<String>,
    /// How long a request waits for an orchestrator when none owns its session, in milliseconds.
    /// Default 15,000.
    pub park_ms: u64,
    /// How often a silent event stream says that it lives, in milliseconds. Default 15,000.
    pub heartbeat_ms: u64,
    /// How long a client may leave its event stream unread before it is closed, in milliseconds.
    /// Default 10,000.
    pub slow_ms: u64,
    /// How long requests in flight may take after a shutdown was asked for, in milliseconds.
    /// Default 5,000.
    pub drain_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Some("127.0.0.1:8080".to_owned()),
            token: None,
            team: "default".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            park_ms: 15_000,
            heartbeat_ms: 15_000,
            slow_ms: 10_000,
            drain_ms: 5_000,
        }
    }
}

impl Config {
    pub(crate) fn park(&self) -> Duration {
        Duration::from_millis(self.park_ms)
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms.max(1))
    }

    pub(crate) fn slow(&self) -> Duration {
        Duration::from_millis(self.slow_ms)
    }

    pub(crate) fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("listen", &self.listen)
            .field("token", &self.token.as_ref().map(|_| "***"))
            .field("team", &self.team)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

/// Where a gateway runs, and what it shares with other roles.
pub struct Node {
    /// Its id, so that logs, traces and discovery agree; none for a fresh one.
    pub instance: Option<InstanceId>,
    /// Zone of the machine; may be empty.
    pub zone: String,
    /// Who is alive.
    pub discovery: Arc<dyn Discovery>,
    /// What proves us to orchestrators.
    pub credentials: Credentials,
    /// What `/metrics` answers.
    pub metrics: MetricsHandle,
    /// What every gateway of the deployment knows, and no client.
    pub secret: Secret,
}

/// The secret of a deployment, from which ids are derived. `Debug` masks it.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// Takes the text of the secret; white space around it is cut off.
    pub fn new(text: &str) -> Self {
        Self(text.trim().as_bytes().into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("instance", &self.instance)
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}
