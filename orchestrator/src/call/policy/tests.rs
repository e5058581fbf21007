use proptest::prelude::*;

use super::*;
use crate::catalog::tool::{Annotations, sample};

fn rule(tool: &str, verdict: Verdict) -> Rule {
    Rule { tool: tool.to_owned(), ..Rule::of(verdict) }
}

fn effect(effect: Effect, verdict: Verdict) -> Rule {
    Rule { effect: Some(effect), ..rule("", verdict) }
}

fn changing(name: &str) -> Descriptor {
    Descriptor {
        annotations: Annotations::default(),
        effects: vec![Effect::Read, Effect::Write, Effect::Execute],
        removable_effects: vec![Effect::Write],
        ..sample::descriptor("shell", name)
    }
}

fn judge(rules: Vec<Rule>, profile: Profile, tool: &Descriptor) -> Judgement {
    judge_with(rules, profile, tool, "{}")
}

/// The wall clock of the tests: the first of January 2027.
const NOW_MS: i64 = 1_798_761_600_000;

fn judge_with(rules: Vec<Rule>, profile: Profile, tool: &Descriptor, arguments: &str) -> Judgement {
    let policy = Policy::new(&Config { rules }, profile).unwrap();
    let subject = Subject { team: "blue", agent: "default", tool };
    policy.judge(Case { subject, arguments, now_ms: NOW_MS })
}

#[test]
fn where_no_rule_matches_reading_is_allowed_and_changing_is_not() {
    let reading = sample::descriptor("files", "look");
    let changing = changing("do");
    let untrusted = Descriptor { is_trusted: false, ..reading.clone() };
    for (tool, profile, verdict) in [
        (&reading, Profile::Development, Verdict::Allow),
        (&reading, Profile::Production, Verdict::Allow),
        (&changing, Profile::Development, Verdict::Ask),
        (&changing, Profile::Production, Verdict::Block),
        (&untrusted, Profile::Development, Verdict::Ask),
        (&untrusted, Profile::Production, Verdict::Block),
    ] {
        assert_eq!(judge(Vec::new(), profile, tool).verdict, verdict, "{} {profile:?}", tool.name);
    }
}

#[test]
fn block_beats_ask_beats_allow_whatever_their_order() {
    let tool = changing("do");
    let rules = [
        rule("d*", Verdict::Allow),
        rule("do", Verdict::Ask),
        Rule {
            name: "never".into(),
            reason: "it is forbidden".into(),
            ..rule("?o", Verdict::Block)
        },
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let rules = order.iter().map(|&nth| rules[nth].clone()).collect();
        let judgement = judge(rules, Profile::Development, &tool);
        assert_eq!((judgement.verdict, judgement.rule.as_str()), (Verdict::Block, "never"));
        assert_eq!(judgement.reason, "it is forbidden");
    }
    for order in [[0, 1], [1, 0]] {
        let rules = order.iter().map(|&nth| rules[nth].clone()).collect();
        assert_eq!(judge(rules, Profile::Production, &tool).verdict, Verdict::Ask);
    }
    let judgement = judge(vec![rules[0].clone()], Profile::Production, &tool);
    assert_eq!(judgement.verdict, Verdict::Allow);
    assert_eq!(judgement.rule, "orchestrator.policy.rules[0]");
}

#[test]
fn every_condition_of_a_rule_must_hold() {
    let tool = changing("do");
    let base = rule("do", Verdict::Block);
    let annotated =
        |annotation, value| Rule { annotations: [(annotation, value)].into(), ..base.clone() };
    for (rule, matches) in [
        (base.clone(), true),
        (Rule { team: "blue".into(), ..base.clone() }, true),
        (Rule { team: "red".into(), ..base.clone() }, false),
        (Rule { agent: "def*".into(), ..base.clone() }, true),
        (Rule { agent: "other".into(), ..base.clone() }, false),
        (Rule { effect: Some(Effect::Execute), ..base.clone() }, true),
        (Rule { effect: Some(Effect::Network), ..base.clone() }, false),
        (annotated(Annotation::ReadOnly, false), true),
        (annotated(Annotation::ReadOnly, true), false),
        (annotated(Annotation::Destructive, false), true),
        (annotated(Annotation::OpenWorld, true), false),
    ] {
        let verdict = judge(vec![rule.clone()], Profile::Development, &tool).verdict;
        assert_eq!(verdict == Verdict::Block, matches, "{rule:?}");
    }
}

#[test]
fn an_effect_that_is_blocked_is_taken_away_or_the_tool_is_blocked() {
    let rules = vec![effect(Effect::Write, Verdict::Block), rule("do", Verdict::Allow)];
    let judgement = judge(rules.clone(), Profile::Development, &changing("do"));
    assert_eq!(judgement.verdict, Verdict::Allow);
    assert_eq!(judgement.denied_effects, [Effect::Write]);

    let cannot = Descriptor { removable_effects: Vec::new(), ..changing("do") };
    let judgement = judge(rules.clone(), Profile::Development, &cannot);
    assert_eq!(judgement.verdict, Verdict::Block);
    assert_eq!(judgement.denied_effects, []);

    let reading = sample::descriptor("files", "look");
    assert_eq!(judge(rules, Profile::Development, &reading).denied_effects, []);
}

#[test]
fn allowing_one_effect_does_not_allow_a_tool_that_has_others() {
    let tool = changing("do");
    let allow = |effects: &[Effect]| effects.iter().map(|e| effect(*e, Verdict::Allow)).collect();
    let read_only: Vec<Rule> = allow(&[Effect::Read]);
    assert_eq!(judge(read_only, Profile::Development, &tool).verdict, Verdict::Ask);
    let all: Vec<Rule> = allow(&[Effect::Read, Effect::Write, Effect::Execute]);
    assert_eq!(judge(all, Profile::Development, &tool).verdict, Verdict::Allow);
    let mut without: Vec<Rule> = allow(&[Effect::Read, Effect::Execute]);
    without.push(effect(Effect::Write, Verdict::Block));
    let judgement = judge(without, Profile::Development, &tool);
    assert_eq!(judgement.verdict, Verdict::Allow);
    assert_eq!(judgement.denied_effects, [Effect::Write]);
    // A tool that names no effect at all is not covered by naming some.
    let vague = Descriptor { effects: Vec::new(), ..changing("vague") };
    let read_only: Vec<Rule> = allow(&[Effect::Read]);
    assert_eq!(judge(read_only, Profile::Production, &vague).verdict, Verdict::Block);
}

#[test]
fn a_glob_that_cannot_be_read_is_refused_with_its_key() {
    let config = Config { rules: vec![rule("ok", Verdict::Allow), rule("[", Verdict::Allow)] };
    let error = Policy::new(&config, Profile::Development).unwrap_err().to_string();
    assert!(error.starts_with("`orchestrator.policy.rules[1].tool`: `[`"), "{error}");
}

#[test]
fn a_rule_is_written_as_in_the_configuration() {
    let json = r#"{"rules": [{"tool": "run_*", "verdict": "allow"},
        {"effect": "write", "annotations": {"destructive": true}, "verdict": "block", "reason": "no"}]}"#;
    let config: Config = serde_json::from_str(json).unwrap();
    assert_eq!(config.rules[0], rule("run_*", Verdict::Allow));
    assert_eq!(config.rules[1].annotations, [(Annotation::Destructive, true)].into());
    // A rule without a verdict must not become one that allows.
    assert!(serde_json::from_str::<Config>(r#"{"rules": [{"tool": "x"}]}"#).is_err());
    assert!(
        serde_json::from_str::<Config>(r#"{"rules": [{"tol": "x", "verdict": "ask"}]}"#).is_err()
    );
}

#[test]
fn a_condition_looks_at_the_arguments() {
    let tool = changing("do");
    let rule = Rule {
        condition: r#"args.path.startsWith("drafts/") && team == "blue""#.into(),
        ..rule("do", Verdict::Allow)
    };
    for (arguments, verdict) in [
        (r#"{"path": "drafts/a.md"}"#, Verdict::Allow),
        (r#"{"path": "final/a.md"}"#, Verdict::Ask),
        // What cannot be evaluated does not allow.
        (r#"{"file": "drafts/a.md"}"#, Verdict::Ask),
        (r#"{"path": 5}"#, Verdict::Ask),
    ] {
        let judgement = judge_with(vec![rule.clone()], Profile::Development, &tool, arguments);
        assert_eq!(judgement.verdict, verdict, "{arguments}");
    }
}

#[test]
fn a_condition_that_cannot_be_evaluated_keeps_its_ask_or_block() {
    let tool = changing("do");
    for verdict in [Verdict::Ask, Verdict::Block] {
        let doubtful = Rule {
            name: "careful".into(),
            condition: "args.amount > 100".into(),
            ..rule("do", verdict)
        };
        let rules = vec![doubtful, rule("do", Verdict::Allow)];
        let judge =
            |arguments: &str| judge_with(rules.clone(), Profile::Development, &tool, arguments);
        assert_eq!(judge(r#"{"amount": 101}"#).verdict, verdict);
        assert_eq!(judge(r#"{"amount": 100}"#).verdict, Verdict::Allow);
        let doubted = judge("{}");
        assert_eq!((doubted.verdict, doubted.rule.as_str()), (verdict, "careful"));
        assert!(doubted.reason.contains("cannot be evaluated: No such key: amount"), "{doubted:?}");
    }
}

#[test]
fn a_rule_ends_at_its_time() {
    let tool = changing("do");
    for (expires, verdict) in [("2026-12-31", Verdict::Ask), ("2027-01-01", Verdict::Allow)] {
        let ending = Rule { expires: Some(expires.parse().unwrap()), ..rule("do", Verdict::Allow) };
        assert_eq!(judge(vec![ending], Profile::Development, &tool).verdict, verdict, "{expires}");
    }
}

#[test]
fn a_condition_that_cannot_be_read_is_refused_with_its_key() {
    let wrong = Rule { condition: "args.path ==".into(), ..rule("do", Verdict::Allow) };
    let config = Config { rules: vec![wrong] };
    let error = Policy::new(&config, Profile::Development).unwrap_err().to_string();
    assert!(error.starts_with("`orchestrator.policy.rules[0].condition`: it is no CEL"), "{error}");
}

/// The same decision, written the long way round. A condition there is none, one that holds, one
/// that does not, or one about a key that is missing.
fn reference(rules: &[Rule], profile: Profile, tool: &Descriptor) -> (Verdict, Vec<Effect>) {
    let hits = |rule: &&Rule| {
        let name = rule.tool.as_str();
        let named = name.is_empty() || name == "*" || name == tool.name;
        let holds = match rule.condition.as_str() {
            "" | HOLDS => true,
            FAILS => false,
            _ => rule.verdict != Verdict::Allow,
        };
        named
            && holds
            && rule.expires.is_none_or(|end| end == later())
            && (rule.team.is_empty() || rule.team == "blue")
            && (rule.agent.is_empty() || rule.agent == "default")
            && rule.annotations.iter().all(|(annotation, value)| {
                let promised = match annotation {
                    Annotation::ReadOnly => tool.annotations.read_only && tool.is_trusted,
                    Annotation::Destructive => {
                        !tool.is_trusted
                            || (!tool.annotations.read_only && tool.annotations.destructive)
                    }
                    Annotation::Idempotent => tool.annotations.idempotent && tool.is_trusted,
                    Annotation::OpenWorld => tool.annotations.open_world || !tool.is_trusted,
                };
                promised == *value
            })
            && rule.effect.is_none_or(|e| tool.effects.contains(&e))
    };
    let hitting: Vec<&Rule> = rules.iter().filter(hits).collect();
    let mut denied = Vec::new();
    let mut blocked = false;
    for rule in hitting.iter().filter(|r| r.verdict == Verdict::Block) {
        match rule.effect {
            Some(e) if tool.removable_effects.contains(&e) => denied.push(e),
            _ => blocked = true,
        }
    }
    denied.sort_unstable();
    denied.dedup();
    let allow = |wanted: Option<Effect>| {
        hitting.iter().any(|r| r.verdict == Verdict::Allow && r.effect == wanted)
    };
    let left: Vec<Effect> = tool.effects.iter().copied().filter(|e| !denied.contains(e)).collect();
    let covered = !left.is_empty() && left.iter().all(|e| allow(Some(*e)));
    let verdict = if blocked {
        Verdict::Block
    } else if hitting.iter().any(|r| r.verdict == Verdict::Ask) {
        Verdict::Ask
    } else if allow(None) || covered || (tool.annotations.read_only && tool.is_trusted) {
        Verdict::Allow
    } else if profile == Profile::Production {
        Verdict::Block
    } else {
        Verdict::Ask
    };
    (verdict, denied)
}

/// A condition that holds for the arguments of the random calls, `{"n": 1}`, and others.
const HOLDS: &str = "args.n == 1";
const FAILS: &str = "args.n > 1";
const DOUBTFUL: &str = "args.m > 1";

fn later() -> Expiry {
    "2027-01-02".parse().unwrap()
}

const EFFECTS: [Effect; 4] = [Effect::Read, Effect::Write, Effect::Execute, Effect::Network];

prop_compose! {
    fn any_rule()(
        tool in prop::sample::select(vec!["", "*", "one", "two"]),
        team in prop::sample::select(vec!["", "blue", "red"]),
        effect in prop::option::of(prop::sample::select(EFFECTS.to_vec())),
        verdict in prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Block]),
        agent in prop::sample::select(vec!["", "default", "other"]),
        condition in prop::sample::select(vec!["", "", HOLDS, FAILS, DOUBTFUL]),
        expires in prop::option::of(prop::sample::select(vec![
            later(),
            "2026-12-31".parse::<Expiry>().unwrap(),
        ])),
        annotation in prop::option::of((
            prop::sample::select(vec![
                Annotation::ReadOnly,
                Annotation::Destructive,
                Annotation::Idempotent,
                Annotation::OpenWorld,
            ]),
            any::<bool>(),
        )),
    ) -> Rule {
        Rule {
            team: team.to_owned(),
            agent: agent.to_owned(),
            effect,
            condition: condition.to_owned(),
            expires,
            annotations: annotation.into_iter().collect(),
            ..rule(tool, verdict)
        }
    }
}

prop_compose! {
    fn any_tool()(
        name in prop::sample::select(vec!["one", "two", "three"]),
        effects in prop::sample::subsequence(EFFECTS.to_vec(), 0..=4),
        removable in prop::sample::subsequence(EFFECTS.to_vec(), 0..=4),
        [read_only, destructive, idempotent, open_world] in any::<[bool; 4]>(),
        is_trusted in any::<bool>(),
    ) -> Descriptor {
        let removable_effects = removable.into_iter().filter(|e| effects.contains(e)).collect();
        Descriptor {
            effects,
            removable_effects,
            is_trusted,
            annotations: Annotations { read_only, destructive, idempotent, open_world },
            ..sample::descriptor("any", name)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn decisions_equal_those_of_the_reference(
        rules in prop::collection::vec(any_rule(), 0..8),
        tool in any_tool(),
        production in any::<bool>(),
    ) {
        let profile = if production { Profile::Production } else { Profile::Development };
        let judgement = judge_with(rules.clone(), profile, &tool, r#"{"n": 1}"#);
        prop_assert_eq!((judgement.verdict, judgement.denied_effects), reference(&rules, profile, &tool));
    }
}
