//! One rule: as it is written, and as it is matched.
//!
//! What holds for a rule that is in doubt is decided here: a condition that cannot be evaluated makes
//! a rule match that asks or blocks, and one that allows not. Next: `condition`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::condition::{Condition, Facts};
use super::expiry::Expiry;
use super::{Case, Subject};
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
    /// A condition over the arguments in CEL, such as `args.path.startsWith("drafts/")`; empty for
    /// none. It knows `args`, `tool`, `team` and `agent`.
    #[serde(default)]
    pub condition: String,
    /// When the rule ends; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Expiry>,
    /// What then. Always given: a rule that says nothing must not allow.
    pub verdict: Verdict,
    /// Why, for the person and the model.
    #[serde(default)]
    pub reason: String,
}

impl Rule {
    /// A rule about every call.
    pub fn of(verdict: Verdict) -> Self {
        Self {
            name: String::new(),
            team: String::new(),
            agent: String::new(),
            tool: String::new(),
            effect: None,
            annotations: BTreeMap::new(),
            condition: String::new(),
            expires: None,
            verdict,
            reason: String::new(),
        }
    }

    /// Its name, or its place in the list.
    pub fn name_at(&self, nth: usize) -> String {
        if self.name.is_empty() {
            format!("orchestrator.policy.rules[{nth}]")
        } else {
            self.name.clone()
        }
    }
}

/// A rule, ready to be matched.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) name: String,
    pub(super) verdict: Verdict,
    pub(super) effect: Option<Effect>,
    reason: String,
    team: Pattern,
    agent: Pattern,
    tool: Pattern,
    annotations: Vec<(Annotation, bool)>,
    condition: Option<Condition>,
    expires: Option<Expiry>,
}

/// How a rule meets a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// It is about another call.
    No,
    /// It is about this one.
    Yes,
    /// It may be about this one; why that cannot be said.
    Doubt(String),
}

impl Compiled {
    pub(super) fn new(nth: usize, rule: &Rule) -> Result<Self, Error> {
        let key = format!("orchestrator.policy.rules[{nth}]");
        let condition = match rule.condition.trim() {
            "" => None,
            text => Some(Condition::new(&format!("{key}.condition"), text)?),
        };
        Ok(Self {
            condition,
            expires: rule.expires,
            team: Pattern::new(&format!("{key}.team"), &rule.team)?,
            agent: Pattern::new(&format!("{key}.agent"), &rule.agent)?,
            tool: Pattern::new(&format!("{key}.tool"), &rule.tool)?,
            name: rule.name_at(nth),
            verdict: rule.verdict,
            effect: rule.effect,
            reason: rule.reason.clone(),
            annotations: rule.annotations.iter().map(|(a, value)| (*a, *value)).collect(),
        })
    }

    /// Whether the rule is about a call. `facts` are made when the first condition asks for them.
    pub(super) fn meets(&self, case: Case<'_>, facts: &mut Option<Facts>) -> Match {
        if self.expires.is_some_and(|expiry| expiry.is_over(case.now_ms))
            || !self.is_about(case.subject)
        {
            return Match::No;
        }
        let Some(condition) = &self.condition else { return Match::Yes };
        let facts = facts.get_or_insert_with(|| Facts::of(case.arguments));
        match condition.holds(case.subject, facts) {
            Ok(true) => Match::Yes,
            Ok(false) => Match::No,
            Err(why) => Match::Doubt(why),
        }
    }

    /// Whether everything but the condition fits.
    fn is_about(&self, subject: Subject<'_>) -> bool {
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
