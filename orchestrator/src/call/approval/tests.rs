use super::*;
use crate::call::testing::{CALL, context};

fn judgement(verdict: Verdict, rule: &str) -> Judgement {
    Judgement {
        verdict,
        rule: rule.to_owned(),
        reason: "the rule".to_owned(),
        denied_effects: Vec::new(),
        allowed_by: None,
    }
}

fn asks() -> Opinion {
    Opinion::Ask {
        reason: "it writes".to_owned(),
        preview: "+ a line".to_owned(),
        irreversible: false,
    }
}

fn blocks() -> Opinion {
    Opinion::Block { reason: "outside".to_owned() }
}

fn planned() -> CallPlanned {
    CallPlanned {
        call_id: CALL.into(),
        tool: "run_it".to_owned(),
        arguments: r#"{"command":"ls","deep":{"a":[1]}}"#.to_owned(),
        ..CallPlanned::default()
    }
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::kind).collect()
}

fn asked(events: &[Event]) -> &ApprovalAsked {
    let asked = events.iter().find_map(|event| match event {
        Event::ApprovalAsked(asked) => Some(asked),
        _ => None,
    });
    asked.expect("somebody was asked")
}

#[test]
fn the_stricter_of_rules_and_tool_wins_and_is_named() {
    use Verdict::{Allow, Ask, Block};
    for (verdict, opinion, expected) in [
        (Allow, Opinion::Allow, (Allow, "r", "the rule")),
        (Allow, asks(), (Ask, "preflight", "it writes")),
        (Allow, blocks(), (Block, "preflight", "outside")),
        (Ask, Opinion::Allow, (Ask, "r", "the rule")),
        (Ask, asks(), (Ask, "r", "it writes")),
        (Ask, blocks(), (Block, "preflight", "outside")),
        (Block, Opinion::Allow, (Block, "r", "the rule")),
        (Block, asks(), (Block, "r", "the rule")),
        (Block, blocks(), (Block, "preflight", "outside")),
    ] {
        let stricter = stricter(judgement(verdict, "r"), &opinion);
        let found = (stricter.verdict, stricter.rule.as_str(), stricter.reason.as_str());
        assert_eq!(found, expected, "{verdict:?} {opinion:?}");
    }
}

#[test]
fn what_is_allowed_asks_nobody() {
    let events =
        events(&planned(), &judgement(Verdict::Allow, "r"), &Opinion::Allow, &context(), 99);
    assert_eq!(kinds(&events), ["call.judged"]);
}

#[test]
fn what_is_blocked_is_settled_and_no_flag_helps() {
    let mut context = context();
    context.approve = vec!["*".to_owned()];
    context.approver_attached = true;
    let events =
        events(&planned(), &judgement(Verdict::Block, "no shells"), &Opinion::Allow, &context, 99);
    assert_eq!(kinds(&events), ["call.judged", "call.settled"]);
    let Event::CallSettled(settled) = &events[1] else { unreachable!() };
    assert_eq!(settled.status, CallStatus::Blocked);
    assert_eq!(
        settled.content,
        "Failed (blocked): `run_it` was blocked by the rule `no shells`: the rule. Nothing \
         overrides this; do not try the same again."
    );
}

#[test]
fn a_person_who_is_there_is_asked_about_the_preview_of_the_tool() {
    let mut context = context();
    context.approver_attached = true;
    let events = events(&planned(), &judgement(Verdict::Ask, "r"), &asks(), &context, 99);
    assert_eq!(kinds(&events), ["call.judged", "approval.asked"]);
    let asked = asked(&events);
    assert_eq!((asked.preview.as_str(), asked.expires_ms), ("+ a line", 99));
    // printf '+ a line' | sha256sum
    let digest = "03472351cd85f4a9d4dc12e6e79c9f5adbefb6667e41cd51e7ee4631c2eaa106";
    assert_eq!(asked.preview_digest, digest);
}

#[test]
fn what_was_approved_beforehand_is_decided_by_the_flag() {
    for (globs, is_approved) in [
        (vec!["run_it"], true),
        (vec!["run_*"], true),
        (vec!["*"], true),
        (vec!["other", "run"], false),
        (vec![""], false),
        (vec!["["], false),
    ] {
        let mut context = context();
        context.approver_attached = true;
        context.approve = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let events = events(&planned(), &judgement(Verdict::Ask, "r"), &asks(), &context, 99);
        if is_approved {
            assert_eq!(kinds(&events), ["call.judged", "approval.asked", "approval.decided"]);
            let Event::ApprovalDecided(decided) = &events[2] else { unreachable!() };
            assert_eq!((decided.approved, decided.by.as_str()), (true, "flag"));
            assert_eq!(asked(&events).expires_ms, 0, "nobody is asked");
        } else {
            assert_eq!(kinds(&events), ["call.judged", "approval.asked"], "{globs:?}");
        }
    }
}

#[test]
fn with_nobody_there_it_is_denied_and_both_readers_are_told_what_to_do() {
    let events = events(&planned(), &judgement(Verdict::Ask, "r"), &asks(), &context(), 99);
    assert_eq!(
        kinds(&events),
        ["call.judged", "approval.asked", "approval.decided", "call.settled"]
    );
    let Event::ApprovalDecided(decided) = &events[2] else { unreachable!() };
    assert_eq!((decided.approved, decided.by.as_str()), (false, "nobody"));
    let Event::CallSettled(settled) = &events[3] else { unreachable!() };
    assert_eq!(settled.status, CallStatus::Denied);
    assert_eq!(
        settled.content,
        "`run_it` needs the approval of a person (the rule), and nobody is there to give it. It was \
         not run. Do not call it again in this run; say what you would have done."
    );
    assert_eq!(decided.note, settled.content.trim_end_matches('.'));
    let person = &settled.failure.as_ref().unwrap().message;
    assert!(person.contains("`--approve run_it`"), "{person}");
    assert!(
        person.contains("`[[orchestrator.policy.rules]] tool = \"run_it\" verdict = \"allow\"`"),
        "{person}"
    );
}

#[test]
fn a_call_without_a_preview_of_its_own_shows_its_arguments() {
    let mut context = context();
    context.approver_attached = true;
    let hidden = CallPlanned {
        arguments: serde_json::json!({"command": "ls\u{202e}\u{7}\nnext", "n": 5, "long": "x".repeat(3_000)}).to_string(),
        ..planned()
    };
    let judgement = Judgement {
        allowed_by: None,
        denied_effects: vec![Effect::Write, Effect::Network],
        ..judgement(Verdict::Ask, "r")
    };
    let events = events(&hidden, &judgement, &Opinion::Allow, &context, 99);
    let preview = &asked(&events).preview;
    let lines: Vec<&str> = preview.lines().collect();
    assert_eq!(lines[0], "run_it");
    assert_eq!(lines[1], "  command: ls\\u{202e}\\u{7}");
    assert_eq!(lines[2], "next");
    assert_eq!(lines[3], "  n: 5");
    assert_eq!(lines[4], format!("  long: {}… (3000 characters)", "x".repeat(2_000)));
    assert_eq!(lines[5], "without: write, network");
    let Event::CallJudged(judged) = &events[0] else { unreachable!() };
    assert_eq!(judged.denied_effects, ["write", "network"]);
}

#[test]
fn what_cannot_be_undone_says_so() {
    let mut context = context();
    context.approver_attached = true;
    let opinion =
        Opinion::Ask { reason: "it deletes".into(), preview: "- all".into(), irreversible: true };
    let judgement = stricter(judgement(Verdict::Allow, "r"), &opinion);
    let events = events(&planned(), &judgement, &opinion, &context, 99);
    assert_eq!(asked(&events).reason, "This cannot be undone. it deletes");
}

#[test]
fn a_rule_answers_the_tools_question_unless_nothing_can_be_undone() {
    for (irreversible, attached, approved) in [
        (false, true, Some(true)),
        (false, false, Some(true)),
        (true, false, Some(false)),
        (true, true, None),
    ] {
        let opinion = Opinion::Ask {
            reason: "it writes".to_owned(),
            preview: "+ a line".to_owned(),
            irreversible,
        };
        let allowed =
            Judgement { allowed_by: Some("mine".to_owned()), ..judgement(Verdict::Allow, "mine") };
        let judgement = stricter(allowed, &opinion);
        assert_eq!(judgement.verdict, Verdict::Ask);
        let context = CallContext { approver_attached: attached, ..context() };
        let events = events(&planned(), &judgement, &opinion, &context, 9);
        let decided = events.iter().find_map(|event| match event {
            Event::ApprovalDecided(decided) => Some(decided),
            _ => None,
        });
        assert_eq!(decided.map(|decided| decided.approved), approved, "{irreversible} {attached}");
        if approved == Some(true) {
            assert_eq!(decided.unwrap().by, "rule mine");
        }
    }
}
