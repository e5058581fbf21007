//! What the actor does with its messages. Every answer waits until it is durable.

use tokio::sync::oneshot;

use super::{
    actor::{Exit, SessionActor},
    error::{Refusal, SessionError},
    message::{Attached, Decision, Message, Start, Started, Watch},
    repeat::{check_key, is_repeat},
    watchers::Watchers,
};
use crate::run::{
    call::{Call, Phase},
    context,
    event::{ApprovalDecided, CancelAsked, Event, Input, SessionKind, SessionOpened},
    ids::RunId,
    state::MAX_WAITING,
};

type Answer<T> = Result<T, SessionError>;

impl SessionActor {
    pub(super) fn handle(&mut self, message: Message) {
        match message {
            Message::Open { open, reply } => {
                let opened = self.open(open);
                self.answer_when_durable(reply, opened);
            }
            Message::Start { start, reply } => self.start_input(start, reply),
            Message::Attach { team, watch, until_idle, reply } => {
                let attached = self.check_team(&team).map(|()| self.attach(watch, until_idle));
                // Who comes now was not told before.
                self.said = "";
                self.tell_pause();
                // A caller that is gone needs no answer, here and below.
                let _ = reply.send(attached);
            }
            Message::Decide { team, decision, reply } => {
                let decided = self.check_team(&team).and_then(|()| self.decide(decision));
                self.answer_when_durable(reply, decided);
            }
            Message::Choose { team, wish, reply } => {
                let chosen = self.check_team(&team).and_then(|()| self.choose(wish));
                self.answer_when_durable(reply, chosen);
            }
            Message::TakeBack { team, takeback, reply } => match self.check_team(&team) {
                Ok(()) => self.take_back(takeback, reply),
                Err(error) => drop(reply.send(Err(error))),
            },
            Message::Paused(text) => self.tell(text),
            Message::Cancel { team, reason, reply } => {
                let cancelled = self.check_team(&team).map(|()| self.cancel(&reason));
                self.answer_when_durable(reply, cancelled);
            }
        }
    }

    fn open(&mut self, open: SessionOpened) -> Answer<()> {
        let Some(opened) = &self.session.opened else {
            self.record(Event::SessionOpened(open));
            return Ok(());
        };
        self.check_team(&open.team)?;
        check_key(opened, &open)
    }

    fn start_input(&mut self, start: Start, reply: oneshot::Sender<Answer<Started>>) {
        let (asked, watch) = (start.input.run.clone(), start.watch);
        let started = match self.earlier_run(&start.input) {
            Ok(Some(run)) => Ok(self.meet(run, &asked, watch)),
            Ok(None) => self.accept(start).map(|()| {
                let notices = self.watchers.follow_run(asked.clone(), watch);
                Started { run: asked, is_earlier: false, is_over: false, notices }
            }),
            Err(error) => Err(error),
        };
        self.answer_when_durable(reply, started);
    }

    /// Follows a run that an earlier request began.
    fn meet(&mut self, run: RunId, asked: &RunId, watch: Watch) -> Started {
        let ended = self.session.ended.iter().find(|ended| ended.input.run == run);
        let (is_earlier, is_over) = (run != *asked, ended.is_some());
        let notices = match ended {
            Some(ended) => Watchers::already_ended(ended.clone()),
            None => self.watchers.follow_run(run.clone(), watch),
        };
        Started { run, is_earlier, is_over, notices }
    }

    fn accept(&mut self, start: Start) -> Answer<()> {
        self.check_input(&start)?;
        if self.session.opened.is_none() {
            self.record(Event::SessionOpened(start.open));
        }
        self.trace_context = start.trace_context;
        self.record(Event::InputReceived(start.input));
        Ok(())
    }

    fn check_input(&self, start: &Start) -> Answer<()> {
        if let Some(opened) = &self.session.opened {
            self.check_team(&start.open.team)?;
            let kind = kind_of(&start.input.input);
            if opened.kind != kind {
                let kind = match opened.kind {
                    SessionKind::Chat => "chat",
                    SessionKind::Direct => "direct",
                };
                return Err(Refusal::WrongKind { kind }.into());
            }
        }
        let waiting = self.session.waiting.len();
        if waiting >= MAX_WAITING {
            return Err(Refusal::Full { waiting }.into());
        }
        let agent = &self.shared.config.agent;
        if let Input::Text(text) = &start.input.input {
            let tokens = context::fixed_tokens(&agent.system_prompt, text);
            // Room for tools, results and the reply has to stay.
            let budget = agent.context_tokens / 2;
            if tokens > budget {
                return Err(Refusal::TooLarge { tokens, budget }.into());
            }
        }
        Ok(())
    }

    fn check_team(&self, team: &str) -> Answer<()> {
        let is_theirs = self.session.opened.as_ref().is_some_and(|opened| opened.team == team);
        if is_theirs { Ok(()) } else { Err(SessionError::NotFound) }
    }

    fn attach(&mut self, watch: Watch, until_idle: bool) -> Attached {
        let notices = self.watchers.follow(watch, until_idle);
        Attached { durable: self.log.durable(), notices }
    }

    fn decide(&mut self, decision: Decision) -> Answer<(bool, bool)> {
        if let Some((_, call)) = self.session.call_in_run(&decision.call)
            && let Some(stands) = &call.decided
        {
            return Ok((is_repeat(stands, &decision)?, stands.approved));
        }
        let run = self.session.current.as_ref();
        let call = run.and_then(|run| run.call(&decision.call)).ok_or(Refusal::NotAsked)?;
        check_asked(call, &decision)?;
        let approved = decision.approve;
        self.record(Event::ApprovalDecided(ApprovalDecided {
            call_id: decision.call,
            approved,
            by: decision.by,
            note: decision.note,
            key: decision.key,
            body_digest: decision.body_digest,
        }));
        Ok((true, approved))
    }

    fn cancel(&mut self, reason: &str) -> bool {
        let Some(run) = &self.session.current else { return false };
        if run.cancel.is_none() {
            let run = run.input.run.clone();
            self.record(Event::CancelAsked(CancelAsked { run, reason: reason.to_owned() }));
        }
        true
    }

    /// Answers once everything noted so far is in the journal; an error at once.
    pub(super) fn answer_when_durable<T: Send + 'static>(
        &mut self,
        reply: oneshot::Sender<Answer<T>>,
        answer: Answer<T>,
    ) {
        let has_failed = matches!(self.exit, Some(Exit::AppendFailed(_) | Exit::Broke(_)));
        if has_failed || answer.is_err() {
            let _ = reply.send(answer.and(Err(SessionError::Closed)));
            return;
        }
        let last = self.session.last_seq;
        self.log.when_durable(last, move |durable| {
            let _ = reply.send(durable.map_err(SessionError::from).and(answer));
        });
    }
}

fn check_asked(call: &Call, decision: &Decision) -> Answer<()> {
    if call.phase() != Phase::Asked {
        return Err(Refusal::NotAsked.into());
    }
    let shown = call.asked.as_ref().map_or("", |asked| asked.preview_digest.as_str());
    if !decision.preview_digest.is_empty() && decision.preview_digest != shown {
        return Err(Refusal::OtherPreview.into());
    }
    Ok(())
}

/// The kind of session that an input belongs in.
fn kind_of(input: &Input) -> SessionKind {
    match input {
        Input::Text(_) => SessionKind::Chat,
        Input::Direct { .. } => SessionKind::Direct,
    }
}
