//! May a call run, by the rules of the team? `block` beats `ask` beats `allow`, whatever their
//! order.
//!
//! Pure. What the tool itself thinks is asked in `preflight`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::event::Verdict;

/// What happens to a call that no rule matches and that can change something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A person is asked.
    #[default]
    Development,
    /// It is blocked.
    Production,
}

/// Settings of the policy: the section `orchestrator.policy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The rules; their order means nothing.
    pub rules: Vec<Rule>,
}

/// The rules of a deployment, compiled.
#[derive(Clone, Debug)]
pub struct Policy {
    profile: Profile,
}

impl Policy {
    /// Compiles rules.
    ///
    /// # Errors
    /// A glob cannot be read.
    pub fn new(config: &Config, profile: Profile) -> Result<Self, super::config::Error> {
        let _ = config;
        Ok(Self { profile })
    }

    /// What happens where no rule matches.
    pub fn profile(&self) -> Profile {
        self.profile
    }
}

/// A kind of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads data of the workspace.
    Read,
    /// Changes data of the workspace.
    Write,
    /// Starts programs.
    Execute,
    /// Uses the network.
    Network,
}

/// A promise of a tool about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Annotation {
    /// It changes nothing.
    ReadOnly,
    /// A change may destroy something that was there.
    Destructive,
    /// Repeating a call changes nothing more.
    Idempotent,
    /// It meets the world outside.
    OpenWorld,
}

/// One rule. Every condition that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Name in the journal; `rules[N]` (from 0) where it is empty.
    pub name: String,
    /// The team, a glob; empty for all.
    pub team: String,
    /// The agent, a glob; empty for all.
    pub agent: String,
    /// The tool, a glob; empty for all.
    pub tool: String,
    /// An effect that the tool can have.
    pub effect: Option<Effect>,
    /// Annotations of the tool and the value that each must have.
    pub annotations: BTreeMap<Annotation, bool>,
    /// What then.
    pub verdict: Verdict,
    /// Why, for the person and the model.
    pub reason: String,
}
