//! What makes the repeat of a request harmless: its key, within its session, its route and its
//! principal, and the digest of its body. Keys are facts of the journal, so they outlive the process
//! and hold for as long as the session does.

use super::{
    actor::SessionActor,
    error::{Refusal, SessionError},
    message::{Decision, Wish},
};
use crate::run::{
    event::{ApprovalDecided, InputReceived, OutcomeChosen, SessionOpened},
    ids::RunId,
};

impl SessionActor {
    /// The run that an earlier request with the same key, or the very same request, has begun.
    ///
    /// # Errors
    /// [`Refusal::KeyReused`].
    pub(super) fn earlier_run(&self, asked: &InputReceived) -> Result<Option<RunId>, SessionError> {
        let runs =
            self.session.ended.iter().chain(self.session.current.as_deref()).map(|run| &run.input);
        let mut inputs = runs.chain(self.session.waiting.iter().map(|waiting| &waiting.input));
        match inputs.find(|earlier| is_same(earlier, asked)) {
            Some(earlier) if earlier.body_digest == asked.body_digest => {
                Ok(Some(earlier.run.clone()))
            }
            Some(_) => Err(Refusal::KeyReused.into()),
            None => Ok(None),
        }
    }
}

fn is_same(earlier: &InputReceived, asked: &InputReceived) -> bool {
    let has_key =
        !asked.key.is_empty() && earlier.key == asked.key && earlier.principal == asked.principal;
    has_key || earlier.run == asked.run
}

/// Whether a session was opened by this request or an earlier one like it.
///
/// # Errors
/// [`Refusal::KeyReused`].
pub(super) fn check_key(opened: &SessionOpened, asked: &SessionOpened) -> Result<(), SessionError> {
    let is_other =
        !asked.key.is_empty() && opened.key == asked.key && opened.body_digest != asked.body_digest;
    if is_other { Err(Refusal::KeyReused.into()) } else { Ok(()) }
}

/// Whether a decision is the one that stands, told once more.
///
/// # Errors
/// [`Refusal::KeyReused`].
pub(super) fn is_repeat(stands: &ApprovalDecided, asked: &Decision) -> Result<bool, SessionError> {
    let has_key = !asked.key.is_empty() && stands.key == asked.key && stands.by == asked.by;
    if has_key && stands.body_digest != asked.body_digest {
        return Err(Refusal::KeyReused.into());
    }
    Ok(has_key)
}

/// Whether a choice is the one that stands, told once more.
///
/// # Errors
/// [`Refusal::KeyReused`].
pub(super) fn is_same_choice(stands: &OutcomeChosen, wish: &Wish) -> Result<bool, SessionError> {
    let has_key = !wish.key.is_empty() && stands.key == wish.key && stands.by == wish.by;
    if has_key && stands.body_digest != wish.body_digest {
        return Err(Refusal::KeyReused.into());
    }
    Ok(has_key)
}
