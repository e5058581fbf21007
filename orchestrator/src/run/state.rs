//! The fold: what a session is, after the events so far.
//!
//! [`Session::apply`] is total: an event that does not fit is refused with a reason, and nothing
//! panics. It decides nothing; what should happen next is asked of `next`.

use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use super::{
    call::{Call, Phase},
    event::{
        CancelAsked, Event, ForgetAsked, Input, InputReceived, LimitHit, ModelFailed, ModelReplied,
        ProgressMissed, Recorded, RunEnded, RunStarted, SessionOpened, WantedCall,
    },
    ids::{CallId, RunId},
    rollback::Rollback,
};

/// Inputs that may wait behind a working run; one more is refused.
pub const MAX_WAITING: usize = 8;

/// An event that does not follow from what came before: the journal is damaged, or we are wrong.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ApplyError {
    /// Sequence numbers must be dense.
    #[error("event {got} follows event {last}")]
    Gap {
        /// The last number that was applied.
        last: u64,
        /// The number that came.
        got: u64,
    },
    /// The event is about a run that is not the current one.
    #[error("event {seq} ({kind}) belongs to no open run")]
    NoRun {
        /// The event.
        seq: u64,
        /// Its type.
        kind: &'static str,
    },
    /// The event is about a call that nobody asked for.
    #[error("event {seq} ({kind}) names an unknown call")]
    NoCall {
        /// The event.
        seq: u64,
        /// Its type.
        kind: &'static str,
    },
    /// The event may not come at this point.
    #[error("event {seq} ({kind}): {why}")]
    Order {
        /// The event.
        seq: u64,
        /// Its type.
        kind: &'static str,
        /// What speaks against it.
        why: &'static str,
    },
}

/// A session after the events so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// How it was opened; `None` before its first event.
    pub opened: Option<SessionOpened>,
    /// Wall time of the first event, Unix time in milliseconds.
    pub opened_ms: i64,
    /// Wall time of the last event, Unix time in milliseconds.
    pub updated_ms: i64,
    /// Number of the last event.
    pub last_seq: u64,
    /// Incarnation of the last owner that took the session over.
    pub owner: String,
    /// Runs that ended, oldest first.
    pub ended: Vec<Run>,
    /// The run that works.
    pub current: Option<Box<Run>>,
    /// Inputs that wait their turn.
    pub waiting: VecDeque<Waiting>,
    /// Rollbacks, oldest first; only the last one can be under way.
    pub rollbacks: Vec<Rollback>,
    /// What this session is there to have forgotten; nothing else happens in it.
    pub forget: Option<Box<ForgetAsked>>,
    /// Runs to come that repeat a call.
    pub repeats: BTreeMap<RunId, CallId>,
}

/// An input that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The input.
    pub input: InputReceived,
    /// When it came, Unix time in milliseconds.
    pub since_ms: i64,
    /// Trace context of the request that brought it.
    pub trace_context: String,
}

/// One input and the work on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The input.
    pub input: InputReceived,
    /// The agent's snapshot.
    pub started: RunStarted,
    /// Trace context of the run's span.
    pub trace_context: String,
    /// When work began, Unix time in milliseconds.
    pub started_ms: i64,
    /// When it ended, Unix time in milliseconds; 0 while it works.
    pub ended_ms: i64,
    /// Working time so far in milliseconds.
    pub elapsed_ms: u64,
    /// Model replies with their calls, oldest first; a direct run has one without a reply.
    pub steps: Vec<Step>,
    /// Number of the last model request; 0 before the first.
    pub requests: u32,
    /// True while the last request has neither reply nor failure.
    pub is_asking: bool,
    /// The model call that failed for good.
    pub model_failed: Option<ModelFailed>,
    /// The model was told that it is stuck.
    pub missed: Option<ProgressMissed>,
    /// Steps there were when the model was told so.
    pub missed_at: usize,
    /// The bound that was reached.
    pub limit: Option<LimitHit>,
    /// Somebody wants it to end.
    pub cancel: Option<CancelAsked>,
    /// How it ended.
    pub ended: Option<RunEnded>,
}

/// One model reply and its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The reply; `None` for the single step of a direct run.
    pub reply: Option<ModelReplied>,
    /// Its calls, in the order in which the model asked for them.
    pub calls: Vec<Call>,
    /// Whether the reply came after a bound was reached, as the last word.
    pub is_last_word: bool,
}

impl Session {
    /// Folds one event in.
    ///
    /// # Errors
    /// [`ApplyError`] if the event does not follow; the state is then unchanged.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), ApplyError> {
        if recorded.seq != self.last_seq + 1 {
            return Err(ApplyError::Gap { last: self.last_seq, got: recorded.seq });
        }
        self.fold(recorded)?;
        if self.last_seq == 0 {
            self.opened_ms = recorded.wall_ms;
        }
        self.last_seq = recorded.seq;
        self.updated_ms = recorded.wall_ms;
        if let Some(run) = &mut self.current {
            run.elapsed_ms = run.elapsed_ms.max(recorded.elapsed_ms);
        }
        Ok(())
    }

    /// The run with this id, whether it ended or works.
    pub fn run(&self, id: &RunId) -> Option<&Run> {
        self.ended.iter().rev().chain(self.current.as_deref()).find(|run| run.input.run == *id)
    }

    fn fold(&mut self, recorded: &Recorded) -> Result<(), ApplyError> {
        let refuse =
            |why| Err(ApplyError::Order { seq: recorded.seq, kind: recorded.event.kind(), why });
        match &recorded.event {
            Event::SessionOpened(opened) => {
                if self.opened.is_some() {
                    return refuse("the session is open already");
                }
                self.opened = Some(opened.clone());
            }
            Event::OwnerTaken(taken) => self.owner.clone_from(&taken.owner),
            Event::InputReceived(input) => {
                if self.opened.is_none() || self.forget.is_some() {
                    return refuse("the session was never opened");
                }
                self.waiting.push_back(Waiting {
                    input: input.clone(),
                    since_ms: recorded.wall_ms,
                    trace_context: recorded.trace_context.clone(),
                });
            }
            Event::RunStarted(started) => {
                if self.current.is_some() || self.undoing().is_some() {
                    return refuse("another run works");
                }
                if self.waiting.front().is_none_or(|next| next.input.run != started.run) {
                    return refuse("its input is not the next one");
                }
                let Some(next) = self.waiting.pop_front() else { return refuse("no input") };
                let run = Run::begin(next.input, started.clone(), recorded);
                self.current = Some(Box::new(run));
            }
            Event::RunEnded(ended) => {
                self.current_run(recorded, &ended.run)?;
                let Some(mut run) = self.current.take() else { return refuse("no run works") };
                run.ended = Some(ended.clone());
                run.ended_ms = recorded.wall_ms;
                run.elapsed_ms = run.elapsed_ms.max(recorded.elapsed_ms);
                run.is_asking = false;
                self.note_repetition(&run);
                self.ended.push(*run);
            }
            Event::ForgetAsked(asked) => return self.ask_forget(asked).or_else(refuse),
            Event::OutcomeChosen(chosen) => return self.choose(chosen).or_else(refuse),
            Event::RollbackAsked(asked) => return self.ask_rollback(asked).or_else(refuse),
            Event::RollbackStarted(started) => return self.begin_undo(started).or_else(refuse),
            Event::RollbackEnded(ended) => return self.end_undo(ended).or_else(refuse),
            other => self.fold_run(recorded, other)?,
        }
        Ok(())
    }

    fn fold_run(&mut self, recorded: &Recorded, event: &Event) -> Result<(), ApplyError> {
        match event {
            Event::ModelRequested(asked) => {
                let run = self.current_run(recorded, &asked.run)?;
                run.requests = asked.request;
                run.is_asking = true;
            }
            Event::ModelReplied(reply) => {
                let run = self.current_run(recorded, &reply.run)?;
                run.reply(reply);
            }
            Event::ModelFailed(failed) => {
                let run = self.current_run(recorded, &failed.run)?;
                run.is_asking = false;
                run.model_failed = Some(failed.clone());
            }
            Event::ProgressMissed(missed) => {
                let run = self.current_run(recorded, &missed.run)?;
                run.missed = Some(missed.clone());
                run.missed_at = run.steps.len();
            }
            Event::LimitHit(hit) => {
                let run = self.current_run(recorded, &hit.run)?;
                run.limit = Some(hit.clone());
                run.is_asking = false;
            }
            Event::CancelAsked(asked) => {
                let run = self.current_run(recorded, &asked.run)?;
                run.cancel = Some(asked.clone());
            }
            other => self.fold_call(recorded, other)?,
        }
        Ok(())
    }

    fn fold_call(&mut self, recorded: &Recorded, event: &Event) -> Result<(), ApplyError> {
        let (seq, kind) = (recorded.seq, event.kind());
        let Some(id) = call_of(event) else { return Ok(()) };
        let run = self.current.as_mut().ok_or(ApplyError::NoRun { seq, kind })?;
        let call = run.call_mut(id).ok_or(ApplyError::NoCall { seq, kind })?;
        call.apply(event, recorded.elapsed_ms).map_err(|why| ApplyError::Order { seq, kind, why })
    }

    fn current_run(&mut self, recorded: &Recorded, id: &RunId) -> Result<&mut Run, ApplyError> {
        self.current
            .as_deref_mut()
            .filter(|run| run.input.run == *id)
            .ok_or(ApplyError::NoRun { seq: recorded.seq, kind: recorded.event.kind() })
    }
}

impl Run {
    fn begin(input: InputReceived, started: RunStarted, recorded: &Recorded) -> Self {
        let steps = match &input.input {
            Input::Text(_) => Vec::new(),
            Input::Direct { tool, arguments } => vec![Step {
                reply: None,
                calls: vec![Call::new(WantedCall {
                    call_id: CallId::from(input.run.as_str()),
                    model_id: String::new(),
                    name: tool.clone(),
                    arguments: arguments.clone(),
                })],
                is_last_word: false,
            }],
        };
        Self {
            input,
            started,
            trace_context: recorded.trace_context.clone(),
            started_ms: recorded.wall_ms,
            ended_ms: 0,
            elapsed_ms: 0,
            steps,
            requests: 0,
            is_asking: false,
            model_failed: None,
            missed: None,
            missed_at: 0,
            limit: None,
            cancel: None,
            ended: None,
        }
    }

    fn reply(&mut self, reply: &ModelReplied) {
        self.is_asking = false;
        let is_last_word = self.limit.is_some();
        // A last word is asked for without tools; calls that come all the same are not made.
        let wanted = if is_last_word { &[][..] } else { &reply.calls[..] };
        let calls = wanted.iter().cloned().map(Call::new).collect();
        self.steps.push(Step { reply: Some(reply.clone()), calls, is_last_word });
    }

    /// True for a run without a model.
    pub fn is_direct(&self) -> bool {
        matches!(self.input.input, Input::Direct { .. })
    }

    /// All calls, in the order in which they were asked for.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.steps.iter().flat_map(|step| &step.calls)
    }

    /// The call with this id.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls().find(|call| call.wanted.call_id == *id)
    }

    fn call_mut(&mut self, id: &CallId) -> Option<&mut Call> {
        // From the newest step: that is where events land.
        self.steps
            .iter_mut()
            .rev()
            .flat_map(|step| &mut step.calls)
            .find(|call| call.wanted.call_id == *id)
    }

    /// True if the run can go on only after a person decided.
    pub fn is_waiting(&self) -> bool {
        let mut open = self.calls().filter(|call| call.settled.is_none()).peekable();
        self.cancel.is_none()
            && self.limit.is_none()
            && open.peek().is_some()
            && open.all(|call| call.phase() == Phase::Asked)
    }

    /// Tokens used so far: input and output.
    pub fn tokens(&self) -> (u64, u64) {
        let replies = self.steps.iter().filter_map(|step| step.reply.as_ref());
        replies.fold((0, 0), |(input, output), reply| {
            (input + reply.input_tokens, output + reply.output_tokens)
        })
    }

    /// Model replies so far.
    pub fn replies(&self) -> u32 {
        let count = self.steps.iter().filter(|step| step.reply.is_some()).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// The call that an event is about.
fn call_of(event: &Event) -> Option<&CallId> {
    match event {
        Event::CallPlanned(planned) => Some(&planned.call_id),
        Event::CallJudged(judged) => Some(&judged.call_id),
        Event::ApprovalAsked(asked) => Some(&asked.call_id),
        Event::ApprovalDecided(decided) => Some(&decided.call_id),
        Event::AttemptStarted(started) => Some(&started.call_id),
        Event::AttemptEnded(ended) => Some(&ended.call_id),
        Event::CallSettled(settled) => Some(&settled.call_id),
        Event::SessionOpened(_)
        | Event::OwnerTaken(_)
        | Event::InputReceived(_)
        | Event::RunStarted(_)
        | Event::ModelRequested(_)
        | Event::ModelReplied(_)
        | Event::ModelFailed(_)
        | Event::OutcomeChosen(_)
        | Event::RollbackAsked(_)
        | Event::RollbackStarted(_)
        | Event::RollbackEnded(_)
        | Event::ForgetAsked(_)
        | Event::ProgressMissed(_)
        | Event::LimitHit(_)
        | Event::CancelAsked(_)
        | Event::RunEnded(_) => None,
    }
}
