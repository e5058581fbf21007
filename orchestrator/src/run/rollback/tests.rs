//! Which calls a rollback means, and what the model reads of one that was taken back.

use crate::run::{
    context::{self, Message},
    event::*,
    state::Session,
};

use super::{Nothing, What};

/// A session of one run, in which each reply asks for these calls.
struct Story {
    session: Session,
    runs: u32,
}

impl Story {
    fn new() -> Self {
        let mut story = Self { session: Session::default(), runs: 0 };
        story.record(Event::SessionOpened(SessionOpened::default()));
        story
    }

    fn record(&mut self, event: Event) {
        let seq = self.session.last_seq + 1;
        let recorded =
            Recorded { seq, wall_ms: 1, elapsed_ms: 1, trace_context: String::new(), event };
        self.session.apply(&recorded).unwrap();
    }

    fn run(&mut self, steps: &[&[(&str, Class, CallStatus)]]) {
        self.runs += 1;
        let run = crate::run::ids::RunId::from(format!("run-{}", self.runs));
        let input = Input::Text("go".to_owned());
        self.record(Event::InputReceived(InputReceived {
            run: run.clone(),
            input,
            ..Default::default()
        }));
        self.record(Event::RunStarted(RunStarted {
            run: run.clone(),
            context_tokens: 8_000,
            ..Default::default()
        }));
        for (request, calls) in (1..).zip(steps) {
            let wanted = calls.iter().map(|(id, ..)| WantedCall {
                call_id: (*id).into(),
                model_id: (*id).to_owned(),
                name: "tool".to_owned(),
                ..Default::default()
            });
            let reply = ModelReplied {
                run: run.clone(),
                request,
                calls: wanted.collect(),
                ..Default::default()
            };
            self.record(Event::ModelReplied(reply));
            calls.iter().for_each(|(id, class, status)| self.call(id, *class, *status));
        }
        self.record(Event::RunEnded(RunEnded { run, ..Default::default() }));
    }

    fn call(&mut self, id: &str, class: Class, status: CallStatus) {
        let call_id = crate::run::ids::CallId::from(id);
        self.record(Event::CallPlanned(CallPlanned {
            call_id: call_id.clone(),
            class,
            ..Default::default()
        }));
        if status == CallStatus::Blocked {
            let judged = CallJudged {
                call_id: call_id.clone(),
                verdict: Verdict::Block,
                ..Default::default()
            };
            self.record(Event::CallJudged(judged));
        } else {
            self.record(Event::CallJudged(CallJudged {
                call_id: call_id.clone(),
                ..Default::default()
            }));
            self.record(Event::AttemptStarted(AttemptStarted {
                call_id: call_id.clone(),
                attempt: 1,
                ..Default::default()
            }));
        }
        let failure = (status == CallStatus::Failed).then(|| FailureInfo {
            kind: if id == "slow" { "timeout" } else { "not_found" }.to_owned(),
            ..Default::default()
        });
        self.record(Event::CallSettled(CallSettled {
            call_id,
            status,
            failure,
            content: format!("result of {id}"),
            ..Default::default()
        }));
    }

    fn targets(&self, what: &What) -> Result<Vec<String>, Nothing> {
        let targets = self.session.targets(what)?;
        Ok(targets.iter().map(|call| call.wanted.call_id.to_string()).collect())
    }

    fn take_back(&mut self, name: &str, calls: &[&str], status: UndoStatus) {
        let calls: Vec<_> = calls.iter().map(|id| (*id).into()).collect();
        self.record(Event::RollbackAsked(RollbackAsked {
            rollback: name.into(),
            calls: calls.clone(),
            by: "ann".to_owned(),
            key: format!("key of {name}"),
            ..Default::default()
        }));
        for call_id in calls {
            self.record(Event::RollbackStarted(RollbackStarted {
                rollback: name.into(),
                call_id: call_id.clone(),
            }));
            let message = "`a` is as it was.".to_owned();
            let rollback = name.into();
            self.record(Event::RollbackEnded(RollbackEnded { rollback, call_id, status, message }));
        }
    }
}

/// Two runs of three steps and one.
fn story() -> Story {
    use CallStatus::{Blocked, Cancelled, Failed, Ok, OutcomeUnknown};
    let mut story = Story::new();
    story.run(&[
        &[("w1", Class::Write, Ok), ("r1", Class::Read, Ok)],
        &[("w2", Class::Idempotent, OutcomeUnknown), ("no", Class::Write, Failed)],
        &[("slow", Class::Write, Failed), ("wall", Class::Write, Blocked)],
    ]);
    story.run(&[&[("w3", Class::Write, Cancelled), ("w4", Class::Write, Ok)]]);
    story
}

#[test]
fn calls_that_may_have_changed_something_are_meant_the_latest_first() {
    let story = story();
    for (step, expected) in [
        (0, &["w4", "w3", "slow", "w2", "w1"][..]),
        (1, &["w4", "w3", "slow", "w2"]),
        (2, &["w4", "w3", "slow"]),
        (3, &["w4", "w3"]),
        (4, &[]),
    ] {
        let targets = story.targets(&What::ToStep(step)).unwrap();
        assert_eq!(targets, expected, "after step {step}");
    }
    let none = Nothing::NoStep { wanted: 5, last: 4 };
    assert_eq!(story.targets(&What::ToStep(5)), Err(none));
    assert!(matches!(story.targets(&What::ToStep(usize::MAX)), Err(Nothing::NoStep { .. })));
    let one = |id: &str| story.targets(&What::Call(id.into()));
    assert_eq!(one("w2").unwrap(), ["w2"]);
    assert_eq!((one("r1"), one("no")), (Err(Nothing::Unchanged), Err(Nothing::Unchanged)));
    assert_eq!(one("else"), Err(Nothing::NoCall));
}

#[test]
fn what_a_person_says_did_not_happen_is_left_out() {
    let mut story = story();
    story.record(Event::OutcomeChosen(OutcomeChosen {
        call_id: "w2".into(),
        choice: Choice::NotDone,
        ..Default::default()
    }));
    assert_eq!(story.targets(&What::Call("w2".into())), Err(Nothing::Unchanged));
    assert_eq!(story.targets(&What::ToStep(1)).unwrap(), ["w4", "w3", "slow"]);
}

#[test]
fn what_was_taken_back_is_not_meant_again_and_the_model_reads_so() {
    let mut story = story();
    story.take_back("first", &["w4"], UndoStatus::Undone);
    story.take_back("second", &["w3"], UndoStatus::Conflict);
    let taken = Nothing::TakenBack("`a` is as it was.".to_owned());
    assert_eq!(story.targets(&What::Call("w4".into())), Err(taken));
    assert_eq!(story.targets(&What::ToStep(3)).unwrap(), ["w3"]);
    let of = |key: &str, by: &str| {
        let found = story.session.rollback_under(key, by);
        found.map(|found| found.asked.rollback.to_string())
    };
    assert_eq!(of("key of first", "ann").as_deref(), Some("first"));
    assert_eq!((of("key of first", "bob"), of("", "ann")), (None, None));
    let input = InputReceived { run: "next".into(), ..Default::default() };
    story.record(Event::InputReceived(input));
    let started = RunStarted { run: "next".into(), context_tokens: 8_000, ..Default::default() };
    story.record(Event::RunStarted(started));
    let messages = context::build(&story.session, 0);
    let read = |id: &str| {
        messages.iter().find_map(|message| match message {
            Message::Tool { id: of, content, .. } if of == id => Some(content.clone()),
            _ => None,
        })
    };
    let text =
        "[A person had this taken back; its effect is gone: `a` is as it was.]\nresult of w4";
    assert_eq!(read("w4").as_deref(), Some(text));
    assert_eq!(read("w3").as_deref(), Some("result of w3"));
}

#[test]
fn a_run_waits_for_the_end_of_a_rollback() {
    use crate::run::effect::Effect;
    let mut story = story();
    story.record(Event::RollbackAsked(RollbackAsked {
        rollback: "r".into(),
        calls: vec!["w4".into()],
        ..Default::default()
    }));
    story.record(Event::InputReceived(InputReceived { run: "next".into(), ..Default::default() }));
    let undo = Effect::Undo { rollback: "r".into(), call: "w4".into() };
    assert_eq!(story.session.next(), std::slice::from_ref(&undo));
    story.record(Event::RollbackStarted(RollbackStarted {
        rollback: "r".into(),
        call_id: "w4".into(),
    }));
    assert_eq!(story.session.next(), [undo], "begun, it is still to be done");
    story.record(Event::RollbackEnded(RollbackEnded {
        rollback: "r".into(),
        call_id: "w4".into(),
        ..Default::default()
    }));
    assert_eq!(story.session.next(), [Effect::StartRun("next".into())]);
}
