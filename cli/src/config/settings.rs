//! All sections together, and the ones that belong to no crate of their own: which profile, where
//! the roles find one another, how they run. Next: `fields`.

use std::time::Duration;

use callboard_orchestrator::call::policy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layers;
use crate::stack::order::RoleName;

/// How much may happen without being switched on by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Profile {
    /// What can destroy asks.
    #[default]
    Development,
    /// What can destroy is blocked unless a rule allows it.
    Production,
}

/// The effective configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// How much may happen without being switched on by name. Default `development`.
    pub(crate) profile: Profile,
    /// The doors.
    pub(crate) gateway: callboard_gateway::Config,
    /// Sessions, models, limits, policy.
    pub(crate) orchestrator: callboard_orchestrator::Config,
    /// Logs, traces, metrics.
    pub(crate) telemetry: callboard_telemetry::Config,
    /// Who is alive.
    pub(crate) discovery: Discovery,
    /// How every role runs.
    pub(crate) serve: Serve,
}

/// Where the roles find one another: the section `discovery`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Discovery {
    /// `directory` (one machine, a folder of sockets) or `etcd`. Default `directory`.
    pub(crate) backend: Backend,
    /// Members of the etcd cluster: `http://host:port`. Default `http://127.0.0.1:2379`.
    pub(crate) endpoints: Vec<String>,
    /// Root of all keys in etcd. Default `/callboard`.
    pub(crate) prefix: String,
    /// Lease in etcd, in milliseconds, at least 2,000. Default 10,000.
    pub(crate) lease_ttl_ms: u64,
    /// User, where the cluster wants one. Default none.
    pub(crate) user: Option<String>,
    /// Its password; from the environment, or the file that `password_file` names.
    pub(crate) password: Option<String>,
    /// File of the token by which roles prove themselves to one another over TCP. Default none:
    /// then no role listens on TCP.
    pub(crate) token_file: Option<std::path::PathBuf>,
}

/// A backend of the discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Backend {
    /// A folder of sockets on one machine.
    #[default]
    Directory,
    /// An etcd cluster.
    Etcd,
}

/// How every role runs: the section `serve`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Serve {
    /// The team that a tool service belongs to. Default `default`.
    pub(crate) team: String,
    /// Availability zone. Default empty.
    pub(crate) zone: String,
    /// Threads of the runtime, at most 64. Default 0: one for each core; one in all for a gateway or a tool
    /// service under `up`, where the roles share the machine.
    pub(crate) worker_threads: usize,
    /// How long work in flight may take to finish after SIGTERM, in milliseconds. Default 10,000.
    pub(crate) drain_ms: u64,
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            backend: Backend::Directory,
            endpoints: vec!["http://127.0.0.1:2379".to_owned()],
            prefix: "/callboard".to_owned(),
            lease_ttl_ms: 10_000,
            user: None,
            password: None,
            token_file: None,
        }
    }
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            team: "default".to_owned(),
            zone: String::new(),
            worker_threads: 0,
            drain_ms: 10_000,
        }
    }
}

impl Serve {
    /// How long work in flight may take to finish.
    pub(crate) fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }
}

impl Settings {
    /// All effective values as people may see them; a key that is not set is `null`.
    pub(crate) fn shown(&self) -> Value {
        // Plain data with text keys has a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The defaults as a table; keys that are not set by default are absent.
    pub(crate) fn default_table() -> toml::Table {
        toml::Table::try_from(Self::default()).unwrap_or_default()
    }
}

/// The part of `table` that a role may know: its own section and what all roles read.
pub(crate) fn share(table: &toml::Table, role: RoleName) -> toml::Table {
    let is_shared = |key: &str| {
        matches!(key, "profile" | "telemetry" | "discovery" | "serve") || key == role.as_str()
    };
    let mut share: toml::Table = table
        .iter()
        .filter(|(key, _)| is_shared(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    // Tool services answer for the workspace by the name that orchestrators give it.
    let workspace = ["orchestrator", "workspace"];
    if let (true, Some(id)) = (role.is_tool(), layers::lookup(table, &workspace)) {
        share.extend(layers::nested(&workspace, id.clone()));
    }
    share
}

/// Puts other rules into a table of settings.
pub(crate) fn set_rules(table: &mut toml::Table, rules: &policy::Config) {
    let Ok(rules) = toml::Value::try_from(rules) else { return };
    let section = table.entry("orchestrator").or_insert_with(|| toml::Table::new().into());
    if let Some(section) = section.as_table_mut() {
        section.insert("policy".to_owned(), rules);
    }
}

/// Calls `found` for every value that is no object, and for empty objects, with its dotted key.
pub(crate) fn flatten(value: &Value, parent: &str, found: &mut dyn FnMut(String, &Value)) {
    let Value::Object(fields) = value else { return };
    for (key, value) in fields {
        let key = layers::join(parent, key);
        match value {
            Value::Object(below) if !below.is_empty() => flatten(value, &key, found),
            _ => found(key, value),
        }
    }
}
