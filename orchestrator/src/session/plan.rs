//! Looks before calls are taken back: every one is asked about first, and only if each of them can be
//! is the session asked to do it. Whatever changes something is `rollback.rs`, which is next.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::{
    error::{Refusal, SessionError},
    message::Takeback,
    registry::{Ownership, Sessions},
};
use crate::{
    call::{
        CallContext,
        undo::{Aim, Undo},
    },
    query,
    run::{
        call::Call,
        event::UndoStatus,
        ids::{CallId, SessionId},
        rollback::{Rollback, What},
        state::Session,
    },
};

/// Time for a look at all calls: a client waits for it.
const LOOK: Duration = Duration::from_secs(8);
/// Time in which a wish is answered, the look included, whether or not all is done by then: less than
/// a gateway waits for one answer.
const ANSWER: Duration = Duration::from_secs(8);
/// What of it is left for the doing at least.
const DOING: Duration = Duration::from_millis(500);
/// Time for a look at one call whose service does not answer.
const LOOK_AT_ONE: Duration = Duration::from_secs(3);

/// What would come of taking one call back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The call.
    pub call: CallId,
    /// How it would end.
    pub status: UndoStatus,
    /// What would be restored, or what is in the way.
    pub message: String,
}

/// What became of a wish to take calls back.
#[derive(Clone, Debug, PartialEq)]
pub enum TakenBack {
    /// Nothing was done: what would come of each call, in the order of undoing.
    Looked(Vec<Looked>),
    /// It was begun, and is over.
    Over(Rollback),
    /// It was begun, and this is how far it has come. A repeat under its key goes on waiting.
    GoesOn(Rollback),
}

impl Sessions {
    /// What a rollback would do; nothing changes.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], also for another team's session; `NotOwner`; [`Refusal::Busy`]
    /// and `Nothing`; `Damaged` and `Journal`.
    pub async fn look(
        &self,
        team: &str,
        id: &SessionId,
        what: &What,
    ) -> Result<Vec<Looked>, SessionError> {
        let journal = &*self.shared().journal;
        let (_, session) = query::session(journal, team, id, u64::MAX).await?;
        self.look_at(id, &session, what).await
    }

    /// Takes calls back, if all of them can be. A repeat under its key meets the rollback that was
    /// begun.
    ///
    /// # Errors
    /// As [`Sessions::look`], and [`Refusal::KeyReused`].
    pub async fn take_back(
        self: &Arc<Self>,
        team: &str,
        id: &SessionId,
        takeback: Takeback,
    ) -> Result<TakenBack, SessionError> {
        let begun = Instant::now();
        let journal = &*self.shared().journal;
        let fold = || query::session(journal, team, id, u64::MAX);
        let is_begun =
            |session: &Session| session.rollback_under(&takeback.key, &takeback.by).is_some();
        let (_, session) = fold().await?;
        let mut calls = Vec::new();
        if !is_begun(&session) {
            let looked = self.look_at(id, &session, &takeback.what).await?;
            let is_clear = looked.iter().all(|one| one.status == UndoStatus::Undone);
            // What is in the way may be that this very wish is being granted since: a request that
            // was sent twice.
            if looked.is_empty() || (!is_clear && !is_begun(&fold().await?.1)) {
                return Ok(TakenBack::Looked(looked));
            }
            calls = looked.into_iter().map(|one| one.call).collect();
        }
        let takeback = Takeback { calls, ..takeback };
        let done = self.with(id, |handle| {
            let (team, takeback) = (team.to_owned(), takeback.clone());
            async move { handle.take_back(team, takeback).await }
        });
        let until = (begun + ANSWER).max(Instant::now() + DOING);
        if let Ok(done) = timeout_at(until, done).await {
            return done.map(TakenBack::Over);
        }
        let (_, session) = fold().await?;
        let earlier = session.rollback_under(&takeback.key, &takeback.by);
        match earlier.or(session.undoing()).cloned() {
            Some(found) if found.next().is_none() => Ok(TakenBack::Over(found)),
            Some(found) => Ok(TakenBack::GoesOn(found)),
            // It is not even asked for: its actor is behind.
            None => Err(SessionError::Closed),
        }
    }

    async fn look_at(
        &self,
        id: &SessionId,
        session: &Session,
        what: &What,
    ) -> Result<Vec<Looked>, SessionError> {
        let shared = self.shared();
        let owned = shared.partitions.owned(id).ok_or(SessionError::NotOwner)?;
        if !session.is_idle() {
            return Err(Refusal::Busy.into());
        }
        let targets = session.targets(what).map_err(Refusal::Nothing)?;
        let over = Instant::now() + LOOK;
        let mut after = Vec::new();
        let mut looked = Vec::with_capacity(targets.len());
        for call in targets {
            let until = over.min(Instant::now() + LOOK_AT_ONE);
            let undo = Undo { call, aim: Aim::Look { after: &after }, until };
            let context = self.context(id, owned, session, call);
            let asked = shared.calls.undo(undo, &context).await;
            let (status, message) = asked.map_err(|_| SessionError::NotOwner)?;
            after.push(call.wanted.call_id.clone());
            looked.push(Looked { call: call.wanted.call_id.clone(), status, message });
        }
        Ok(looked)
    }

    fn context(
        &self,
        id: &SessionId,
        owned: Ownership,
        session: &Session,
        call: &Call,
    ) -> CallContext {
        let shared = self.shared();
        let run = session.call_in_run(&call.wanted.call_id).map(|(run, _)| run.input.run.clone());
        let opened = session.opened.clone().unwrap_or_default();
        CallContext {
            deployment: shared.config.deployment.clone(),
            session: id.clone(),
            run: run.unwrap_or_default(),
            call_id: call.wanted.call_id.clone(),
            partition: owned.partition,
            epoch: owned.epoch,
            team: opened.team,
            agent: opened.agent,
            workspace: shared.config.workspace.clone(),
            approver_attached: false,
            approve: Vec::new(),
            remaining: LOOK,
            now_ms: shared.clock.now_ms(),
        }
    }
}
