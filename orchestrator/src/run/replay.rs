//! Replay: folds a recorded session through this code, with what models, tools and people said as it
//! was recorded, and compares what this code would do next with what followed.
//!
//! Facts from outside (inputs, decisions, replies, outcomes) are taken as they are, if the effect that
//! brings them was wanted; facts that follow from the state alone must follow again, word for word; a
//! run must begin with the snapshot that today's settings give, and every prompt have its digest.

use super::{
    context,
    effect::{Effect, Key},
    event::{Event, InputReceived, Limit, ModelRequested, Recorded, RunStarted, SessionOpened},
    ids::CallId,
    limits,
    state::Session,
};

mod words;

/// Where a replay first differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Number of the recorded event.
    pub seq: u64,
    /// Its type.
    pub kind: &'static str,
    /// What differs.
    pub what: String,
    /// As it was recorded.
    pub then: String,
    /// As it would be now.
    pub now: String,
}

/// A session that is folded and compared, event by event.
#[derive(Debug, Default)]
pub struct Replay {
    session: Session,
    /// The call that the last event judged: what judging says comes as one.
    judged: Option<CallId>,
}

impl Replay {
    /// The session so far.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Compares the next event with what this code would do, and folds it in. `today` makes the
    /// snapshot with which a run would begin now.
    ///
    /// # Errors
    /// [`Divergence`]; nothing was folded in then.
    pub fn step(
        &mut self,
        recorded: &Recorded,
        today: impl Fn(&SessionOpened, &InputReceived) -> RunStarted,
    ) -> Result<(), Divergence> {
        let next = self.session.next();
        let differs = match &recorded.event {
            Event::RunStarted(then) => self.differs_at_start(&next, then, today),
            Event::ModelRequested(then) => self.differs_at_request(&next, then),
            event => self.differs(&next, event),
        };
        let (seq, kind) = (recorded.seq, recorded.event.kind());
        if let Some([what, then, now]) = differs {
            return Err(Divergence { seq, kind, what, then, now });
        }
        self.session.apply(recorded).map_err(|error| {
            let then = words::event(&recorded.event);
            Divergence { seq, kind, what: "the order".to_owned(), then, now: error.to_string() }
        })?;
        self.judged = judged(&recorded.event).cloned();
        Ok(())
    }

    fn differs(&self, next: &[Effect], event: &Event) -> Option<[String; 3]> {
        let is_told_together = judged(event).is_some_and(|id| self.judged.as_ref() == Some(id));
        if is_told_together || is_from_outside(event) {
            return None;
        }
        if let [Effect::Record(now)] = next {
            return (now != event)
                .then(|| ["what follows".to_owned(), words::event(event), words::event(now)]);
        }
        let is_wanted = brought_by(event).iter().any(|key| wants(next, key));
        let is_expiry = match event {
            Event::LimitHit(then) if then.limit == Limit::Time => {
                let now = self.session.current.as_deref().map(limits::expired);
                wants(next, &Key::Expire) && now.as_ref() == Some(then)
            }
            _ => false,
        };
        (!is_wanted && !is_expiry)
            .then(|| ["what follows".to_owned(), words::event(event), words::effects(next)])
    }

    fn differs_at_start(
        &self,
        next: &[Effect],
        then: &RunStarted,
        today: impl Fn(&SessionOpened, &InputReceived) -> RunStarted,
    ) -> Option<[String; 3]> {
        let is_next = matches!(next, [Effect::StartRun(run)] if *run == then.run);
        let (Some(opened), Some(waiting), true) =
            (&self.session.opened, self.session.waiting.front(), is_next)
        else {
            let then = format!("run {} starts", then.run);
            return Some(["what follows".to_owned(), then, words::effects(next)]);
        };
        words::snapshots(then, &today(opened, &waiting.input))
    }

    fn differs_at_request(&self, next: &[Effect], then: &ModelRequested) -> Option<[String; 3]> {
        let wanted = next.iter().find_map(|effect| match effect {
            Effect::CallModel { request, with_tools } if *request == then.request => {
                Some(*with_tools)
            }
            _ => None,
        });
        let Some(with_tools) = wanted else {
            let then = format!("the model is asked (request {})", then.request);
            return Some(["what follows".to_owned(), then, words::effects(next)]);
        };
        if !with_tools && !then.offered.is_empty() {
            let offered = then.offered.join(", ");
            return Some(["the tools offered".to_owned(), offered, "none".to_owned()]);
        }
        let now = context::digest(&context::build(&self.session, then.tool_tokens));
        (now != then.prompt_digest)
            .then(|| ["the prompt's digest".to_owned(), then.prompt_digest.clone(), now])
    }
}

fn wants(next: &[Effect], key: &Key) -> bool {
    next.iter().any(|effect| effect.key().as_ref() == Some(key))
}

/// The call that an event judges, which says what it has to say in several events at once.
fn judged(event: &Event) -> Option<&CallId> {
    match event {
        Event::CallPlanned(planned) => Some(&planned.call_id),
        Event::CallJudged(judged) => Some(&judged.call_id),
        Event::ApprovalAsked(asked) => Some(&asked.call_id),
        Event::ApprovalDecided(decided) => Some(&decided.call_id),
        Event::CallSettled(settled) => Some(&settled.call_id),
        _ => None,
    }
}

/// Facts that nothing here asks for. Whether they fit is the fold's business.
fn is_from_outside(event: &Event) -> bool {
    match event {
        Event::ApprovalDecided(decided) => decided.by != "timeout",
        Event::SessionOpened(_)
        | Event::OwnerTaken(_)
        | Event::InputReceived(_)
        | Event::OutcomeChosen(_)
        | Event::RollbackAsked(_)
        | Event::ForgetAsked(_)
        | Event::CancelAsked(_) => true,
        _ => false,
    }
}

/// The effects that can bring an event.
fn brought_by(event: &Event) -> Vec<Key> {
    match event {
        Event::ModelReplied(reply) => vec![Key::Model(reply.request)],
        Event::ModelFailed(failed) => vec![Key::Model(failed.request)],
        Event::CallPlanned(planned) => vec![Key::Judge(planned.call_id.clone())],
        Event::CallJudged(judged) => vec![Key::Judge(judged.call_id.clone())],
        Event::ApprovalAsked(asked) => vec![Key::Judge(asked.call_id.clone())],
        Event::ApprovalDecided(decided) => vec![Key::Lapse(decided.call_id.clone())],
        Event::AttemptStarted(started) => tried(&started.call_id),
        Event::AttemptEnded(ended) => tried(&ended.call_id),
        Event::CallSettled(settled) => {
            let mut keys = tried(&settled.call_id);
            keys.push(Key::Judge(settled.call_id.clone()));
            keys
        }
        Event::RollbackStarted(started) => vec![Key::Undo(started.call_id.clone())],
        Event::RollbackEnded(ended) => vec![Key::Undo(ended.call_id.clone())],
        _ => Vec::new(),
    }
}

fn tried(call: &CallId) -> Vec<Key> {
    vec![Key::Invoke(call.clone()), Key::Stop(call.clone())]
}

#[cfg(test)]
mod tests;
