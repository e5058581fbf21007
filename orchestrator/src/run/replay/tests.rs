//! Recorded stories, replayed as they are and with one thing changed.

use super::*;
use crate::run::{event::*, ids::RunId};

/// The snapshot of every run here.
fn started(max_steps: u32) -> RunStarted {
    RunStarted {
        run: "r".into(),
        agent: "default".to_owned(),
        models: vec!["m".to_owned()],
        limits: Limits {
            max_steps,
            max_calls: 8,
            max_parallel: 2,
            max_time_ms: 60_000,
            max_tokens: 0,
        },
        system_prompt: "Be brief.".to_owned(),
        context_tokens: 8_000,
    }
}

/// A run of one call, recorded as the actor would: what follows from the state is taken from it.
fn story(snapshot: &RunStarted) -> Vec<Recorded> {
    let mut session = Session::default();
    let mut journal = Vec::new();
    let mut record = |session: &mut Session, event| {
        let seq = session.last_seq + 1;
        let recorded =
            Recorded { seq, wall_ms: 0, elapsed_ms: seq, trace_context: String::new(), event };
        session.apply(&recorded).unwrap();
        journal.push(recorded);
    };
    record(&mut session, Event::SessionOpened(SessionOpened::default()));
    let input = Input::Text("what is it?".to_owned());
    record(
        &mut session,
        Event::InputReceived(InputReceived { run: "r".into(), input, ..Default::default() }),
    );
    record(&mut session, Event::RunStarted(snapshot.clone()));
    for request in 1..=2 {
        let prompt_digest = context::digest(&context::build(&session, 0));
        let run = RunId::from("r");
        record(
            &mut session,
            Event::ModelRequested(ModelRequested {
                run: run.clone(),
                request,
                prompt_digest,
                ..Default::default()
            }),
        );
        let wanted = WantedCall { call_id: "c".into(), name: "t".to_owned(), ..Default::default() };
        let (calls, text) =
            if request == 1 { (vec![wanted], "") } else { (Vec::new(), "It is this.") };
        let text = text.to_owned();
        record(
            &mut session,
            Event::ModelReplied(ModelReplied { run, request, text, calls, ..Default::default() }),
        );
        if request == 1 {
            let call_id = CallId::from("c");
            let planned = CallPlanned { call_id: call_id.clone(), ..Default::default() };
            record(&mut session, Event::CallPlanned(planned));
            let judged = CallJudged { call_id: call_id.clone(), ..Default::default() };
            record(&mut session, Event::CallJudged(judged));
            let settled = CallSettled { call_id, content: "this".to_owned(), ..Default::default() };
            record(&mut session, Event::CallSettled(settled));
        }
    }
    while let [Effect::Record(event)] = &session.next()[..] {
        let event = event.clone();
        record(&mut session, event);
    }
    assert!(session.is_idle());
    journal
}

fn replay(journal: &[Recorded], now: &RunStarted) -> Result<(), Divergence> {
    let mut replay = Replay::default();
    journal.iter().try_for_each(|recorded| replay.step(recorded, |_, _| now.clone()))
}

#[test]
fn a_recorded_session_replays_the_same() {
    assert_eq!(replay(&story(&started(4)), &started(4)), Ok(()));
}

#[test]
fn a_changed_step_limit_is_found_where_the_run_starts() {
    let found = replay(&story(&started(4)), &started(1)).unwrap_err();
    let said =
        (found.seq, found.kind, found.what.as_str(), found.then.as_str(), found.now.as_str());
    assert_eq!(said, (3, "run.started", "max_steps", "4", "1"));
}

#[test]
fn a_changed_prompt_is_found_where_the_run_starts() {
    let now = RunStarted { system_prompt: "Be very brief.".to_owned(), ..started(4) };
    let found = replay(&story(&started(4)), &now).unwrap_err();
    assert_eq!((found.seq, found.what.as_str()), (3, "system_prompt"));
}

#[test]
fn a_context_that_is_built_otherwise_is_found_at_its_request() {
    let mut journal = story(&started(4));
    let Event::ModelRequested(asked) = &mut journal[8].event else { panic!("not the request") };
    asked.prompt_digest = "another".to_owned();
    let found = replay(&journal, &started(4)).unwrap_err();
    assert_eq!((found.seq, found.what.as_str()), (9, "the prompt's digest"));
}

#[test]
fn an_end_that_this_code_would_not_write_is_found() {
    let mut journal = story(&started(4));
    let Event::RunEnded(ended) = &mut journal.last_mut().unwrap().event else { panic!("no end") };
    ended.status = RunStatus::Failed;
    let found = replay(&journal, &started(4)).unwrap_err();
    assert_eq!(found.then, "run.ended (failed: It is this.)");
    assert_eq!(found.now, "run.ended (completed: It is this.)");
}

#[test]
fn a_call_that_this_code_would_not_make_is_found() {
    let mut journal = story(&started(4));
    journal.truncate(5);
    let started = AttemptStarted { call_id: "c".into(), ..AttemptStarted::default() };
    journal.push(Recorded {
        seq: 6,
        wall_ms: 0,
        elapsed_ms: 6,
        trace_context: String::new(),
        event: Event::AttemptStarted(started),
    });
    let found = replay(&journal, &super::tests::started(4)).unwrap_err();
    assert_eq!((found.seq, found.now.as_str()), (6, "call c is judged"));
}
