//! A tool as the call path sees it: what it says of itself, checked once, and who serves it.

use std::sync::Arc;
use std::time::Duration;

use callboard_discovery::{InstanceId, State};

use crate::call::policy::Effect;
use crate::run::event::Class;

/// A tool and the instances that serve it now.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is.
    pub descriptor: Arc<Descriptor>,
    /// Who serves it; empty for a tool that the orchestrator answers itself.
    pub instances: Vec<Arc<Instance>>,
    /// Why it cannot be called; empty if it can.
    pub withheld: String,
}

/// What a tool says of itself, checked.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Its name.
    pub name: String,
    /// Service that offers it.
    pub service: String,
    /// Team that owns the service.
    pub team: String,
    /// Version of the service.
    pub version: String,
    /// SHA-256 (lower-case hex) of all that it says.
    pub digest: String,
    /// What it is for and what it is not for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Arc<serde_json::Value>,
    /// JSON Schema of its structured content, JSON text; empty if it has none.
    pub output_schema: String,
    /// What it promises.
    pub annotations: Annotations,
    /// Whether an effect can be taken back.
    pub is_reversible: bool,
    /// Whether the calls of a session must meet the same instance.
    pub is_session_bound: bool,
    /// Kinds of effect that a call can have.
    pub effects: Vec<Effect>,
    /// Those of them that it can do without.
    pub removable_effects: Vec<Effect>,
    /// Whether it judges its arguments.
    pub has_preflight: bool,
    /// Time that a call may take; `None` where it says nothing.
    pub timeout: Option<Duration>,
    /// Requests of people and the arguments that serve them, JSON text.
    pub examples: Vec<(String, String)>,
    /// How a call may be retried.
    pub class: Class,
}

/// What a tool promises; absent promises are read the careful way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// A change may destroy something that was there.
    pub destructive: bool,
    /// Repeating a call changes nothing more.
    pub idempotent: bool,
    /// It meets the world outside.
    pub open_world: bool,
}

/// An instance of a tool service.
#[derive(Debug)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Random at each start.
    pub incarnation: String,
    /// Instances with the same one share outcomes durably; empty = this incarnation only.
    pub store: String,
    /// Whether it takes new calls.
    pub state: State,
    /// Workspaces that it serves; empty = any.
    pub workspaces: Vec<String>,
}

impl Instance {
    /// Calls of this orchestrator that are under way there.
    pub fn in_flight(&self) -> u32 {
        0
    }
}
