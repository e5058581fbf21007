//! What an instance says about itself when it registers. The JSON form is stored in etcd and in
//! the directory's records and is read by other releases: fields are only ever added. What an
//! instance offers (its tools) is not here, only the digest of it. Next is `lease.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Address;

/// Names one running copy of a role; unique among all that ever ran.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(String);

impl InstanceId {
    /// A fresh id: the name, a dash and eight random hex digits.
    pub fn new(name: &str) -> Self {
        let random = uuid::Uuid::new_v4().simple().to_string();
        Self(format!("{name}-{}", &random[..8]))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for InstanceId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl From<&str> for InstanceId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

/// What an instance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Takes requests from people and programs.
    Gateway,
    /// Hosts session actors.
    Orchestrator,
    /// Offers tools.
    Tool,
}

impl Role {
    /// The role as it stands in keys, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Orchestrator => "orchestrator",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether an instance takes new work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Takes new work.
    Serving,
    /// Finishes what it has and will leave.
    Draining,
}

/// One running copy of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Unique name.
    pub id: InstanceId,
    /// What it is for.
    pub role: Role,
    /// The team that owns it.
    pub team: String,
    /// Name of the service, as `calculator`.
    pub name: String,
    /// Where it listens.
    pub address: Address,
    /// Release of the service.
    pub version: String,
    /// Availability zone; empty if unknown.
    #[serde(default)]
    pub zone: String,
    /// Calls that it takes at once; 0 = it does not say.
    #[serde(default)]
    pub capacity: u32,
    /// Whether it takes new work.
    pub state: State,
    /// Digest of its tool descriptors; empty if it offers none.
    #[serde(default)]
    pub descriptors: String,
    /// Random at each start: two starts are never confused.
    pub incarnation: String,
    /// Instances with the same store share outcomes, undo records and epochs durably; empty = this
    /// incarnation remembers in memory only.
    #[serde(default)]
    pub store: String,
    /// Ids of the workspaces that it serves; empty = any.
    #[serde(default)]
    pub workspaces: Vec<String>,
    /// Process id on its machine, for people.
    #[serde(default)]
    pub pid: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::instance;

    #[test]
    fn the_stored_form_is_pinned() {
        let stored = r#"{"id":"calculator-0011aabb","role":"tool","team":"default","name":"calculator","address":"unix:/run/c.sock","version":"0.1.0","zone":"eu-1","capacity":64,"state":"serving","descriptors":"9f2c","incarnation":"i-1","store":"s-1","workspaces":["w-1"],"pid":4242}"#;
        assert_eq!(serde_json::to_string(&instance("calculator-0011aabb")).unwrap(), stored);
        assert_eq!(
            serde_json::from_str::<Instance>(stored).unwrap(),
            instance("calculator-0011aabb")
        );
    }

    #[test]
    fn a_record_of_another_release_is_read() {
        let stored = r#"{"id":"x","role":"gateway","team":"t","name":"gateway","address":"tcp:h:1","version":"9","state":"draining","incarnation":"i","later":{"unknown":true}}"#;
        let read: Instance = serde_json::from_str(stored).unwrap();
        assert_eq!(read.state, State::Draining);
        assert_eq!((read.capacity, read.pid, read.zone.as_str()), (0, 0, ""));
        assert!(read.workspaces.is_empty());
    }

    #[test]
    fn fresh_ids_differ_and_carry_the_name() {
        let (one, two) = (InstanceId::new("files"), InstanceId::new("files"));
        assert_ne!(one, two);
        let digits = one.as_str().strip_prefix("files-").unwrap();
        assert!(digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{one}");
    }
}
