//! One rule: as it is written, and as it is matched.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Subject;
use crate::call::config::Error;
use crate::call::pattern::Pattern;
use crate::catalog::Descriptor;
use crate::run::event::Verdict;

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

impl Effect {
    /// The effect that stands in events under a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::Execute, Self::Network]
            .into_iter()
            .find(|effect| effect.as_str() == name)
    }

    /// The effect as it stands in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
        }
    }
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name in the journal; `orchestrator.policy.rules[N]` (from 0) where it is empty.
    #[serde(default)]
    pub name: String,
    /// The team, a glob; empty for all.
    #[serde(default)]
    pub team: String,
    /// The agent, a glob; empty for all.
    #[serde(default)]
    pub agent: String,
    /// The tool, a glob; empty for all.
    #[serde(default)]
    pub tool: String,
    /// An effect that the tool can have.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// Annotations of the tool and the value that each must have.
    #[serde(default)]
    pub annotations: BTreeMap<Annotation, bool>,
    /// What then. Always given: a rule that says nothing must not allow.
    pub verdict: Verdict,
    /// Why, for the person and the model.
    #[serde(default)]
    pub reason: String,
}

/// A rule, ready to be matched.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) name: String,
    pub(super) verdict: Verdict,
    pub(super) effect: Option<Effect>,
    reason: String,
    team: Pattern,
    agent: Pattern,
    tool: Pattern,
    annotations: Vec<(Annotation, bool)>,
}

impl Compiled {
    pub(super) fn new(nth: usize, rule: &Rule) -> Result<Self, Error> {
        let key = format!("orchestrator.policy.rules[{nth}]");
        Ok(Self {
            team: Pattern::new(&format!("{key}.team"), &rule.team)?,
            agent: Pattern::new(&format!("{key}.agent"), &rule.agent)?,
            tool: Pattern::new(&format!("{key}.tool"), &rule.tool)?,
            name: if rule.name.is_empty() { key } else { rule.name.clone() },
            verdict: rule.verdict,
            effect: rule.effect,
            reason: rule.reason.clone(),
            annotations: rule.annotations.iter().map(|(a, value)| (*a, *value)).collect(),
        })
    }

    pub(super) fn matches(&self, subject: Subject<'_>) -> bool {
        self.tool.matches(&subject.tool.name)
            && self.effect.is_none_or(|effect| subject.tool.effects.contains(&effect))
            && self.annotations.iter().all(|(a, value)| promised(subject.tool, *a) == *value)
            && self.team.matches(subject.team)
            && self.agent.matches(subject.agent)
    }

    pub(super) fn reason(&self) -> String {
        if self.reason.is_empty() {
            format!("the rule `{}` says so", self.name)
        } else {
            self.reason.clone()
        }
    }
}

/// What a tool promises, as far as it is believed.
fn promised(tool: &Descriptor, annotation: Annotation) -> bool {
    let said = tool.annotations;
    match annotation {
        Annotation::ReadOnly => tool.is_read_only(),
        Annotation::Idempotent => tool.is_trusted && said.idempotent,
        Annotation::Destructive => !tool.is_read_only() && (said.destructive || !tool.is_trusted),
        Annotation::OpenWorld => said.open_world || !tool.is_trusted,
    }
}
