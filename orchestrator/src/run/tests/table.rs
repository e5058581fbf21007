//! Single stories, told event by event.

use crate::run::{
    effect::Effect,
    event::*,
    ids::{CallId, RunId},
    state::Session,
};

fn fold(events: Vec<Event>) -> Session {
    let mut session = Session::default();
    for (seq, event) in (1..).zip(events) {
        let recorded =
            Recorded { seq, wall_ms: 0, elapsed_ms: seq * 10, trace_context: String::new(), event };
        session.apply(&recorded).unwrap();
    }
    session
}

fn begin(input: Input, max_steps: u32) -> Vec<Event> {
    let run = RunId::from("r");
    let limits =
        Limits { max_steps, max_calls: 16, max_parallel: 2, max_time_ms: 1000, max_tokens: 0 };
    vec![
        Event::SessionOpened(SessionOpened::default()),
        Event::InputReceived(InputReceived { run: run.clone(), input, ..Default::default() }),
        Event::RunStarted(RunStarted { run, limits, ..Default::default() }),
    ]
}

fn chat(max_steps: u32) -> Vec<Event> {
    begin(Input::Text("hello".into()), max_steps)
}

fn reply(request: u32, text: &str, names: &[&str]) -> Event {
    let calls = names.iter().map(|name| WantedCall {
        call_id: format!("c{request}-{name}").as_str().into(),
        model_id: (*name).to_owned(),
        name: (*name).to_owned(),
        arguments: "{}".to_owned(),
    });
    Event::ModelReplied(ModelReplied {
        run: "r".into(),
        request,
        text: text.to_owned(),
        calls: calls.collect(),
        ..Default::default()
    })
}

fn settled(call: &str, status: CallStatus, content: &str) -> Event {
    Event::CallSettled(CallSettled {
        call_id: call.into(),
        status,
        content: content.to_owned(),
        ..Default::default()
    })
}

/// The end that the fold records next.
fn end(session: &Session) -> Option<(RunStatus, String, String)> {
    match &session.next()[..] {
        [Effect::Record(Event::RunEnded(ended))] => {
            Some((ended.status, ended.answer.clone(), ended.reason.clone()))
        }
        _ => None,
    }
}

fn with(mut events: Vec<Event>, more: impl IntoIterator<Item = Event>) -> Session {
    events.extend(more);
    fold(events)
}

#[test]
fn a_text_without_calls_is_the_answer() {
    let session = with(chat(4), [reply(1, " Hi. ", &[])]);
    assert_eq!(end(&session), Some((RunStatus::Completed, "Hi.".into(), String::new())));
}

#[test]
fn a_refused_call_decides_unless_a_later_one_succeeds() {
    for (last, expected, reason) in [
        (CallStatus::Denied, RunStatus::Denied, "denied"),
        (CallStatus::Blocked, RunStatus::Denied, "blocked"),
        (CallStatus::Ok, RunStatus::Completed, ""),
        (CallStatus::Failed, RunStatus::Denied, "denied"),
    ] {
        let session = with(
            chat(4),
            [
                reply(1, "", &["a", "b"]),
                settled("c1-a", CallStatus::Denied, "no"),
                settled("c1-b", last, "x"),
                reply(2, "Done what could be done.", &[]),
            ],
        );
        let end = end(&session).unwrap();
        assert_eq!((end.0, end.2.as_str()), (expected, reason), "{last:?}");
    }
}

#[test]
fn an_empty_reply_is_asked_again_once() {
    let once = with(chat(4), [reply(1, "", &[])]);
    assert!(matches!(once.next()[..], [Effect::CallModel { with_tools: true, .. }, _]));
    let twice = with(chat(4), [reply(1, "", &[]), reply(2, " ", &[])]);
    let (status, _, reason) = end(&twice).unwrap();
    assert_eq!((status, reason.as_str()), (RunStatus::Failed, "empty_reply"));
}

#[test]
fn the_step_limit_gives_one_last_word_without_tools() {
    let events = with(chat(1), [reply(1, "", &["a"]), settled("c1-a", CallStatus::Ok, "1")]);
    let [Effect::Record(Event::LimitHit(hit))] = &events.next()[..] else {
        unreachable!("{:?}", events.next())
    };
    assert_eq!(hit.limit, Limit::Steps);
    let mut events = chat(1);
    events.extend([
        reply(1, "", &["a"]),
        settled("c1-a", CallStatus::Ok, "1"),
        Event::LimitHit(hit.clone()),
    ]);
    let asked = fold(events.clone());
    assert_eq!(asked.next(), [Effect::CallModel { request: 1, with_tools: false }]);
    events.push(reply(2, "So far: 1.", &["a"]));
    let (status, answer, reason) = end(&fold(events)).unwrap();
    assert_eq!(status, RunStatus::LimitReached);
    assert_eq!((answer.as_str(), reason.as_str()), ("So far: 1.", "steps"));
}

#[test]
fn repeated_calls_with_the_same_results_are_told_then_stopped() {
    let mut events = chat(16);
    let mut told = None;
    for request in 1..=12 {
        events.push(reply(request, "", &["poll"]));
        events.push(settled(&format!("c{request}-poll"), CallStatus::Ok, "same"));
        let session = fold(events.clone());
        match &session.next()[..] {
            [Effect::Record(missed @ Event::ProgressMissed(_))] => {
                assert_eq!(told.replace(request), None, "told once");
                events.push(missed.clone());
            }
            [Effect::Record(Event::LimitHit(hit))] => {
                assert_eq!((hit.limit, told, request), (Limit::Progress, Some(3), 5));
                return;
            }
            other => assert!(matches!(other[0], Effect::CallModel { .. }), "{other:?}"),
        }
    }
    unreachable!("never stopped");
}

#[test]
fn polling_with_new_results_is_progress() {
    let mut events = chat(16);
    for request in 1..=12 {
        events.push(reply(request, "", &["poll"]));
        events.push(settled(&format!("c{request}-poll"), CallStatus::Ok, &request.to_string()));
        assert!(matches!(fold(events.clone()).next()[0], Effect::CallModel { .. }));
    }
}

#[test]
fn a_direct_call_ends_as_its_call_did() {
    for (status, expected) in [
        (CallStatus::Ok, RunStatus::Completed),
        (CallStatus::Failed, RunStatus::Failed),
        (CallStatus::Denied, RunStatus::Denied),
        (CallStatus::Blocked, RunStatus::Denied),
        (CallStatus::OutcomeUnknown, RunStatus::Failed),
    ] {
        let input = Input::Direct { tool: "t".into(), arguments: "{}".into() };
        let mut events = begin(input, 4);
        assert!(matches!(fold(events.clone()).next()[0], Effect::Judge(_)));
        events.push(settled("r", status, "out"));
        assert_eq!(end(&fold(events)).unwrap().0, expected, "{status:?}");
    }
}

#[test]
fn calls_beyond_the_bound_are_answered_not_made() {
    let names = "a b c d e f g h i j k l m n o p q".split(' ').collect::<Vec<_>>();
    let session = with(chat(4), [reply(1, "", &names)]);
    let [Effect::Record(Event::CallSettled(settled))] = &session.next()[..] else {
        unreachable!("{:?}", session.next())
    };
    assert_eq!((settled.call_id.as_str(), settled.status), ("c1-q", CallStatus::Failed));
}

#[test]
fn a_denial_repeats_what_the_person_said() {
    for (by, note, content) in [
        (
            "alice",
            "",
            "`run_it` was not run: a person denied it. Do not try the same again; ask what they want.",
        ),
        (
            "alice",
            "use the other one",
            "`run_it` was not run: a person denied it and said: use the other one.",
        ),
        ("alice", "不行！", "`run_it` was not run: a person denied it and said: 不行！"),
        ("timeout", "", "`run_it` was not run: nobody decided in time."),
        ("nobody", "nobody is there", "nobody is there."),
    ] {
        let call_id = CallId::from("c1-run_it");
        let mut events = chat(3);
        events.extend([
            Event::ModelRequested(ModelRequested {
                run: "r".into(),
                request: 1,
                ..Default::default()
            }),
            reply(1, "", &["run_it"]),
            Event::CallPlanned(CallPlanned {
                call_id: call_id.clone(),
                tool: "run_it".to_owned(),
                ..Default::default()
            }),
            Event::CallJudged(CallJudged {
                call_id: call_id.clone(),
                verdict: Verdict::Ask,
                ..Default::default()
            }),
            Event::ApprovalAsked(ApprovalAsked { call_id: call_id.clone(), ..Default::default() }),
            Event::ApprovalDecided(ApprovalDecided {
                call_id,
                by: by.to_owned(),
                note: note.to_owned(),
                ..Default::default()
            }),
        ]);
        let next = fold(events).next();
        let [Effect::Record(Event::CallSettled(settled))] = &next[..] else {
            panic!("{by}: {next:?}");
        };
        assert_eq!((settled.status, settled.content.as_str()), (CallStatus::Denied, content));
    }
}
