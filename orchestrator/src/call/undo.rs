//! Asks a service to take back one call, or whether it could. Which calls, in which order, and what
//! follows is left to the session.

use std::{sync::Arc, time::Duration};

use callboard_proto::tool::rollback_response::Result as Answer;
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use callboard_proto::tool::{RollbackMode, RollbackRequest, ToolCall};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Code, Status};

use super::attempts::classify::{Phase, classify};
use super::attempts::{place, wire};
use super::record::Abandoned;
use super::retry::AttemptError;
use super::{CallContext, CallPath};
use crate::catalog::Instance;
use crate::run::call::Call;
use crate::run::event::{CallStatus, UndoStatus};
use crate::run::ids::CallId;

/// Pause before a service is asked again, or looked for again: one that was started anew has its
/// records, if it keeps them.
const PAUSE: Duration = Duration::from_millis(250);
/// Calls of which a dry run is told that they will have been taken back.
const MAX_ASSUMED: usize = 1_000;
/// Characters of an answer that are kept.
const MAX_WORDS: usize = 4_000;

/// A wish to take a call back.
#[derive(Clone, Copy, Debug)]
pub struct Undo<'a> {
    /// The call.
    pub call: &'a Call,
    /// What is wanted.
    pub aim: Aim<'a>,
    /// Until when its service is asked.
    pub until: Instant,
}

/// What is wanted of the service.
#[derive(Clone, Copy, Debug)]
pub enum Aim<'a> {
    /// Only to say whether it could be done, once these calls are taken back, in this order.
    Look {
        /// The calls that come after it.
        after: &'a [CallId],
    },
    /// To do it. The name is that of the wish: asked again under it, a service does nothing twice.
    Do {
        /// The name.
        name: &'a str,
    },
}

impl CallPath {
    /// Takes a call back, or finds out whether it could be; what came of it, in words for a person.
    /// Dropping the future asks no more; what was asked for may still happen.
    ///
    /// # Errors
    /// [`Abandoned::Fenced`]: this orchestrator may not act for the session any more.
    pub async fn undo(
        &self,
        undo: Undo<'_>,
        context: &CallContext,
    ) -> Result<(UndoStatus, String), Abandoned> {
        if self.left_nothing(undo.call, context) {
            return Ok((UndoStatus::Undone, "It changed nothing.".to_owned()));
        }
        let mut why = "its service is away; nothing was done";
        loop {
            match self.keeper(undo.call, context) {
                Keeper::At(instance) => match ask(&instance, undo, context).await {
                    Ok(answer) => return Ok(read(answer)),
                    Err(status) => {
                        if let Some(ended) = lasting(&status) {
                            return ended;
                        }
                        tracing::warn!(call = %context.call_id, %status, "rollback unanswered");
                        why = "its service did not answer; ask again to find out what it did";
                    }
                },
                Keeper::Away => {}
                Keeper::Gone => {
                    let words = "the instance that made the call is gone, and kept no record";
                    return Ok((UndoStatus::NotReversible, words.to_owned()));
                }
            }
            if Instant::now() + PAUSE >= undo.until {
                return Ok((UndoStatus::Failed, why.to_owned()));
            }
            sleep(PAUSE).await;
        }
    }

    /// Whether a call left nothing behind: its service keeps what it takes to go back, and gave no
    /// token for it.
    fn left_nothing(&self, call: &Call, context: &CallContext) -> bool {
        let (Some(planned), Some(settled)) = (&call.planned, &call.settled) else { return false };
        let snapshot = self.catalog().snapshot();
        let keeps = call.attempts.last().is_some_and(|last| !last.started.store.is_empty());
        let digest = &planned.descriptor_digest;
        let tool = snapshot.variant(&context.team, &planned.service, digest);
        settled.status == CallStatus::Ok
            && settled.undo_token.is_empty()
            && keeps
            && tool.is_some_and(|tool| tool.descriptor.is_reversible)
    }

    /// Who can take a call back: where it ran, or whoever shares the store.
    fn keeper(&self, call: &Call, context: &CallContext) -> Keeper {
        let Some((planned, last)) = call.planned.as_ref().zip(call.attempts.last()) else {
            return Keeper::Gone;
        };
        let (snapshot, started) = (self.catalog().snapshot(), &last.started);
        let instances = snapshot.instances_of(&context.team, &planned.service);
        match place::holder(instances, started) {
            Some(instance) => Keeper::At(instance),
            None if started.store.is_empty() && !instances.is_empty() => Keeper::Gone,
            None => Keeper::Away,
        }
    }
}

enum Keeper {
    At(Arc<Instance>),
    /// It may come back.
    Away,
    /// It will not.
    Gone,
}

async fn ask(
    instance: &Instance,
    undo: Undo<'_>,
    context: &CallContext,
) -> Result<Option<Answer>, Status> {
    let tool = undo.call.planned.as_ref().map_or("", |planned| planned.tool.as_str());
    let token = undo.call.settled.as_ref().map_or("", |settled| settled.undo_token.as_str());
    let (rollback_id, assumed_undone) = match undo.aim {
        Aim::Look { after } => ("", after.iter().take(MAX_ASSUMED).map(CallId::to_string)),
        Aim::Do { name } => (name, [].iter().take(0).map(CallId::to_string)),
    };
    let mut request = tonic::Request::new(RollbackRequest {
        call: Some(ToolCall {
            incarnation: instance.incarnation.clone(),
            attempt: 1,
            ..wire::call(context, tool, "")
        }),
        undo_token: token.to_owned(),
        dry_run: matches!(undo.aim, Aim::Look { .. }),
        rollback_id: rollback_id.to_owned(),
        mode: RollbackMode::Strict.into(),
        assumed_undone: assumed_undone.collect(),
    });
    request.set_timeout(undo.until.saturating_duration_since(Instant::now()));
    callboard_telemetry::propagate::inject(request.metadata_mut());
    let mut client = ToolServiceClient::new(instance.channel());
    let answer = timeout_at(undo.until, client.rollback(request)).await;
    Ok(answer.map_err(|_| Status::deadline_exceeded("no answer in time"))??.into_inner().result)
}

/// What a status says for good; `None` where asking again may help.
fn lasting(status: &Status) -> Option<Result<(UndoStatus, String), Abandoned>> {
    let failed = |why: String| Some(Ok((UndoStatus::Failed, why)));
    match classify(status, Phase::Opening).error {
        AttemptError::Fenced => Some(Err(Abandoned::Fenced)),
        AttemptError::Refused(failure) | AttemptError::Failed(failure) => failed(failure.message),
        AttemptError::Unauthenticated => failed("its service does not admit us".to_owned()),
        AttemptError::Unusable { .. } if status.code() == Code::Unimplemented => {
            let words = "its service takes nothing back".to_owned();
            Some(Ok((UndoStatus::NotReversible, words)))
        }
        AttemptError::Unusable { .. } => failed("its service failed inside".to_owned()),
        AttemptError::NotSent
        | AttemptError::Aborted
        | AttemptError::Exhausted
        | AttemptError::Unanswered(_)
        | AttemptError::UnknownCall
        | AttemptError::OutcomeGone => None,
    }
}

fn read(answer: Option<Answer>) -> (UndoStatus, String) {
    let (status, words) = match answer {
        Some(Answer::Undone(words)) => (UndoStatus::Undone, words),
        Some(Answer::Conflict(words)) => (UndoStatus::Conflict, words),
        Some(Answer::NotReversible(words)) => (UndoStatus::NotReversible, words),
        None => (UndoStatus::Failed, "its service gave no answer".to_owned()),
    };
    (status, words.chars().take(MAX_WORDS).collect())
}

#[cfg(test)]
mod tests;
