//! What is odd about rules that can all be read: rules that never decide anything, and why.
//!
//! Pure. A warning is no error: what is odd may be meant.

use super::{Annotation, Config, Rule};
use crate::run::event::Verdict;

/// Something odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Which rule, from 0.
    pub nth: usize,
    /// What is odd, and what is true instead.
    pub text: String,
}

/// Everything odd about rules, at a time of the wall clock in Unix milliseconds.
pub fn warnings(config: &Config, now_ms: i64) -> Vec<Warning> {
    let rules = &config.rules;
    let odd = |(nth, rule): (usize, &Rule)| {
        let text = alone(rule, now_ms).or_else(|| beside(nth, rule, rules))?;
        Some(Warning { nth, text })
    };
    rules.iter().enumerate().filter_map(odd).collect()
}

/// What is odd about a rule on its own.
fn alone(rule: &Rule, now_ms: i64) -> Option<String> {
    if let Some(expires) = rule.expires.filter(|expires| expires.is_over(now_ms)) {
        return Some(format!("it ended at {expires} and matches nothing"));
    }
    let wants = |annotation| rule.annotations.get(&annotation) == Some(&true);
    if wants(Annotation::ReadOnly) && wants(Annotation::Destructive) {
        return Some("it matches nothing: what only reads is not destructive".to_owned());
    }
    None
}

/// What is odd about a rule among the others.
fn beside(nth: usize, rule: &Rule, rules: &[Rule]) -> Option<String> {
    let others = || rules.iter().enumerate().filter(|(other, _)| *other != nth);
    let stricter = others().find(|(_, other)| other.verdict > rule.verdict && covers(other, rule));
    if let Some((other, stricter)) = stricter {
        return Some(format!(
            "it never decides: {} {}s everything that it matches",
            stricter.name_at(other),
            stricter.verdict.as_str()
        ));
    }
    let is_again = |(other, same): &(usize, &Rule)| *other < nth && is_same(same, rule);
    let (other, same) = others().find(is_again)?;
    Some(format!("it says the same as {}", same.name_at(other)))
}

/// Whether the one matches whatever the other does, as far as their words alone tell.
fn covers(one: &Rule, other: &Rule) -> bool {
    let wider = |one: &str, other: &str| one.is_empty() || one == "*" || one == other;
    wider(&one.team, &other.team)
        && wider(&one.agent, &other.agent)
        && wider(&one.tool, &other.tool)
        // A blocked effect may be taken away from a call that goes on without it.
        && (one.effect.is_none() || (one.effect == other.effect && one.verdict != Verdict::Block))
        && one.annotations.iter().all(|(key, value)| other.annotations.get(key) == Some(value))
        && (one.condition.is_empty() || one.condition == other.condition)
        && (one.expires.is_none() || one.expires == other.expires)
}

fn is_same(one: &Rule, other: &Rule) -> bool {
    one.verdict == other.verdict && covers(one, other) && covers(other, one)
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::*;

    /// The first of January 2027.
    const NOW_MS: i64 = 1_798_761_600_000;

    fn rule(tool: &str, verdict: Verdict) -> Rule {
        Rule { tool: tool.to_owned(), ..Rule::of(verdict) }
    }

    fn said(rules: Vec<Rule>) -> Vec<(usize, String)> {
        let warnings = warnings(&Config { rules }, NOW_MS);
        warnings.into_iter().map(|warning| (warning.nth, warning.text)).collect()
    }

    #[test]
    fn rules_that_contradict_are_named_with_the_one_that_counts() {
        let never = Rule { name: "never".into(), ..rule("run", Verdict::Block) };
        let said = said(vec![rule("run", Verdict::Allow), never, rule("look", Verdict::Allow)]);
        assert_eq!(said, [(0, "it never decides: never blocks everything that it matches".into())]);
    }

    #[test]
    fn rules_that_match_nothing_are_named_with_the_reason() {
        let ended =
            Rule { expires: Some("2026-12-30".parse().unwrap()), ..rule("a", Verdict::Allow) };
        let both = [(Annotation::ReadOnly, true), (Annotation::Destructive, true)];
        let impossible = Rule { annotations: both.into(), ..rule("b", Verdict::Ask) };
        let said = said(vec![ended, impossible]);
        assert_eq!(said[0], (0, "it ended at 2026-12-31T00:00:00Z and matches nothing".into()));
        assert!(said[1].1.starts_with("it matches nothing"), "{said:?}");
    }

    #[test]
    fn a_rule_that_is_there_twice_is_named_once() {
        let twice = vec![rule("a", Verdict::Ask), rule("a", Verdict::Ask)];
        assert_eq!(said(twice), [(1, "it says the same as orchestrator.policy.rules[0]".into())]);
    }

    #[test]
    fn what_is_meant_is_not_odd() {
        let condition = |text: &str, verdict| Rule { condition: text.into(), ..rule("a", verdict) };
        let effect = |effect, verdict| Rule { effect: Some(effect), ..rule("a", verdict) };
        for rules in [
            vec![condition("args.n > 1", Verdict::Block), rule("a", Verdict::Allow)],
            vec![rule("a*", Verdict::Allow), rule("ab", Verdict::Block)],
            vec![effect(Effect::Write, Verdict::Block), effect(Effect::Write, Verdict::Allow)],
        ] {
            assert_eq!(said(rules.clone()), [], "{rules:?}");
        }
    }
}
