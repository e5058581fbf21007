//! What should be running now. Next: [`next`](super::next) derives the set from the state.

use super::{
    event::{AttemptStarted, Event},
    ids::{CallId, RollbackId, RunId},
};

/// Something to do. Two effects with the same key are the same effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Record a fact that follows from the state alone, then ask again.
    Record(Event),
    /// Begin the run of the first waiting input with the agent as it is now.
    StartRun(RunId),
    /// Ask a model.
    CallModel {
        /// Number of the request.
        request: u32,
        /// Whether tools are offered; the last word is asked for without.
        with_tools: bool,
    },
    /// Resolve, repair, validate and judge a call.
    Judge(CallId),
    /// Carry a call to its outcome.
    Invoke(CallId),
    /// End a call whose run is no longer wanted.
    Stop {
        /// The call.
        call: CallId,
        /// Where it may be running.
        attempt: AttemptStarted,
    },
    /// Take a call back.
    Undo {
        /// The rollback.
        rollback: RollbackId,
        /// The call.
        call: CallId,
    },
    /// Have whoever kept something of a removed session forget it.
    Forget,
    /// Note at a wall time (Unix, milliseconds) that nobody decided.
    Lapse {
        /// The call.
        call: CallId,
        /// When the question lapses.
        at_ms: i64,
    },
    /// Note that the run's working time is used up, this many milliseconds of work from the start.
    Expire {
        /// The bound in milliseconds.
        at_elapsed_ms: u64,
    },
}

/// What tells one effect from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A model request.
    Model(u32),
    /// The judging of a call.
    Judge(CallId),
    /// The attempts of a call.
    Invoke(CallId),
    /// The stopping of a call.
    Stop(CallId),
    /// The taking back of a call.
    Undo(CallId),
    /// The forgetting of a removed session.
    Forget,
    /// The lapse of a question.
    Lapse(CallId),
    /// The end of the working time.
    Expire,
}

impl Effect {
    /// The key of an effect that takes time; `None` for what is done at once.
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::Record(_) | Self::StartRun(_) => None,
            Self::CallModel { request, .. } => Some(Key::Model(*request)),
            Self::Judge(call) => Some(Key::Judge(call.clone())),
            Self::Invoke(call) => Some(Key::Invoke(call.clone())),
            Self::Stop { call, .. } => Some(Key::Stop(call.clone())),
            Self::Undo { call, .. } => Some(Key::Undo(call.clone())),
            Self::Forget => Some(Key::Forget),
            Self::Lapse { call, .. } => Some(Key::Lapse(call.clone())),
            Self::Expire { .. } => Some(Key::Expire),
        }
    }
}
