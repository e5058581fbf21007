//! The stages in their order, over real services.

use callboard_proto::tool as wire;
use callboard_proto::tool::preflight_response::Verdict as WireVerdict;
use tonic::Status;

use super::testing::*;
use super::*;
use crate::digest::sha256;
use crate::run::event::{CallJudged, CallStatus};

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::kind).collect()
}

fn settled(events: &[Event]) -> &CallSettled {
    let settled = events.iter().find_map(|event| match event {
        Event::CallSettled(settled) => Some(settled),
        _ => None,
    });
    settled.expect("the call is settled")
}

fn judged(events: &[Event]) -> &CallJudged {
    let judged = events.iter().find_map(|event| match event {
        Event::CallJudged(judged) => Some(judged),
        _ => None,
    });
    judged.expect("the call is judged")
}

fn says(verdict: WireVerdict) -> wire::PreflightResponse {
    wire::PreflightResponse { verdict: Some(verdict) }
}

fn asks(preview: &str) -> WireVerdict {
    WireVerdict::Ask(wire::Ask {
        reason: "it changes a file".to_owned(),
        preview: preview.to_owned(),
        preview_digest: sha256(preview),
        irreversible: false,
    })
}

fn judging(mut tool: wire::ToolDescriptor) -> wire::ToolDescriptor {
    tool.preflight = wire::PreflightMode::Arguments.into();
    tool
}

fn answers() -> Script {
    std::sync::Arc::new(|_, request| vec![output(request, "done")])
}

#[tokio::test]
async fn a_call_that_fits_is_planned_and_judged() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    let events = world.judge("service.read", "{'x': '5'}", &context()).await;
    assert_eq!(kinds(&events), ["call.planned", "call.judged"]);
    let Event::CallPlanned(planned) = &events[0] else { unreachable!() };
    assert_eq!((planned.tool.as_str(), planned.service.as_str()), ("read", "service"));
    assert_eq!(planned.arguments, r#"{"x":5}"#);
    assert_eq!(planned.arguments_digest, sha256(r#"{"x":5}"#));
    assert_eq!(planned.descriptor_digest.len(), 64);
    assert_eq!(planned.timeout_ms, 15_000);
    assert_eq!(planned.repairs.len(), 3, "{:?}", planned.repairs);
    assert_eq!(judged(&events).verdict, Verdict::Allow);
    assert_eq!(service.judged(), 0, "a tool without preflight is spared the trip");
}

#[tokio::test]
async fn a_call_that_does_not_fit_says_everything_that_is_wrong() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    for (tool, arguments, kind, words) in [
        ("raed", "{}", "not_found", "`raed`; the nearest are `read`"),
        ("read", "{\"x\": \"five\"}", "invalid_arguments", "- /x is \"five\", must be an integer"),
        ("read", "{\"x\": 5", "invalid_arguments", "cut short"),
        ("read", "[1, 2]", "invalid_arguments", "not a list"),
    ] {
        let events = world.judge(tool, arguments, &context()).await;
        assert_eq!(kinds(&events), ["call.settled"], "{tool} {arguments}");
        let settled = settled(&events);
        assert_eq!(settled.status, CallStatus::Failed);
        assert_eq!(settled.failure.as_ref().unwrap().kind, kind);
        assert!(settled.content.contains(words), "{}", settled.content);
    }
    assert!(service.seen().is_empty());
}

#[tokio::test]
async fn the_tool_is_asked_and_the_stricter_verdict_wins() {
    let world = World::new(Setting::default());
    let tools = vec![judging(tool("read", true, true)), judging(tool("write", false, false))];
    let service = world.serve("a", tools, answers()).await;
    let block = WireVerdict::Block(wire::Block { reason: "outside of the workspace".to_owned() });
    for (tool, opinion, verdict, rule) in [
        ("read", WireVerdict::Allow(wire::Allow {}), Verdict::Allow, "default: read-only"),
        ("read", asks("the diff"), Verdict::Ask, "preflight"),
        ("read", block.clone(), Verdict::Block, "preflight"),
        ("write", WireVerdict::Allow(wire::Allow {}), Verdict::Ask, "default: development"),
        ("write", asks("the diff"), Verdict::Ask, "default: development"),
        ("write", block.clone(), Verdict::Block, "preflight"),
    ] {
        let answer = opinion.clone();
        service.set_opinion(move |call| {
            assert_eq!((call.tool.as_str(), call.call_id.as_str()), (call.tool.as_str(), CALL));
            assert_eq!(call.incarnation, "incarnation-of-a");
            assert!(call.epoch.is_some());
            Ok(says(answer.clone()))
        });
        let events = world.judge(tool, "{}", &context()).await;
        let judged = judged(&events);
        assert_eq!((judged.verdict, judged.rule.as_str()), (verdict, rule), "{tool} {opinion:?}");
    }
    assert_eq!(service.judged(), 6);
    assert!(service.seen().is_empty(), "judging starts nothing");
}

#[tokio::test]
async fn what_a_rule_blocks_is_not_even_asked_about() {
    let rule = policy::Rule {
        name: "never".to_owned(),
        tool: "write".to_owned(),
        reason: "not here".to_owned(),
        ..policy::Rule::of(Verdict::Block)
    };
    let policy = policy::Config { rules: vec![rule] };
    let world = World::new(Setting { policy, ..Setting::default() });
    let service = world.serve("a", vec![judging(tool("write", false, false))], answers()).await;
    let mut context = context();
    context.approve = vec!["*".to_owned()];
    let events = world.judge("write", "{}", &context).await;
    assert_eq!(kinds(&events), ["call.planned", "call.judged", "call.settled"]);
    assert_eq!(settled(&events).status, CallStatus::Blocked);
    assert_eq!(service.judged(), 0);
}

#[tokio::test]
async fn a_preview_that_is_not_what_it_says_is_no_question() {
    let world = World::new(Setting::default());
    let service = world.serve("a", vec![judging(tool("read", true, true))], answers()).await;
    let lie = wire::Ask {
        preview_digest: sha256("something else"),
        preview: "harmless".to_owned(),
        ..Default::default()
    };
    for answer in [Some(WireVerdict::Ask(lie)), None] {
        let answer = wire::PreflightResponse { verdict: answer };
        service.set_opinion(move |_| Ok(answer.clone()));
        let events = world.judge("read", "{}", &context()).await;
        assert_eq!(kinds(&events), ["call.planned", "call.settled"]);
        assert_eq!(settled(&events).failure.as_ref().unwrap().kind, "internal");
    }
}

#[tokio::test]
async fn a_service_that_cannot_judge_is_passed_over_or_told() {
    let world = World::new(Setting::default());
    let tools = vec![judging(tool("read", true, true))];
    let bad = world.serve("a", tools.clone(), answers()).await;
    bad.set_opinion(|_| Err(Status::unavailable("at 10.0.0.1")));
    let events = world.judge("read", "{}", &context()).await;
    let failure = settled(&events).failure.as_ref().unwrap();
    assert_eq!(failure.kind, "unavailable");
    assert!(!failure.message.contains("10.0.0.1"));
    assert_eq!(bad.judged(), 3);

    let _good = world.serve("b", tools, answers()).await;
    for _ in 0..5 {
        let events = world.judge("read", "{}", &context()).await;
        assert_eq!(kinds(&events), ["call.planned", "call.judged"]);
    }

    let world = World::new(Setting::default());
    let service = world.serve("a", vec![judging(tool("read", true, true))], answers()).await;
    service.set_opinion(|_| Err(Status::invalid_argument("no")));
    let events = world.judge("read", "{}", &context()).await;
    assert_eq!(settled(&events).failure.as_ref().unwrap().kind, "invalid_arguments");
    assert_eq!(service.judged(), 1);
}

#[tokio::test]
async fn rules_that_take_an_effect_away_reach_the_service() {
    let rule = |tool: &str, effect, verdict| policy::Rule {
        tool: tool.to_owned(),
        effect,
        ..policy::Rule::of(verdict)
    };
    let rules = vec![
        rule("", Some(policy::Effect::Write), Verdict::Block),
        rule("run", None, Verdict::Allow),
    ];
    let world = World::new(Setting { policy: policy::Config { rules }, ..Setting::default() });
    let mut run = judging(tool("run", false, false));
    run.effects = vec![wire::Effect::Write.into(), wire::Effect::Execute.into()];
    run.removable_effects = vec![wire::Effect::Write.into()];
    let service = world.serve("a", vec![run], answers()).await;
    service.set_opinion(|call| {
        assert_eq!(call.denied_effects, [i32::from(wire::Effect::Write)]);
        Ok(says(WireVerdict::Allow(wire::Allow {})))
    });
    let events = world.judge("run", "{}", &context()).await;
    assert_eq!(judged(&events).denied_effects, ["write"]);
    let Event::CallPlanned(planned) = &events[0] else { unreachable!() };
    let call = Runnable {
        planned: planned.clone(),
        denied_effects: judged(&events).denied_effects.clone(),
        ..Runnable::default()
    };
    assert_eq!(world.run(&call, &context()).await.settled().content, "done");
    assert_eq!(
        service.seen()[0].call.as_ref().unwrap().denied_effects,
        [i32::from(wire::Effect::Write)]
    );
}

#[tokio::test]
async fn an_effect_that_this_version_does_not_know_is_not_forgotten() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    let call = world.runnable("write", "{}").await;
    let call = Runnable { denied_effects: vec!["teleport".to_owned()], ..call };
    let ran = world.run(&call, &context()).await;
    assert_eq!(ran.settled().status, CallStatus::Failed);
    assert!(service.seen().is_empty());
}

#[tokio::test]
async fn calls_over_the_limit_wait_within_their_deadline() {
    let config = Config { concurrency_changing: 1, ..Config::default() };
    let world = World::new(Setting { config, ..Setting::default() });
    let script: Script = std::sync::Arc::new(|_, request| {
        vec![Act::Wait(Duration::from_millis(200)), output(request, "done")]
    });
    let service = world.serve("a", tools(), script).await;
    let call = world.runnable("write", "{}").await;
    let short = CallContext { remaining: Duration::from_millis(150), ..context() };
    let context = context();
    let (first, second, third) = tokio::join!(
        world.run(&call, &context),
        world.run(&call, &context),
        world.run(&call, &short),
    );
    assert_eq!((first.settled().status, second.settled().status), (CallStatus::Ok, CallStatus::Ok));
    let failure = third.settled().failure.as_ref().unwrap();
    assert_eq!(failure.kind, "rate_limited");
    assert!(third.lines().is_empty(), "nothing was sent");
    // One waited while the other one worked, the third one until its time was over.
    let waited = first.settled().waited_ms.max(second.settled().waited_ms);
    assert!(waited >= 150 && third.settled().waited_ms >= 50, "{waited}");
    assert_eq!(service.seen().len(), 2);
}

#[tokio::test]
async fn a_tool_that_changed_since_it_was_planned_is_not_called() {
    let world = World::new(Setting::default());
    let first = world.serve("a", tools(), answers()).await;
    let call = world.runnable("read", "{}").await;
    world.told.remove("a");
    drop(first);
    let mut changed = tools();
    changed[0].description = "Does something else now.".to_owned();
    let second = world.serve("b", changed, answers()).await;
    world.until(|view| view.instances_of(TEAM, "service").len() == 1).await;
    let ran = world.run(&call, &context()).await;
    let settled = ran.settled();
    assert_eq!(settled.failure.as_ref().unwrap().kind, "conflict", "{}", settled.content);
    assert!(settled.content.contains("call it again as it is now"), "{}", settled.content);
    assert!(second.seen().is_empty());
}

#[tokio::test]
async fn a_service_that_is_gone_is_named_and_its_tools_are_not_invented() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    world.told.remove("a");
    drop(service);
    world.until(|view| view.instances_of(TEAM, "service").is_empty()).await;
    let events = world.judge("read", "{}", &context()).await;
    let failure = settled(&events).failure.as_ref().unwrap();
    assert_eq!(failure.kind, "unavailable");
    assert_eq!(
        failure.message,
        "`read` cannot be called now: no instance of its service is alive."
    );
}

#[tokio::test]
async fn tools_of_our_own_walk_the_same_path() {
    let world = World::new(Setting::default());
    let script: Script = std::sync::Arc::new(|_, request| {
        vec![output(request, &format!("{}end", "漢字 line\n".repeat(3_000)))]
    });
    let _service = world.serve("a", tools(), script).await;
    let call = world.runnable("read", "{}").await;
    let ran = world.run(&call, &context()).await;
    let id = ran.settled().artifact.clone();

    // Page after page, the whole result comes out again.
    let whole = format!("{}end", "漢字 line\n".repeat(3_000));
    let (mut offset, mut read) = (0, String::new());
    loop {
        let arguments = format!("{{\"id\": \"{id}\", \"offset\": {offset}}}");
        let call = world.runnable(builtin::READ_ARTIFACT, &arguments).await;
        assert_eq!(call.planned.service, "callboard");
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.lines(), ["1 started callboard", "1 answered"]);
        let settled = ran.settled();
        assert_eq!(settled.artifact, "", "a page is not kept again");
        let (page, rest) = settled.content.rsplit_once('\n').unwrap();
        read.push_str(page);
        let Some((_, next)) = rest.split_once("\"offset\": ") else {
            assert!(rest.ends_with(": this is the end.]"), "{rest}");
            break;
        };
        offset = next.trim_end_matches("}.]").parse().unwrap();
    }
    assert_eq!(read, whole);

    for (arguments, words) in [
        ("{\"id\": \"artifact99\"}".to_owned(), "no such artifact"),
        (format!("{{\"id\": \"{id}\", \"offset\": 99999999}}"), "nothing at offset 99999999"),
    ] {
        let call = world.runnable(builtin::READ_ARTIFACT, &arguments).await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().failure.as_ref().unwrap().kind, "not_found");
        assert!(ran.settled().content.contains(words), "{}", ran.settled().content);
    }
    let mut elsewhere = context();
    elsewhere.team = "red".to_owned();
    let call = world.runnable(builtin::READ_ARTIFACT, &format!("{{\"id\": \"{id}\"}}")).await;
    let ran = world.run(&call, &elsewhere).await;
    assert_eq!(ran.settled().failure.as_ref().unwrap().kind, "not_found", "another team has none");
}

#[tokio::test]
async fn a_page_in_the_middle_of_a_character_begins_and_ends_with_whole_ones() {
    let world = World::new(Setting::default());
    let kept = world.kept.put(TEAM, &context().session, "a漢字b".into()).await.unwrap();
    for (offset, page) in
        [(0, "a漢字b"), (1, "漢字b"), (2, "字b"), (3, "字b"), (4, "字b"), (7, "b")]
    {
        let arguments = format!("{{\"id\": \"{kept}\", \"offset\": {offset}}}");
        let call = world.runnable(builtin::READ_ARTIFACT, &arguments).await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().content.lines().next().unwrap(), page, "{offset}");
    }
    // Bytes that are no text are shown as such, and every page gets further.
    let kept = world
        .kept
        .put(TEAM, &context().session, bytes::Bytes::from_static(b"\xFF\xFEok"))
        .await
        .unwrap();
    let call = world.runnable(builtin::READ_ARTIFACT, &format!("{{\"id\": \"{kept}\"}}")).await;
    let content = world.run(&call, &context()).await.settled().content.clone();
    assert!(content.contains("\u{fffd}") && content.contains("ok"), "{content}");
}

#[tokio::test]
async fn a_page_of_an_untrusted_result_is_untrusted() {
    let world = World::new(Setting::default());
    let mut fetch = tool("fetch", true, true);
    fetch.annotations =
        Some(wire::Annotations { read_only: true, open_world: true, ..Default::default() });
    let script: Script =
        std::sync::Arc::new(|_, request| vec![output(request, &"evil ".repeat(1_000))]);
    let _service = world.serve("a", vec![fetch], script).await;
    let call = world.runnable("fetch", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert!(ran.settled().untrusted);
    let id = &ran.settled().artifact;
    for offset in [0, 2_000] {
        let arguments = format!("{{\"id\": \"{id}\", \"offset\": {offset}}}");
        let call = world.runnable(builtin::READ_ARTIFACT, &arguments).await;
        let page = world.run(&call, &context()).await;
        assert!(page.settled().untrusted);
        assert!(
            page.settled().content.starts_with("[untrusted text "),
            "{}",
            page.settled().content
        );
    }
}

#[tokio::test]
async fn further_tools_are_found_and_offered_next_time() {
    let world = World::new(Setting::default());
    let mut convert = tool("convert_currency", true, true);
    convert.description = "Converts money between currencies. 货币换算。".to_owned();
    let _service = world.serve("a", vec![convert, tool("read", true, true)], answers()).await;
    for query in ["exchange money between currencies", "换算货币"] {
        let call = world
            .runnable(builtin::FIND_TOOLS, &serde_json::json!({ "query": query }).to_string())
            .await;
        let ran = world.run(&call, &context()).await;
        let settled = ran.settled();
        assert!(
            settled.content.starts_with("- convert_currency: Converts money"),
            "{}",
            settled.content
        );
        assert_eq!(builtin::find::found(&settled.structured)[0], "convert_currency");
    }
    let call = world.runnable(builtin::FIND_TOOLS, r#"{"query":"zzzz"}"#).await;
    let ran = world.run(&call, &context()).await;
    assert!(ran.settled().content.starts_with("No tool does that."));
    assert_eq!(builtin::find::found("{\"other\":1}"), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_is_no_longer_wanted_is_ended_at_its_instance() {
    let cancelled = wire::Failure {
        kind: wire::FailureKind::Cancelled.into(),
        message: "stopped after 1 of 3 files".to_owned(),
        ..Default::default()
    };
    let end = cancelled.clone();
    let rows: Vec<(Script, &str, CallStatus)> = vec![
        (
            std::sync::Arc::new(move |_, _| {
                vec![output_of(CALL, wire::outcome::Result::Failure(end.clone()))]
            }),
            "write",
            CallStatus::Cancelled,
        ),
        (
            std::sync::Arc::new(|_, request| vec![output(request, "it was done already")]),
            "write",
            CallStatus::Ok,
        ),
        (
            std::sync::Arc::new(|_, _| {
                vec![refusal(tonic::Code::NotFound, callboard_proto::reason::UNKNOWN_CALL)]
            }),
            "write",
            CallStatus::Cancelled,
        ),
        (
            std::sync::Arc::new(|_, _| vec![Act::Fail(Status::unavailable("gone"))]),
            "write",
            CallStatus::OutcomeUnknown,
        ),
        (
            std::sync::Arc::new(|_, _| vec![Act::Fail(Status::unavailable("gone"))]),
            "read",
            CallStatus::Cancelled,
        ),
    ];
    for (nth, (script, tool, status)) in rows.into_iter().enumerate() {
        let world = World::new(Setting::default());
        let service = world.serve("a", tools(), script).await;
        let open = AttemptStarted {
            call_id: CALL.into(),
            attempt: 1,
            instance: "a".to_owned(),
            incarnation: "incarnation-of-a".to_owned(),
            ..AttemptStarted::default()
        };
        let call = Runnable { attempts: 1, resume: Some(open), ..world.runnable(tool, "{}").await };
        let (mailbox, mut heard) = mpsc::channel(8);
        let recorder = Recorder::new(mailbox);
        let settled = world.path.stop(&call, &context(), &recorder).await.unwrap();
        assert_eq!(settled.status, status, "{nth}: {}", settled.content);
        assert_eq!(service.cancelled().len(), 1);
        assert_eq!(service.cancelled()[0].call_id, CALL);
        assert_eq!(service.modes(), ["attach"], "{nth}");
        let ended = heard.recv().await.unwrap().event;
        assert_eq!(ended.kind(), "attempt.ended", "{nth}");
    }
}

#[tokio::test]
async fn a_call_that_never_began_is_cancelled_at_once() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    let call = world.runnable("write", "{}").await;
    let (mailbox, _heard) = mpsc::channel(8);
    let settled = world.path.stop(&call, &context(), &Recorder::new(mailbox)).await.unwrap();
    assert_eq!(settled.status, CallStatus::Cancelled);
    assert!(service.cancelled().is_empty() && service.seen().is_empty());
}
