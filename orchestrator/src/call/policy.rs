//! May a call run, by the rules of the deployment? `block` beats `ask` beats `allow`, whatever
//! their order; where nothing matches, what only reads may run.
//!
//! A rule that names an effect binds every way to it: with `write` blocked, a tool that can do
//! without writing must do without, and one that cannot is blocked. Pure. What the tool itself
//! thinks of the call is asked in `preflight`.

use serde::{Deserialize, Serialize};

mod rule;
mod condition;
mod expiry;
mod rulebook;
pub mod lint;

pub use self::expiry::Expiry;
pub use self::rule::{Annotation, Effect, Rule};
pub use self::rulebook::{Rulebook, RulesRead, Standing};

use self::rule::{Compiled, Match};
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
#[derive(Debug)]
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

/// A call to judge.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Whose call of which tool.
    pub subject: Subject<'a>,
    /// Its arguments as JSON.
    pub arguments: &'a str,
    /// Wall clock, Unix time in milliseconds, by which rules end.
    pub now_ms: i64,
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
    /// A glob or a condition cannot be read.
    pub fn new(config: &Config, profile: Profile) -> Result<Self, Error> {
        let rules = config.rules.iter().enumerate().map(|(nth, rule)| Compiled::new(nth, rule));
        Ok(Self { rules: rules.collect::<Result<_, _>>()?, profile })
    }

    /// Judges a call.
    pub fn judge(&self, case: Case<'_>) -> Judgement {
        let subject = case.subject;
        let matching = self.matching(case);
        let mut denied_effects = Vec::new();
        let mut blocking: Option<&Hit<'_>> = None;
        for hit in matching.iter().filter(|hit| hit.rule.verdict == Verdict::Block) {
            match hit.rule.effect {
                Some(effect) if subject.tool.removable_effects.contains(&effect) => {
                    if !denied_effects.contains(&effect) {
                        denied_effects.push(effect);
                    }
                }
                _ => blocking = blocking.or(Some(hit)),
            }
        }
        denied_effects.sort_unstable();
        let of = |verdict: Verdict| matching.iter().find(|hit| hit.rule.verdict == verdict);
        let deciding = blocking
            .or_else(|| of(Verdict::Ask))
            .or_else(|| allowing(&matching, subject, &denied_effects));
        let judgement = match deciding {
            Some(hit) => Judgement {
                verdict: hit.rule.verdict,
                rule: hit.rule.name.clone(),
                reason: hit.reason(),
                denied_effects: Vec::new(),
                allowed_by: (hit.rule.verdict == Verdict::Allow).then(|| hit.rule.name.clone()),
            },
            None => self.unmatched(subject.tool),
        };
        Judgement { denied_effects, ..judgement }
    }

    /// The rules about a call. One whose condition cannot be evaluated is about it unless it allows.
    fn matching(&self, case: Case<'_>) -> Vec<Hit<'_>> {
        let mut facts = None;
        let mut matching = Vec::new();
        for rule in &self.rules {
            match rule.meets(case, &mut facts) {
                Match::Yes => matching.push(Hit { rule, doubt: None }),
                Match::Doubt(why) if rule.verdict != Verdict::Allow => {
                    matching.push(Hit { rule, doubt: Some(why) });
                }
                Match::Doubt(_) | Match::No => {}
            }
        }
        matching
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

/// A rule that is about a call.
#[derive(Debug)]
struct Hit<'a> {
    rule: &'a Compiled,
    /// Why its condition could not be evaluated.
    doubt: Option<String>,
}

impl Hit<'_> {
    fn reason(&self) -> String {
        let reason = self.rule.reason();
        match &self.doubt {
            Some(why) => format!("{reason} (its condition cannot be evaluated: {why})"),
            None => reason,
        }
    }
}

/// An `allow` of the tool itself, or one for each effect that the call can still have.
fn allowing<'a, 'p>(
    matching: &'a [Hit<'p>],
    subject: Subject<'_>,
    denied: &[Effect],
) -> Option<&'a Hit<'p>> {
    let allows = || matching.iter().filter(|hit| hit.rule.verdict == Verdict::Allow);
    if let Some(hit) = allows().find(|hit| hit.rule.effect.is_none()) {
        return Some(hit);
    }
    let mut left = subject.tool.effects.iter().filter(|effect| !denied.contains(effect)).peekable();
    left.peek()?;
    let is_covered = left.all(|effect| allows().any(|hit| hit.rule.effect == Some(*effect)));
    if is_covered { allows().next() } else { None }
}

#[cfg(test)]
mod tests;
