//! A tool as the call path sees it: what it says of itself, checked once, and who serves it.

use std::sync::Arc;
use std::time::Duration;

use super::instance::Instance;
use super::offer::{self, Key};
use crate::call::builtin::{self, Builtin};
use crate::call::policy::Effect;
use crate::call::schema::Schema;
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
#[expect(clippy::struct_excessive_bools, reason = "each is a claim of its own")]
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
    /// What its arguments must look like; `None` for a tool that is withheld for its schema.
    pub schema: Option<Schema>,
    /// JSON Schema of its arguments as it was given; null if it is no JSON.
    pub input_schema: Arc<serde_json::Value>,
    /// JSON Schema of its structured content, JSON text; empty if it has none.
    pub output_schema: String,
    /// What it promises.
    pub annotations: Annotations,
    /// Whether its promises are believed.
    pub is_trusted: bool,
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
    /// Characters of a result that a model should see at once; `None` where it says nothing.
    pub result_chars: Option<usize>,
    /// Calls that a team should make in a minute, at most; `None` where it says nothing.
    pub calls_per_minute: Option<u32>,
    /// Requests of people and the arguments that serve them, JSON text.
    pub examples: Vec<(String, String)>,
    /// Who answers it.
    pub answered_by: AnsweredBy,
}

/// Who answers a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    /// Instances of its service.
    Service,
    /// This orchestrator.
    Us(Builtin),
}

impl Descriptor {
    /// True if it says that it changes nothing, and is believed.
    pub fn is_read_only(&self) -> bool {
        self.is_trusted && self.annotations.read_only
    }

    /// How its calls may be retried.
    pub fn class(&self) -> Class {
        if self.is_read_only() {
            Class::Read
        } else if self.is_trusted && self.annotations.idempotent {
            Class::Idempotent
        } else {
            Class::Write
        }
    }
}

/// What a tool promises; absent promises are read the careful way.
#[expect(clippy::struct_excessive_bools, reason = "MCP's four hints")]
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

/// A tool that this orchestrator answers.
pub(super) fn answered_by_us(builtin: Builtin, team: &str) -> Tool {
    let key =
        Key { team: team.to_owned(), service: builtin::SERVICE.to_owned(), digest: String::new() };
    let offered = offer::offered(&key, env!("CARGO_PKG_VERSION"), builtin.descriptor(), true);
    let descriptor = Descriptor {
        answered_by: AnsweredBy::Us(builtin),
        ..Descriptor::clone(&offered.descriptor)
    };
    Tool { descriptor: Arc::new(descriptor), instances: Vec::new(), withheld: offered.withheld }
}

#[cfg(test)]
pub(crate) mod sample {
    //! Tools for tests of the stages.

    use super::*;

    /// A read-only tool without arguments or instances.
    pub(crate) fn tool(service: &str, name: &str) -> Tool {
        Tool {
            descriptor: Arc::new(descriptor(service, name)),
            instances: Vec::new(),
            withheld: String::new(),
        }
    }

    /// What a read-only tool without arguments says of itself.
    pub(crate) fn descriptor(service: &str, name: &str) -> Descriptor {
        Descriptor {
            name: name.to_owned(),
            service: service.to_owned(),
            team: "team".to_owned(),
            version: "1.0.0".to_owned(),
            digest: format!("digest-of-{name}"),
            description: format!("Does {name}."),
            schema: crate::call::schema::compile(r#"{"type":"object"}"#).ok(),
            input_schema: Arc::new(serde_json::json!({"type": "object"})),
            output_schema: String::new(),
            annotations: Annotations {
                read_only: true,
                idempotent: true,
                ..Annotations::default()
            },
            is_trusted: true,
            is_reversible: false,
            is_session_bound: false,
            effects: vec![Effect::Read],
            removable_effects: Vec::new(),
            has_preflight: false,
            timeout: None,
            result_chars: None,
            calls_per_minute: None,
            examples: Vec::new(),
            answered_by: AnsweredBy::Service,
        }
    }
}
