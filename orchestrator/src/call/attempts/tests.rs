use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use callboard_proto::reason;
use callboard_proto::tool as wire;
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::call::testing::{
    Act, Script, Setting, World, context, output, output_of, refusal, tools,
};
use crate::call::{Abandoned, Config, Runnable};
use crate::run::event::{AttemptStarted, AttemptStatus, CallStatus, Event};

mod garbage;
mod ledger;
mod resume;

/// A script from what is done with the first call, the second, …; the last one for all later.
fn script(acts: impl Fn(&wire::InvokeRequest) -> Vec<Vec<Act>> + Send + Sync + 'static) -> Script {
    Arc::new(move |nth, request| {
        let acts = acts(request);
        acts[nth.min(acts.len() - 1)].clone()
    })
}

fn answers(content: &'static str) -> Script {
    script(move |request| vec![vec![output(request, content)]])
}

fn refuses(code: Code) -> Script {
    script(move |_| vec![vec![Act::Fail(Status::new(code, "at 10.0.0.1:99"))]])
}

fn world() -> World {
    World::new(Setting::default())
}

/// Words of an outcome: status and kind of failure.
fn words(ran: &crate::call::testing::Ran) -> (CallStatus, String) {
    let settled = ran.settled();
    let kind = settled.failure.as_ref().map(|failure| failure.kind.clone()).unwrap_or_default();
    (settled.status, kind)
}

#[tokio::test]
async fn a_call_is_recorded_sent_and_answered() {
    let world = world();
    let progress = wire::Progress { message: "half".to_owned(), fraction: Some(0.5) };
    let pieces = [
        wire::invoke_response::Piece::Progress(progress),
        wire::invoke_response::Piece::Chunk("part".to_owned()),
    ];
    let service = world
        .serve(
            "a",
            tools(),
            script(move |request| {
                let mut acts: Vec<Act> = pieces
                    .iter()
                    .map(|piece| Act::Send(wire::InvokeResponse { piece: Some(piece.clone()) }))
                    .collect();
                acts.push(output(request, "42"));
                vec![acts]
            }),
        )
        .await;
    let call = world.runnable("write", "{\"x\": 1}").await;
    let call =
        Runnable { approved_preview: "p".into(), denied_effects: vec!["network".into()], ..call };
    let ran = world.run(&call, &context()).await;
    assert_eq!(ran.settled().status, CallStatus::Ok);
    assert_eq!(ran.settled().content, "42");
    assert_eq!(ran.lines(), ["1 started a", "1 answered"]);
    assert!(ran.events[0].1, "a change waits for its attempt to be durable");
    assert_eq!(ran.pieces.len(), 2);

    let seen = service.seen().remove(0);
    assert_eq!(seen.mode(), wire::InvokeMode::Start);
    let sent = seen.call.unwrap();
    assert_eq!(sent.call_id, call.planned.call_id.as_str());
    assert_eq!((sent.deployment.as_str(), sent.partition, sent.attempt), ("test", 7, 1));
    assert_eq!(sent.epoch, Some(wire::Epoch { generation: 1, revision: 42 }));
    assert_eq!(sent.incarnation, "incarnation-of-a");
    assert_eq!((sent.team.as_str(), sent.workspace.as_str()), ("blue", "w"));
    assert_eq!(sent.arguments, "{\"x\":1}");
    assert_eq!(sent.approved_preview, "p");
    assert_eq!(sent.denied_effects, [i32::from(wire::Effect::Network)]);
    // 15 s of the tool, told to the service as gRPC has it.
    let timeout = service.timeouts().remove(0);
    assert!(timeout.ends_with(['m', 'u', 'n']), "{timeout}");
}

#[tokio::test]
async fn reading_waits_for_no_journal_unless_somebody_else_may_own_the_session() {
    let world = world();
    let _service = world.serve("a", tools(), answers("x")).await;
    let call = world.runnable("read", "{}").await;
    assert!(!world.run(&call, &context()).await.events[0].1);
    let repeat = world.runnable("repeat", "{}").await;
    assert!(world.run(&repeat, &context()).await.events[0].1);
    world.told.is_unconfirmed.store(true, Ordering::SeqCst);
    assert!(world.run(&call, &context()).await.events[0].1);
}

#[tokio::test]
async fn a_session_actor_that_is_gone_stops_the_call_before_it_is_sent() {
    let world = world();
    let service = world.serve("a", tools(), answers("x")).await;
    let call = world.runnable("write", "{}").await;
    let (mailbox, mut heard) = tokio::sync::mpsc::channel(1);
    let (progress, _shown) = tokio::sync::mpsc::channel(1);
    let recorder = crate::call::Recorder::new(mailbox);
    let context = context();
    let run = world.path.run(&call, &context, &recorder, progress.clone());
    // The record is taken, and never becomes durable.
    let (settled, ()) = tokio::join!(run, async { drop(heard.recv().await) });
    assert_eq!(settled, Err(Abandoned::Closed));
    drop(heard);
    let call = world.runnable("read", "{}").await;
    let settled = world.path.run(&call, &context, &recorder, progress).await;
    assert_eq!(settled, Err(Abandoned::Closed));
    assert_eq!(service.modes(), Vec::<&str>::new());
}

#[tokio::test]
async fn reading_is_retried_at_another_instance_and_says_how_often() {
    for code in [
        Code::Unavailable,
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::Aborted,
        Code::Internal,
        Code::Unknown,
        Code::ResourceExhausted,
    ] {
        let world = world();
        let bad = world.serve("a", tools(), refuses(code)).await;
        let good = world.serve("b", tools(), answers("fine")).await;
        let call = world.runnable("read", "{}").await;
        let mut retried = false;
        for _ in 0..20 {
            let ran = world.run(&call, &context()).await;
            assert_eq!(ran.settled().content, "fine", "{code:?}: {:?}", ran.lines());
            if ran.lines().len() > 2 {
                let ended = ran.lines()[1].clone();
                let ends = if code == Code::Aborted || code == Code::ResourceExhausted {
                    "1 refused"
                } else {
                    "1 unanswered"
                };
                assert_eq!(ended, ends, "{code:?}");
                assert_eq!(ran.lines()[2..], ["2 started b", "2 answered"]);
                retried = true;
                break;
            }
        }
        assert!(retried, "{code:?}: never met the bad instance");
        assert!(bad.modes().iter().chain(&good.modes()).all(|mode| *mode == "start"));
    }
}

#[tokio::test]
async fn attempts_are_bounded_and_the_end_says_how_often_was_tried() {
    let world = world();
    let service = world.serve("a", tools(), refuses(Code::Unavailable)).await;
    let call = world.runnable("read", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "unavailable".to_owned()));
    assert_eq!(service.modes(), ["start", "start", "start"]);
    let settled = ran.settled();
    assert!(settled.content.ends_with("Tried 3 times."), "{}", settled.content);
    let failure = settled.failure.as_ref().unwrap();
    assert_eq!(
        failure.message,
        "the service `service` went away before it answered. Tried 3 times. `callboard status` \
         shows whether it runs."
    );
    let told = format!("{settled:?} {:?}", ran.events);
    assert!(!told.contains("10.0.0.1"), "{told}");
}

#[tokio::test]
async fn a_broken_answer_is_asked_for_once_more_and_no_further() {
    let world = world();
    let service = world.serve("a", tools(), refuses(Code::Internal)).await;
    let call = world.runnable("read", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "internal".to_owned()));
    assert_eq!(service.modes(), ["start", "start"]);
}

#[tokio::test]
async fn refusals_are_final_whatever_the_class() {
    for (code, kind) in [
        (Code::InvalidArgument, "invalid_arguments"),
        (Code::OutOfRange, "invalid_arguments"),
        (Code::NotFound, "not_found"),
        (Code::AlreadyExists, "conflict"),
        (Code::PermissionDenied, "permission_denied"),
        (Code::FailedPrecondition, "conflict"),
        (Code::Unimplemented, "internal"),
    ] {
        let world = world();
        let service = world.serve("a", tools(), refuses(code)).await;
        for tool in ["read", "repeat", "write"] {
            let call = world.runnable(tool, "{}").await;
            let ran = world.run(&call, &context()).await;
            assert_eq!(words(&ran), (CallStatus::Failed, kind.to_owned()), "{code:?} {tool}");
        }
        assert_eq!(service.modes(), ["start", "start", "start"], "{code:?}");
    }
}

#[tokio::test]
async fn refused_credentials_are_shown_once_more_only_where_that_is_harmless() {
    let world = world();
    let service = world.serve("a", tools(), refuses(Code::Unauthenticated)).await;
    for (tool, tries) in [("read", 2), ("repeat", 2), ("write", 1)] {
        let before = service.modes().len();
        let call = world.runnable(tool, "{}").await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(words(&ran), (CallStatus::Failed, "permission_denied".to_owned()), "{tool}");
        assert_eq!(service.modes().len() - before, tries, "{tool}");
    }
}

#[tokio::test]
async fn what_was_not_admitted_is_sent_elsewhere_whatever_the_class() {
    for tool in ["read", "repeat", "write"] {
        let world = world();
        let full = world
            .serve(
                "a",
                tools(),
                script(|_| vec![vec![refusal(Code::ResourceExhausted, reason::NOT_ADMITTED)]]),
            )
            .await;
        let _good = world.serve("b", tools(), answers("done")).await;
        let call = world.runnable(tool, "{}").await;
        for _ in 0..10 {
            let ran = world.run(&call, &context()).await;
            assert_eq!(ran.settled().content, "done", "{tool}: {:?}", ran.lines());
        }
        assert!(full.modes().iter().all(|mode| *mode == "start"));
    }
}

#[tokio::test]
async fn a_change_that_a_full_service_may_have_started_is_not_repeated() {
    let world = world();
    let service = world.serve("a", tools(), refuses(Code::ResourceExhausted)).await;
    let call = world.runnable("write", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "rate_limited".to_owned()));
    assert_eq!(service.modes(), ["start"]);
}

#[tokio::test]
async fn a_newer_owner_stops_the_call_and_nothing_is_settled() {
    let world = world();
    let service = world
        .serve(
            "a",
            tools(),
            script(|_| vec![vec![refusal(Code::FailedPrecondition, reason::STALE_OWNER)]]),
        )
        .await;
    for tool in ["read", "repeat", "write"] {
        let call = world.runnable(tool, "{}").await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled, Err(Abandoned::Fenced));
    }
    assert_eq!(service.modes().len(), 3);
}

#[tokio::test]
async fn failures_of_a_tool_are_final_unless_they_pass_and_it_changes_nothing_to_repeat() {
    for (kind, word, retried) in [
        (wire::FailureKind::NotFound, "not_found", false),
        (wire::FailureKind::Conflict, "conflict", false),
        (wire::FailureKind::Internal, "internal", false),
        (wire::FailureKind::Unspecified, "internal", false),
        (wire::FailureKind::Unavailable, "unavailable", true),
        (wire::FailureKind::Timeout, "timeout", true),
        (wire::FailureKind::RateLimited, "rate_limited", true),
    ] {
        for (tool, repeats) in [("read", true), ("repeat", true), ("write", false)] {
            let world = world();
            let service = world
                .serve(
                    "a",
                    tools(),
                    script(move |request| {
                        let failure = wire::Failure {
                            kind: kind.into(),
                            message: "not now".to_owned(),
                            ..Default::default()
                        };
                        let id = &request.call.as_ref().unwrap().call_id;
                        vec![vec![output_of(id, wire::outcome::Result::Failure(failure))]]
                    }),
                )
                .await;
            let call = world.runnable(tool, "{}").await;
            let ran = world.run(&call, &context()).await;
            assert_eq!(words(&ran), (CallStatus::Failed, word.to_owned()), "{kind:?} {tool}");
            let tries = if retried && repeats { 3 } else { 1 };
            assert_eq!(service.modes().len(), tries, "{kind:?} {tool}");
            assert!(ran.settled().content.starts_with(&format!("Failed ({word}): not now.")));
        }
    }
}

#[tokio::test]
async fn a_service_that_names_a_time_is_not_asked_before_it() {
    let world = world();
    let service = world
        .serve(
            "a",
            tools(),
            script(|request| {
                let id = &request.call.as_ref().unwrap().call_id;
                let failure = wire::Failure {
                    kind: wire::FailureKind::RateLimited.into(),
                    message: "busy".to_owned(),
                    retry_after_ms: 400,
                    ..Default::default()
                };
                vec![
                    vec![output_of(id, wire::outcome::Result::Failure(failure))],
                    vec![output(request, "now")],
                ]
            }),
        )
        .await;
    let call = world.runnable("read", "{}").await;
    let begun = Instant::now();
    let ran = world.run(&call, &context()).await;
    assert_eq!(ran.settled().content, "now");
    assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
    assert_eq!(service.modes().len(), 2);
}

#[tokio::test]
async fn a_service_that_wants_no_retry_gets_none() {
    let world = world();
    let service = world
        .serve(
            "a",
            tools(),
            script(|_| {
                let mut status = Status::unavailable("no");
                status.metadata_mut().insert("grpc-retry-pushback-ms", "-1".parse().unwrap());
                vec![vec![Act::Fail(status)]]
            }),
        )
        .await;
    let call = world.runnable("read", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "unavailable".to_owned()));
    assert_eq!(service.modes(), ["start"]);
}

#[tokio::test]
async fn a_preview_that_changed_is_said_and_nothing_is_retried() {
    let world = world();
    let service = world
        .serve(
            "a",
            tools(),
            script(|request| {
                let id = &request.call.as_ref().unwrap().call_id;
                let failure = wire::Failure {
                    kind: wire::FailureKind::PreviewChanged.into(),
                    preview: "rm -rf /".to_owned(),
                    ..Default::default()
                };
                vec![vec![output_of(id, wire::outcome::Result::Failure(failure))]]
            }),
        )
        .await;
    let call = world.runnable("write", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "conflict".to_owned()));
    assert!(ran.settled().content.contains("Call the tool again"), "{}", ran.settled().content);
    assert_eq!(service.modes(), ["start"]);
}

#[tokio::test]
async fn a_tool_that_hangs_holds_nobody_past_the_deadline() {
    for (tool, status, kind) in [
        ("read", CallStatus::Failed, "timeout"),
        ("repeat", CallStatus::OutcomeUnknown, "outcome_unknown"),
        ("write", CallStatus::OutcomeUnknown, "outcome_unknown"),
    ] {
        let world = world();
        let service = world.serve("a", tools(), script(|_| vec![vec![Act::Hang]])).await;
        let call = world.runnable(tool, "{}").await;
        let context =
            crate::call::CallContext { remaining: Duration::from_millis(350), ..context() };
        let begun = Instant::now();
        let ran = world.run(&call, &context).await;
        let took = begun.elapsed();
        assert_eq!(words(&ran), (status, kind.to_owned()), "{tool}");
        assert!(took >= Duration::from_millis(300), "{took:?}");
        assert_eq!(ran.lines(), ["1 started a", "1 unanswered"], "{tool}");
        assert_eq!(service.modes(), ["start"], "{tool}");
    }
}

#[tokio::test]
async fn no_attempt_begins_without_time() {
    let world = world();
    let service = world.serve("a", tools(), answers("x")).await;
    let call = world.runnable("write", "{}").await;
    let context = crate::call::CallContext { remaining: Duration::from_millis(20), ..context() };
    let ran = world.run(&call, &context).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "timeout".to_owned()));
    assert_eq!(ran.lines(), Vec::<String>::new());
    assert_eq!(service.modes(), Vec::<&str>::new());
}

#[tokio::test]
async fn what_cannot_be_reached_was_not_sent() {
    let world = world();
    let _service = world.serve("a", tools(), answers("x")).await;
    let call = world.runnable("write", "{}").await;
    moved_to_nowhere(&world).await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(words(&ran), (CallStatus::Failed, "unavailable".to_owned()));
    assert_eq!(
        ran.lines(),
        ["1 started a", "1 not_sent", "2 started a", "2 not_sent", "3 started a", "3 not_sent"]
    );
}

/// Discovery says that the only instance is one that listens nowhere.
async fn moved_to_nowhere(world: &World) {
    world.told.change("a", |instance| {
        instance.incarnation = "unreachable".to_owned();
        instance.address = "unix:/nowhere/at/all.sock".parse().unwrap();
    });
    world.until(|view| view.instances_of("blue", "service")[0].incarnation == "unreachable").await;
}

#[tokio::test]
async fn the_last_attempt_is_kept_for_who_comes_after_one_that_cannot_be_reached() {
    for tool in ["read", "repeat", "write"] {
        let world = Arc::new(world());
        let dead = world.serve("a", tools(), answers("never")).await;
        let call = world.runnable(tool, "{}").await;
        drop(dead);
        moved_to_nowhere(&world).await;
        let (mailbox, mut heard) = tokio::sync::mpsc::channel(64);
        let (progress, _shown) = tokio::sync::mpsc::channel(1);
        let running = {
            let (world, recorder) = (Arc::clone(&world), crate::call::Recorder::new(mailbox));
            tokio::spawn(
                async move { world.path.run(&call, &context(), &recorder, progress).await },
            )
        };
        for attempt in [1, 2] {
            assert_eq!(next_attempt(&mut heard).await, Some((attempt, None)), "{tool}");
            let ended = Some((attempt, Some(AttemptStatus::NotSent)));
            assert_eq!(next_attempt(&mut heard).await, ended, "{tool}");
        }
        // Longer than any pause between attempts.
        let third = tokio::time::timeout(Duration::from_millis(300), next_attempt(&mut heard));
        assert!(third.await.is_err(), "{tool}: nobody else is there yet");
        world.told.remove("a");
        world.until(|view| view.instances_of("blue", "service").is_empty()).await;
        let _next = world.serve("b", tools(), answers("alive")).await;
        assert_eq!(next_attempt(&mut heard).await, Some((3, None)), "{tool}");
        let ended = Some((3, Some(AttemptStatus::Answered)));
        assert_eq!(next_attempt(&mut heard).await, ended, "{tool}");
        assert_eq!(running.await.unwrap().unwrap().content, "alive", "{tool}");
    }
}

/// The next fact about an attempt, made durable at once: its number, and its end if it is that.
async fn next_attempt(
    heard: &mut tokio::sync::mpsc::Receiver<crate::call::Record>,
) -> Option<(u32, Option<AttemptStatus>)> {
    let record = heard.recv().await?;
    if let Some(durable) = record.durable {
        let _ = durable.send(());
    }
    match *record.event {
        Event::AttemptStarted(started) => Some((started.attempt, None)),
        Event::AttemptEnded(ended) => Some((ended.attempt, Some(ended.status))),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_service_that_died_is_replaced_by_another_instance() {
    let world = world();
    let dying = world.serve("a", tools(), script(|_| vec![vec![Act::Die]])).await;
    let call = world.runnable("read", "{}").await;
    let _other = world.serve("b", tools(), answers("alive")).await;
    for _ in 0..20 {
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().content, "alive", "{:?}", ran.lines());
    }
    assert!(dying.modes().len() <= 1, "a dead one gets no calls");
}

#[tokio::test]
async fn an_instance_that_keeps_failing_is_left_out_until_it_is_the_only_one() {
    let world = world();
    let bad = world.serve("a", tools(), refuses(Code::Unavailable)).await;
    let call = world.runnable("read", "{}").await;
    for _ in 0..2 {
        world.run(&call, &context()).await;
    }
    assert_eq!(bad.modes().len(), 6, "the last one is asked, ejected or not");
    let good = world.serve("b", tools(), answers("fine")).await;
    for _ in 0..30 {
        assert_eq!(world.run(&call, &context()).await.settled().content, "fine");
    }
    assert_eq!((bad.modes().len(), good.modes().len()), (6, 30));
}

#[tokio::test]
async fn the_balancer_moves_away_from_a_slow_instance() {
    let world = world();
    let slow: Script =
        Arc::new(|_, request| vec![Act::Wait(Duration::from_millis(60)), output(request, "slow")]);
    let slow = world.serve("a", tools(), slow).await;
    let _others = [
        world.serve("b", tools(), answers("fast")).await,
        world.serve("c", tools(), answers("fast")).await,
    ];
    let call = world.runnable("read", "{}").await;
    for _ in 0..60 {
        assert_eq!(world.run(&call, &context()).await.settled().status, CallStatus::Ok);
    }
    let share = slow.modes().len();
    assert!(share <= 6, "{share} of 60 calls went to the slow one");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_not_held_against_its_instance() {
    let world = world();
    let service = world.serve("a", tools(), script(|_| vec![vec![Act::Hang]])).await;
    let call = world.runnable("read", "{}").await;
    for _ in 0..6 {
        let context = context();
        let run = world.run(&call, &context);
        let before = service.modes().len();
        tokio::select! {
            _ = run => panic!("it hangs"),
            () = async { while service.modes().len() == before { tokio::task::yield_now().await } } => {}
        }
    }
    let snapshot = world.path.catalog().snapshot();
    let instance = &snapshot.instances_of("blue", "service")[0];
    assert_eq!(instance.in_flight(), 0);
    assert!(!instance.is_ejected(Instant::now()));
}

#[tokio::test]
async fn a_call_waits_a_moment_for_an_instance_that_is_coming() {
    let world = Arc::new(world());
    let first = world.serve("a", tools(), answers("old")).await;
    let call = world.runnable("read", "{}").await;
    world.told.change("a", |instance| instance.state = callboard_discovery::State::Draining);
    world
        .until(|view| {
            view.tool("blue", "read").is_some_and(|tool| {
                tool.instances.iter().all(|one| one.state == callboard_discovery::State::Draining)
            })
        })
        .await;
    let running = {
        let (world, call) = (Arc::clone(&world), call.clone());
        tokio::spawn(async move { world.run(&call, &context()).await.lines() })
    };
    let _second = world.serve("b", tools(), answers("new")).await;
    assert_eq!(running.await.unwrap(), ["1 started b", "1 answered"]);
    assert_eq!(first.modes(), Vec::<&str>::new());
}

#[tokio::test]
async fn only_instances_that_serve_the_workspace_are_asked() {
    let world = world();
    let other = world.serve("a", tools(), answers("there")).await;
    world.told.change("a", |instance| instance.workspaces = vec!["elsewhere".to_owned()]);
    let _right = world.serve("b", tools(), answers("here")).await;
    world.told.change("b", |instance| instance.workspaces = vec!["w".to_owned()]);
    world
        .until(|view| {
            view.instances_of("blue", "service").iter().all(|one| !one.workspaces.is_empty())
        })
        .await;
    let call = world.runnable("read", "{}").await;
    for _ in 0..10 {
        assert_eq!(world.run(&call, &context()).await.settled().content, "here");
    }
    assert_eq!(other.modes(), Vec::<&str>::new());
}

#[tokio::test]
async fn a_session_meets_the_same_instance_where_the_tool_wants_it() {
    let world = world();
    let mut bound = tools();
    bound[0].affinity = wire::Affinity::Session.into();
    let mut services = Vec::new();
    for id in ["a", "b", "c"] {
        services.push(world.serve(id, bound.clone(), answers("x")).await);
    }
    let call = world.runnable("read", "{}").await;
    for _ in 0..12 {
        world.run(&call, &context()).await;
    }
    let mut counts: Vec<usize> = services.iter().map(|service| service.modes().len()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [0, 0, 12]);
}

#[tokio::test]
async fn retries_of_a_service_in_trouble_are_a_fraction_of_its_calls() {
    let world = World::new(Setting {
        config: Config { max_attempts: 3, ..Config::default() },
        ..Setting::default()
    });
    let service = world
        .serve(
            "a",
            tools(),
            script(|_| vec![vec![refusal(Code::Unavailable, reason::NOT_ADMITTED)]]),
        )
        .await;
    let call = world.runnable("read", "{}").await;
    let context = context();
    let running: Vec<_> = (0..100).map(|_| world.run(&call, &context)).collect();
    futures_util::future::join_all(running).await;
    let met = service.modes().len();
    // A hundred calls, what was saved up (10), a tenth of them (10) and some for the time passed.
    assert!((100..=125).contains(&met), "met {met} times");
}

fn started(instance: &str, attempt: u32) -> AttemptStarted {
    AttemptStarted {
        call_id: crate::call::testing::CALL.into(),
        attempt,
        instance: instance.to_owned(),
        incarnation: format!("incarnation-of-{instance}"),
        store: String::new(),
        timeout_ms: 5_000,
    }
}

fn detail_of(ran: &crate::call::testing::Ran) -> String {
    let details = ran.events.iter().filter_map(|(event, _)| match event {
        Event::AttemptEnded(ended) => Some(ended.detail.clone()),
        _ => None,
    });
    details.collect::<Vec<_>>().join("; ")
}
