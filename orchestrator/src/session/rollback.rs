//! Takes calls back: records what was asked, lets the fold say which call is next, and answers once
//! the last one is done with.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};
use uuid::Uuid;

use super::{
    actor::SessionActor,
    effects::{Done, passed},
    error::{Refusal, SessionError},
    message::Takeback,
};
use crate::{
    call::undo::{Aim, Undo},
    crash::crash_point,
    run::{
        effect::Key,
        event::{Event, RollbackAsked, RollbackEnded, RollbackStarted},
        ids::{CallId, RollbackId},
        rollback::Rollback,
    },
};

/// Time for a service to take one call back, its restart included: within what a gateway waits.
const LIMIT: Duration = Duration::from_secs(12);

/// Somebody who waits for the end of a rollback.
pub(super) type Waiter = (RollbackId, oneshot::Sender<Result<Rollback, SessionError>>);

impl SessionActor {
    pub(super) fn take_back(
        &mut self,
        takeback: Takeback,
        reply: oneshot::Sender<Result<Rollback, SessionError>>,
    ) {
        match self.begin_takeback(takeback) {
            Ok(rollback) => {
                self.waiters.push((rollback, reply));
                self.answer_rollbacks();
            }
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    fn begin_takeback(&mut self, takeback: Takeback) -> Result<RollbackId, SessionError> {
        if let Some(earlier) = self.session.rollback_under(&takeback.key, &takeback.by) {
            if earlier.asked.body_digest != takeback.body_digest {
                return Err(Refusal::KeyReused.into());
            }
            return Ok(earlier.asked.rollback.clone());
        }
        let targets = self.session.targets(&takeback.what).map_err(Refusal::Nothing)?;
        let is_as_looked_at = targets.iter().map(|call| &call.wanted.call_id).eq(&takeback.calls);
        if !self.session.is_idle() || !is_as_looked_at {
            return Err(Refusal::Busy.into());
        }
        crash_point!("rollback.before_asked");
        let rollback = RollbackId::from(Uuid::now_v7().to_string());
        self.record(Event::RollbackAsked(RollbackAsked {
            rollback: rollback.clone(),
            calls: takeback.calls,
            by: takeback.by,
            key: takeback.key,
            body_digest: takeback.body_digest,
        }));
        Ok(rollback)
    }

    /// Begins to take one call back; what is begun is durable before its service hears of it.
    pub(super) fn undo(&mut self, key: Key, rollback: &RollbackId, id: &CallId) {
        let is_begun = self.session.undoing().is_some_and(|undoing| undoing.is_begun);
        if !is_begun {
            let (rollback, call_id) = (rollback.clone(), id.clone());
            self.record(Event::RollbackStarted(RollbackStarted { rollback, call_id }));
        }
        let Some((run, call)) = self.session.call_in_run(id) else { return };
        let Some(context) = self.context_of(run, id) else { return };
        let (call, calls) = (call.clone(), Arc::clone(&self.shared.calls));
        let gate = self.log.tail_is_durable();
        let (rollback, call_id) = (rollback.clone(), id.clone());
        self.spawn(key, async move {
            if !passed(Some(gate)).await {
                return Done::Closed;
            }
            let aim = Aim::Do { name: rollback.as_str() };
            let undo = Undo { call: &call, aim, until: Instant::now() + LIMIT };
            crash_point!("rollback.before_send");
            let ended = calls.undo(undo, &context).await;
            crash_point!("rollback.after_answer");
            let rollback = rollback.clone();
            Done::Undone(ended.map(|(status, message)| RollbackEnded {
                rollback,
                call_id,
                status,
                message,
            }))
        });
    }

    /// Answers those whose rollback is over, once that is durable.
    pub(super) fn answer_rollbacks(&mut self) {
        for (id, reply) in std::mem::take(&mut self.waiters) {
            let mut all = self.session.rollbacks.iter();
            match all.find(|rollback| rollback.asked.rollback == id) {
                Some(found) if found.next().is_none() => {
                    let found = found.clone();
                    self.answer_when_durable(reply, Ok(found));
                }
                // Who went away asks again.
                Some(_) if reply.is_closed() => {}
                Some(_) => self.waiters.push((id, reply)),
                None => drop(reply.send(Err(SessionError::Closed))),
            }
        }
    }
}
