//! What running effects report and bring back, as events.

use tracing::{debug, error, info};

use super::{
    actor::{Exit, SessionActor},
    effects::Done,
    report::Report,
    running::Panicked,
    watchers::Glimpse,
};
use crate::{
    call::{Abandoned, Progress, record::Piece},
    model::Delta,
    run::{
        effect::Key,
        event::{
            ApprovalDecided, CallSettled, CallStatus, Event, FailureInfo, ModelFailed,
            RollbackEnded, UndoStatus,
        },
        ids::CallId,
        limits,
    },
};

impl SessionActor {
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Record(record) => {
                // A call that was ended meanwhile may still report; that is no fact any more.
                if let Err(error) = self.try_record(*record.event) {
                    debug!(session = %self.id, %error, "late report dropped");
                    return;
                }
                if let Some(durable) = record.durable {
                    let last = self.session.last_seq;
                    self.log.when_durable(last, move |is_durable| {
                        if is_durable.is_ok() {
                            // The attempt may have been dropped meanwhile.
                            let _ = durable.send(());
                        }
                    });
                }
            }
            Report::Progress(progress) => self.show_progress(progress),
            Report::Delta { request, delta } => self.show_delta(request, delta),
        }
    }

    pub(super) fn done(&mut self, key: &Key, done: Result<Done, Panicked>) {
        // An effect is polled right behind the reports: what it said as it ended is still unheard.
        while let Some(report) = self.unheard() {
            self.report(report);
        }
        let Ok(done) = done else {
            error!(session = %self.id, ?key, "an effect panicked");
            return self.internal(key);
        };
        match done {
            Done::Events(events) if events.is_empty() => self.internal(key),
            Done::Events(events) => {
                for event in events {
                    self.record_outcome(event);
                }
            }
            Done::Settled(Ok(settled)) => self.record_outcome(Event::CallSettled(settled)),
            Done::Undone(Ok(ended)) => {
                let (call, status) = (&ended.call_id, ended.status.as_str());
                info!(session = %self.id, %call, status, "taking a call back ended");
                self.record(Event::RollbackEnded(ended));
                self.answer_rollbacks();
            }
            Done::Settled(Err(Abandoned::Fenced)) | Done::Undone(Err(Abandoned::Fenced)) => {
                self.exit = Some(Exit::Fenced);
            }
            Done::Settled(Err(Abandoned::Closed))
            | Done::Undone(Err(Abandoned::Closed))
            | Done::Closed => {
                self.exit = Some(Exit::AppendFailed("an effect lost its append".to_owned()));
            }
            Done::Forgotten => self.exit = Some(Exit::Removed),
            Done::Lapsed(call_id) => self.record(Event::ApprovalDecided(ApprovalDecided {
                call_id,
                approved: false,
                by: "timeout".to_owned(),
                ..ApprovalDecided::default()
            })),
            Done::Expired => {
                if let Some(run) = &self.session.current {
                    let hit = limits::expired(run);
                    self.record(Event::LimitHit(hit));
                }
            }
        }
    }

    fn record_outcome(&mut self, event: Event) {
        let event = match event {
            Event::CallSettled(settled) => {
                let run = self.session.current.as_ref();
                let call = run.and_then(|run| run.call(&settled.call_id));
                let since = call.map_or(0, |call| call.planned_at_ms);
                let has_begun = call.is_some_and(|call| call.planned.is_some());
                let elapsed = self.clock.elapsed_ms().saturating_sub(since);
                let duration_ms = if has_begun { elapsed } else { 0 };
                Event::CallSettled(CallSettled { duration_ms, ..settled })
            }
            other => other,
        };
        self.record(event);
    }

    /// Ends what cannot go on because of a fault of ours.
    fn internal(&mut self, key: &Key) {
        let message = "A fault of the orchestrator ended this; an operator finds it in the log.";
        match key {
            Key::Model(request) => {
                let Some(run) = &self.session.current else { return };
                let (run, request) = (run.input.run.clone(), *request);
                let (kind, message) = ("internal".to_owned(), message.to_owned());
                self.record(Event::ModelFailed(ModelFailed { run, request, kind, message }));
            }
            Key::Judge(call) | Key::Invoke(call) | Key::Stop(call) => {
                let settled = internal_failure(call, message);
                self.record_outcome(Event::CallSettled(settled));
            }
            Key::Undo(call_id) => {
                let Some(undoing) = self.session.undoing() else { return };
                let rollback = undoing.asked.rollback.clone();
                let (call_id, message) = (call_id.clone(), message.to_owned());
                let status = UndoStatus::Failed;
                let ended = RollbackEnded { rollback, call_id, status, message };
                self.record(Event::RollbackEnded(ended));
                self.answer_rollbacks();
            }
            // It is begun again.
            Key::Forget | Key::Lapse(_) | Key::Expire => {}
        }
    }

    fn show_progress(&mut self, progress: Progress) {
        let Some(run) = &self.session.current else { return };
        let text = match progress.piece {
            Piece::Note { message, .. } => message,
            Piece::Chunk(text) => text,
        };
        let run = run.input.run.clone();
        let (request, call, offset) = (0, progress.call_id, 0);
        self.watchers.glimpse(Glimpse { run, request, call, offset, text, restarted: false });
    }

    fn show_delta(&mut self, request: u32, delta: Delta) {
        let Some(run) = self.session.current.as_ref().filter(|run| run.requests == request) else {
            return;
        };
        let (text, restarted) = match delta {
            Delta::Text(text) => (text, false),
            Delta::Restarted => (String::new(), true),
            Delta::Waiting(_) => return,
        };
        let (run, call) = (run.input.run.clone(), CallId::default());
        let offset = if restarted { 0 } else { self.glimpsed };
        self.glimpsed = offset + u64::try_from(text.len()).unwrap_or(0);
        self.watchers.glimpse(Glimpse { run, request, call, offset, text, restarted });
    }
}

fn internal_failure(call: &CallId, message: &str) -> CallSettled {
    CallSettled {
        call_id: call.clone(),
        status: CallStatus::Failed,
        content: message.to_owned(),
        failure: Some(FailureInfo {
            kind: "internal".to_owned(),
            message: message.to_owned(),
            violations: Vec::new(),
        }),
        ..CallSettled::default()
    }
}
