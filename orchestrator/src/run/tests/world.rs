//! A world that does what the fold asks for, in an order and with outcomes drawn from a list.

use std::collections::BTreeMap;

use crate::run::{
    context::{self, Message},
    effect::{Effect, Key},
    event::*,
    ids::{CallId, RollbackId, RunId},
    limits::expired,
    rollback::What,
    state::{MAX_WAITING, Session},
};

pub(super) fn limits() -> Limits {
    Limits { max_steps: 6, max_calls: 12, max_parallel: 3, max_time_ms: 60_000, max_tokens: 4_000 }
}

pub(super) struct World {
    pub(super) session: Session,
    pub(super) journal: Vec<Recorded>,
    pub(super) inputs: usize,
    limits: Limits,
    choices: std::vec::IntoIter<u16>,
    running: BTreeMap<Key, Effect>,
    clock_ms: u64,
}

impl World {
    pub(super) fn new(limits: Limits, choices: Vec<u16>) -> Self {
        let mut world = Self {
            session: Session::default(),
            journal: Vec::new(),
            inputs: 0,
            limits,
            choices: choices.into_iter(),
            running: BTreeMap::new(),
            clock_ms: 0,
        };
        world.record(Event::SessionOpened(SessionOpened::default()));
        world.input();
        world
    }

    pub(super) fn record(&mut self, event: Event) {
        self.clock_ms += 7;
        let recorded = Recorded {
            seq: self.session.last_seq + 1,
            wall_ms: i64::try_from(self.clock_ms).unwrap(),
            elapsed_ms: self.clock_ms,
            trace_context: String::new(),
            event,
        };
        self.session.apply(&recorded).unwrap();
        self.journal.push(recorded);
    }

    /// Lets the world turn until nothing is left to do. Choices that ran out are zeros, with which
    /// everything ends soon.
    pub(super) fn run_to_the_end(&mut self) {
        for _ in 0..20_000 {
            let next = self.session.next();
            assert_eq!(next, self.session.next(), "asked twice, it answers the same");
            if next.is_empty() && !self.wants_back() {
                return;
            }
            match &next[..] {
                [Effect::Record(event)] => self.record(event.clone()),
                [Effect::StartRun(run)] => self.start(run.clone()),
                [] => {}
                effects => self.settle_one(effects.to_vec()),
            }
        }
        unreachable!("the run does not end: {:?}", self.session.next());
    }

    fn start(&mut self, run: RunId) {
        let (limits, models) = (self.limits, vec!["m".to_owned()]);
        self.record(Event::RunStarted(RunStarted {
            run,
            limits,
            models,
            context_tokens: 8_000,
            ..RunStarted::default()
        }));
    }

    /// Ends one of the effects that should be running, in a way that the choices pick.
    fn settle_one(&mut self, effects: Vec<Effect>) {
        let wanted: BTreeMap<_, _> =
            effects.into_iter().map(|e| (e.key().expect("takes time"), e)).collect();
        self.running = wanted;
        match self.draw() % 40 {
            1 => return self.input(),
            2 if self.session.current.is_some() => return self.cancel(),
            _ => {}
        }
        let timers = |key: &Key| matches!(key, Key::Expire | Key::Lapse(_));
        let work: Vec<_> = self.running.keys().filter(|key| !timers(key)).cloned().collect();
        let pick = self.draw();
        let all: Vec<_> = self.running.keys().cloned().collect();
        let from = if work.is_empty() || pick % 50 == 49 { &all } else { &work };
        let key = from[usize::from(pick) % from.len()].clone();
        let effect = self.running.remove(&key).expect("picked from it");
        self.perform(effect);
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::CallModel { request, with_tools } => self.model(request, with_tools),
            Effect::Judge(call) => self.judge(call),
            Effect::Invoke(call) => self.invoke(call),
            Effect::Stop { call, .. } => {
                self.settle(call.clone(), CallStatus::OutcomeUnknown);
                if self.draw() % 2 == 1 {
                    self.choose(call);
                }
            }
            Effect::Lapse { call, .. } => {
                let approved = self.draw() % 2 == 1;
                self.record(Event::ApprovalDecided(ApprovalDecided {
                    call_id: call,
                    approved,
                    ..ApprovalDecided::default()
                }));
            }
            Effect::Expire { .. } => {
                let hit = expired(self.session.current.as_ref().expect("a run works"));
                self.record(Event::LimitHit(hit));
            }
            Effect::Undo { rollback, call } => self.undo(rollback, call),
            Effect::Forget => unreachable!("no session here was removed"),
            Effect::Record(_) | Effect::StartRun(_) => unreachable!("done at once"),
        }
    }

    fn model(&mut self, request: u32, with_tools: bool) {
        let run = self.current();
        check_messages(&context::build(&self.session, 0));
        self.record(Event::ModelRequested(ModelRequested {
            run: run.clone(),
            request,
            ..ModelRequested::default()
        }));
        if self.draw() % 20 == 19 {
            return self.record(Event::ModelFailed(ModelFailed {
                run,
                request,
                ..ModelFailed::default()
            }));
        }
        let count = if with_tools { self.draw() % 5 } else { self.draw() % 2 };
        let calls = (0..count).map(|nth| self.wanted(request, nth)).collect();
        let text = if self.draw() % 4 == 3 { "" } else { "text" }.to_owned();
        let reply =
            ModelReplied { run, request, text, calls, output_tokens: 90, ..Default::default() };
        self.record(Event::ModelReplied(reply));
    }

    fn wanted(&mut self, request: u32, nth: u16) -> WantedCall {
        let run = self.current();
        WantedCall {
            call_id: CallId::from(format!("{run}-{request}-{nth}")),
            model_id: format!("call_{nth}"),
            name: "tool".to_owned(),
            arguments: format!("{{\"a\":{}}}", self.draw() % 3),
        }
    }

    fn judge(&mut self, call_id: CallId) {
        let kind = self.draw() % 8;
        if kind == 7 {
            return self.settle(call_id, CallStatus::Failed);
        }
        let run = self.session.current.as_ref().expect("a run works");
        let arguments = run.call(&call_id).expect("wanted").wanted.arguments.clone();
        self.record(Event::CallPlanned(CallPlanned {
            call_id: call_id.clone(),
            tool: "tool".to_owned(),
            arguments,
            ..CallPlanned::default()
        }));
        let verdict = match kind {
            0..=3 => Verdict::Allow,
            4 | 5 => Verdict::Ask,
            _ => Verdict::Block,
        };
        let judged = CallJudged { call_id: call_id.clone(), verdict, ..CallJudged::default() };
        self.record(Event::CallJudged(judged));
        match verdict {
            Verdict::Allow => {}
            Verdict::Ask => {
                self.record(Event::ApprovalAsked(ApprovalAsked { call_id, ..Default::default() }));
            }
            Verdict::Block => self.settle(call_id, CallStatus::Blocked),
        }
    }

    fn invoke(&mut self, call_id: CallId) {
        let run = self.session.current.as_ref().expect("a run works");
        let call = run.call(&call_id).expect("wanted");
        let attempt = u32::try_from(call.attempts.len()).unwrap();
        if call.open_attempt().is_none() {
            let started = AttemptStarted {
                call_id: call_id.clone(),
                attempt: attempt + 1,
                ..Default::default()
            };
            self.record(Event::AttemptStarted(started));
            if self.draw() % 3 == 2 {
                return; // Killed here: the next look finds an open attempt.
            }
            return self.end_attempt(call_id, attempt + 1);
        }
        self.end_attempt(call_id, attempt);
    }

    fn end_attempt(&mut self, call_id: CallId, attempt: u32) {
        let status =
            if self.draw() % 4 == 3 { AttemptStatus::NotSent } else { AttemptStatus::Answered };
        self.record(Event::AttemptEnded(AttemptEnded {
            call_id: call_id.clone(),
            attempt,
            status,
            ..AttemptEnded::default()
        }));
        if status == AttemptStatus::Answered {
            let status = if self.draw() % 4 == 3 { CallStatus::Failed } else { CallStatus::Ok };
            self.settle(call_id, status);
        }
    }

    fn settle(&mut self, call_id: CallId, status: CallStatus) {
        let content = format!("result {}", self.draw() % 2);
        self.record(Event::CallSettled(CallSettled {
            call_id,
            status,
            content,
            ..Default::default()
        }));
    }

    fn input(&mut self) {
        if self.session.waiting.len() >= MAX_WAITING {
            return;
        }
        self.inputs += 1;
        self.record(Event::InputReceived(InputReceived {
            run: RunId::from(format!("run-{}", self.inputs)),
            input: Input::Text("do it".to_owned()),
            ..InputReceived::default()
        }));
    }

    fn choose(&mut self, call_id: CallId) {
        let choice = [Choice::Done, Choice::NotDone, Choice::Repeat][usize::from(self.draw() % 3)];
        let is_repeat = choice == Choice::Repeat && self.session.waiting.len() < MAX_WAITING;
        let next = format!("run-{}", self.inputs + 1);
        let repeat_run = if is_repeat { RunId::from(next) } else { RunId::default() };
        let (run, call) = (self.current(), call_id.clone());
        let repeat = repeat_run.clone();
        let chosen = OutcomeChosen { run, call_id, choice, repeat_run, ..Default::default() };
        self.record(Event::OutcomeChosen(chosen));
        if is_repeat {
            self.inputs += 1;
            let input = Input::Direct { tool: "tool".to_owned(), arguments: call.to_string() };
            let received = InputReceived { run: repeat, input, ..InputReceived::default() };
            self.record(Event::InputReceived(received));
        }
    }

    fn cancel(&mut self) {
        let run = self.current();
        self.record(Event::CancelAsked(CancelAsked { run, reason: "test".to_owned() }));
    }

    /// Maybe somebody wants calls taken back: those that can be, after some step.
    fn wants_back(&mut self) -> bool {
        if self.draw().is_multiple_of(3) {
            return false;
        }
        let steps = self.session.ended.iter().map(|run| run.steps.len()).sum::<usize>();
        let to_step = usize::from(self.draw()) % (steps + 1);
        let targets = self.session.targets(&What::ToStep(to_step)).unwrap();
        let calls: Vec<_> = targets.iter().map(|call| call.wanted.call_id.clone()).collect();
        if calls.is_empty() {
            return false;
        }
        let rollback = format!("rollback-{}", self.session.rollbacks.len()).into();
        self.record(Event::RollbackAsked(RollbackAsked { rollback, calls, ..Default::default() }));
        true
    }

    fn undo(&mut self, rollback: RollbackId, call_id: CallId) {
        if !self.session.undoing().expect("a rollback is under way").is_begun {
            let (rollback, call_id) = (rollback.clone(), call_id.clone());
            self.record(Event::RollbackStarted(RollbackStarted { rollback, call_id }));
            if self.draw() % 3 == 2 {
                return; // Killed here: the next look finds it begun.
            }
        }
        let status = match self.draw() % 8 {
            7 => UndoStatus::Conflict,
            6 => UndoStatus::Failed,
            _ => UndoStatus::Undone,
        };
        let message = "said".to_owned();
        self.record(Event::RollbackEnded(RollbackEnded { rollback, call_id, status, message }));
    }

    fn current(&self) -> RunId {
        self.session.current.as_ref().expect("a run works").input.run.clone()
    }

    fn draw(&mut self) -> u16 {
        self.choices.next().unwrap_or(0)
    }
}

/// Every provider wants it so: after a message with calls, one result for each, in their order.
fn check_messages(messages: &[Message]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            Message::Tool { id, .. } => {
                assert_eq!(
                    open.first(),
                    Some(&id.as_str()),
                    "a result of no call, or out of order"
                );
                open.remove(0);
            }
            other => {
                assert!(open.is_empty(), "calls without a result: {open:?}");
                if let Message::Assistant { calls, .. } = other {
                    open = calls.iter().map(|call| call.id.as_str()).collect();
                }
            }
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}
