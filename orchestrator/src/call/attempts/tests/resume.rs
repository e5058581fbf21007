//! What became of an attempt whose answer was lost: attach first, never start blindly.

use super::*;

fn resumed(call: Runnable, instance: &str) -> Runnable {
    Runnable { attempts: 1, resume: Some(started(instance, 1)), ..call }
}

#[tokio::test]
async fn a_lost_answer_is_fetched_and_the_call_not_repeated() {
    for tool in ["repeat", "write"] {
        let world = world();
        let service = world
            .serve(
                "a",
                tools(),
                script(|request| {
                    vec![
                        vec![Act::Fail(Status::unavailable("gone"))],
                        vec![output(request, "the first outcome")],
                    ]
                }),
            )
            .await;
        let call = world.runnable(tool, "{}").await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().content, "the first outcome");
        assert_eq!(service.modes(), ["start", "attach"], "{tool}");
        assert_eq!(ran.lines(), ["1 started a", "1 answered"], "one attempt, asked about twice");
    }
}

#[tokio::test]
async fn an_open_attempt_of_an_earlier_owner_is_attached_to_first() {
    for tool in ["read", "repeat", "write"] {
        let world = world();
        let service = world.serve("a", tools(), answers("found")).await;
        let call = resumed(world.runnable(tool, "{}").await, "a");
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().content, "found");
        assert_eq!(service.modes(), ["attach"], "{tool}");
        assert_eq!(ran.lines(), ["1 answered"], "{tool}");
    }
}

#[tokio::test]
async fn a_call_that_never_arrived_is_started_where_it_would_be_known() {
    for tool in ["read", "repeat", "write"] {
        let world = world();
        let service = world
            .serve(
                "a",
                tools(),
                script(|request| {
                    vec![
                        vec![refusal(Code::NotFound, reason::UNKNOWN_CALL)],
                        vec![output(request, "started")],
                    ]
                }),
            )
            .await;
        let call = resumed(world.runnable(tool, "{}").await, "a");
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().content, "started");
        assert_eq!(service.modes(), ["attach", "start"], "{tool}");
        assert_eq!(ran.lines(), ["1 not_sent", "2 started a", "2 answered"], "{tool}");
    }
}

#[tokio::test]
async fn a_change_is_not_started_again_once_its_incarnation_is_gone() {
    let world = world();
    let other = world.serve("b", tools(), answers("again")).await;
    for (tool, status, content) in [
        ("read", CallStatus::Ok, Some("again")),
        ("repeat", CallStatus::Ok, Some("again")),
        ("write", CallStatus::OutcomeUnknown, None),
    ] {
        let call = resumed(world.runnable(tool, "{}").await, "a");
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().status, status, "{tool}: {}", ran.settled().content);
        if let Some(content) = content {
            assert_eq!(ran.settled().content, content);
        }
        assert_eq!(ran.lines()[0], "1 unanswered", "{tool}");
    }
    assert_eq!(other.modes(), ["start", "start"], "the change was not among them");
}

#[tokio::test]
async fn an_instance_with_the_same_store_knows_the_call() {
    let world = world();
    let heir = world.serve("b", tools(), answers("remembered")).await;
    world.told.change("b", |instance| instance.store = "disk".to_owned());
    world
        .until(|view| view.instances_of("blue", "service").iter().any(|one| one.store == "disk"))
        .await;
    let call = world.runnable("write", "{}").await;
    let open = AttemptStarted { store: "disk".to_owned(), ..started("a", 1) };
    let call = Runnable { attempts: 1, resume: Some(open), ..call };
    let ran = world.run(&call, &context()).await;
    assert_eq!(ran.settled().content, "remembered");
    assert_eq!(heir.modes(), ["attach"]);
    assert_eq!(heir.seen()[0].call.as_ref().unwrap().incarnation, "incarnation-of-b");
}

#[tokio::test]
async fn an_outcome_that_is_no_longer_held_is_unknown_for_a_change() {
    for (tool, status) in [
        ("read", CallStatus::Ok),
        ("repeat", CallStatus::Ok),
        ("write", CallStatus::OutcomeUnknown),
    ] {
        let world = world();
        let service = world
            .serve(
                "a",
                tools(),
                script(|request| {
                    vec![
                        vec![refusal(Code::DataLoss, reason::OUTCOME_GONE)],
                        vec![output(request, "once more")],
                    ]
                }),
            )
            .await;
        let call = resumed(world.runnable(tool, "{}").await, "a");
        assert_eq!(world.run(&call, &context()).await.settled().status, status, "{tool}");
        assert_eq!(service.modes().len(), if tool == "write" { 1 } else { 2 }, "{tool}");
    }
}

#[tokio::test]
async fn a_service_that_died_in_the_middle_of_a_change_leaves_it_unknown() {
    let world = Arc::new(world());
    let service = world.serve("a", tools(), script(|_| vec![vec![Act::Die]])).await;
    let call = world.runnable("write", "{}").await;
    let running = {
        let (world, call) = (Arc::clone(&world), call.clone());
        tokio::spawn(async move { world.run(&call, &context()).await })
    };
    while service.modes().is_empty() {
        tokio::task::yield_now().await;
    }
    world.told.remove("a");
    let ran = running.await.unwrap();
    let settled = ran.settled();
    assert_eq!(settled.status, CallStatus::OutcomeUnknown);
    assert_eq!(ran.lines(), ["1 started a", "1 unanswered"]);
    let (first, rest) = settled.content.split_once('\n').unwrap();
    let first: serde_json::Value = serde_json::from_str(first).unwrap();
    assert_eq!(first["status"], "outcome_unknown");
    assert_eq!(first["tool"], "write");
    assert_eq!(first["call_id"], call.planned.call_id.as_str());
    assert!(first["started_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{first}");
    assert!(
        rest.contains(
            "It may or may not have taken effect. It will not be repeated automatically."
        ),
        "{rest}"
    );
}

#[tokio::test]
async fn a_change_that_may_have_begun_is_never_started_elsewhere_later() {
    // The first place lost the call, says so, and is then full: nobody else may start it.
    let world = world();
    let place = world
        .serve(
            "a",
            tools(),
            script(|_| {
                vec![
                    vec![refusal(Code::NotFound, reason::UNKNOWN_CALL)],
                    vec![refusal(Code::ResourceExhausted, reason::NOT_ADMITTED)],
                ]
            }),
        )
        .await;
    let other = world.serve("b", tools(), answers("twice")).await;
    let call = resumed(world.runnable("write", "{}").await, "a");
    let ran = world.run(&call, &context()).await;
    assert_eq!(ran.settled().status, CallStatus::OutcomeUnknown);
    assert!(place.modes().len() >= 2);
    assert_eq!(other.modes(), Vec::<&str>::new());
}

#[tokio::test]
async fn a_stale_owner_learns_it_when_it_attaches() {
    let world = world();
    let _service = world
        .serve(
            "a",
            tools(),
            script(|_| vec![vec![refusal(Code::FailedPrecondition, reason::STALE_OWNER)]]),
        )
        .await;
    let call = resumed(world.runnable("write", "{}").await, "a");
    assert_eq!(world.run(&call, &context()).await.settled, Err(Abandoned::Fenced));
}
