//! May a call run, by the rules of the deployment? `block` beats `ask` beats `allow`, whatever
//! their order; where nothing matches, what only reads may run.
//!
//! A rule that names an effect binds every way to it: with `write` blocked, a tool that can do
//! without writing must do without, and one that cannot is blocked. Pure. What the tool itself
//! thinks of the call is asked in `preflight`.

use serde::{Deserialize, Serialize};

mod rule;

pub use self::rule::{Annotation, Effect, Rule};

use self::rule::Compiled;
use super::config::Error;
use crate::catalog::Descriptor;
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
    rules: Vec<Compiled>,
    profile: Profile,
}

/// Whose call of which tool.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Team of the session.
    pub team: &'a str,
    /// Agent of the session.
    pub agent: &'a str,
    /// The tool.
    pub tool: &'a Descriptor,
}

/// What the rules say of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that gave it.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// Effects that the call must do without.
    pub denied_effects: Vec<Effect>,
    /// The rule by which somebody allowed the call; the defaults allow in nobody's name.
    pub allowed_by: Option<String>,
}

impl Policy {
    /// Compiles rules.
    ///
    /// # Errors
    /// A glob cannot be read.
    pub fn new(config: &Config, profile: Profile) -> Result<Self, Error> {
        let rules = config.rules.iter().enumerate().map(|(nth, rule)| Compiled::new(nth, rule));
        Ok(Self { rules: rules.collect::<Result<_, _>>()?, profile })
    }

    /// Judges a call.
    pub fn judge(&self, subject: Subject<'_>) -> Judgement {
        let matching: Vec<&Compiled> =
            self.rules.iter().filter(|rule| rule.matches(subject)).collect();
        let mut denied_effects = Vec::new();
        let mut blocking: Option<&Compiled> = None;
        for rule in matching.iter().filter(|rule| rule.verdict == Verdict::Block) {
            match rule.effect {
                Some(effect) if subject.tool.removable_effects.contains(&effect) => {
                    if !denied_effects.contains(&effect) {
                        denied_effects.push(effect);
                    }
                }
                _ => blocking = blocking.or(Some(rule)),
            }
        }
        denied_effects.sort_unstable();
        let of = |verdict: Verdict| matching.iter().find(|rule| rule.verdict == verdict);
        let deciding = blocking
            .or_else(|| of(Verdict::Ask).copied())
            .or_else(|| allowing(&matching, subject, &denied_effects));
        let judgement = match deciding {
            Some(rule) => Judgement {
                verdict: rule.verdict,
                rule: rule.name.clone(),
                reason: rule.reason(),
                denied_effects: Vec::new(),
                allowed_by: (rule.verdict == Verdict::Allow).then(|| rule.name.clone()),
            },
            None => self.unmatched(subject.tool),
        };
        Judgement { denied_effects, ..judgement }
    }

    fn unmatched(&self, tool: &Descriptor) -> Judgement {
        let (verdict, rule, reason) = if tool.is_read_only() {
            (Verdict::Allow, "default: read-only", "it changes nothing")
        } else {
            match self.profile {
                Profile::Development => {
                    (Verdict::Ask, "default: development", "it can change something")
                }
                Profile::Production => (
                    Verdict::Block,
                    "default: production",
                    "it can change something, and no rule allows it",
                ),
            }
        };
        Judgement {
            verdict,
            rule: rule.to_owned(),
            reason: reason.to_owned(),
            denied_effects: Vec::new(),
            allowed_by: None,
        }
    }
}

/// An `allow` of the tool itself, or one for each effect that the call can still have.
fn allowing<'a>(
    matching: &[&'a Compiled],
    subject: Subject<'_>,
    denied: &[Effect],
) -> Option<&'a Compiled> {
    let allows = || matching.iter().copied().filter(|rule| rule.verdict == Verdict::Allow);
    if let Some(rule) = allows().find(|rule| rule.effect.is_none()) {
        return Some(rule);
    }
    let mut left = subject.tool.effects.iter().filter(|effect| !denied.contains(effect)).peekable();
    left.peek()?;
    let is_covered = left.all(|effect| allows().any(|rule| rule.effect == Some(*effect)));
    if is_covered { allows().next() } else { None }
}

#[cfg(test)]
mod tests;
