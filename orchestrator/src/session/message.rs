//! What a session actor understands.

use tokio::sync::{mpsc, oneshot};

use super::{error::SessionError, watchers::Notice};
use crate::run::{
    event::{Choice, InputReceived, OutcomeChosen, SessionOpened},
    ids::{CallId, RunId},
    rollback::{Rollback, What},
};

/// What a caller wants to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Only how the run ended.
    Result,
    /// Durable events.
    Facts,
    /// Durable events, and glimpses of what is being made.
    All,
}

/// An input.
#[derive(Debug)]
pub struct Start {
    /// How to open the session if it does not exist.
    pub open: SessionOpened,
    /// The input.
    pub input: InputReceived,
    /// Trace context of the request.
    pub trace_context: String,
    /// What the caller wants to hear.
    pub watch: Watch,
}

/// A run that is in the journal.
#[derive(Debug)]
pub struct Started {
    /// The run: the one that was asked for, or the one that an earlier request began.
    pub run: RunId,
    /// An earlier request under the same key began it, under a run id of its own.
    pub is_earlier: bool,
    /// It is over.
    pub is_over: bool,
    /// What comes of it; ends after [`Notice::Ended`].
    pub notices: mpsc::Receiver<Notice>,
}

/// A subscription to a session.
#[derive(Debug)]
pub struct Attached {
    /// Facts up to this number are in the journal and are not sent again.
    pub durable: u64,
    /// What comes after; ends when there is nothing more to tell.
    pub notices: mpsc::Receiver<Notice>,
}

/// A decision on a call.
#[derive(Debug)]
pub struct Decision {
    /// The call.
    pub call: CallId,
    /// Whether it may run.
    pub approve: bool,
    /// Who decides.
    pub by: String,
    /// Remark that the model sees.
    pub note: String,
    /// Idempotency key; empty for none.
    pub key: String,
    /// SHA-256 (lower-case hex) of the request's body.
    pub body_digest: String,
    /// Digest of the preview that was shown; empty for the recorded one.
    pub preview_digest: String,
}

/// What a person says of a call whose outcome is unknown.
#[derive(Debug)]
pub struct Wish {
    /// The call.
    pub call: CallId,
    /// What holds, or shall be done.
    pub choice: Choice,
    /// Who says so.
    pub by: String,
    /// Remark that the model sees.
    pub note: String,
    /// Idempotency key; empty for none.
    pub key: String,
    /// SHA-256 (lower-case hex) of the request's body.
    pub body_digest: String,
    /// Trace context of the request.
    pub trace_context: String,
}

/// A wish to take calls back.
#[derive(Clone, Debug)]
pub struct Takeback {
    /// What was asked for.
    pub what: What,
    /// The calls, in the order of undoing: each of them could be when it was looked at.
    pub calls: Vec<CallId>,
    /// Who asks.
    pub by: String,
    /// Idempotency key; empty for none.
    pub key: String,
    /// SHA-256 (lower-case hex) of the request's body.
    pub body_digest: String,
}

type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// A mailbox holds boxes of it, since it makes room for many at once.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is boxed as a whole")]
pub(super) enum Message {
    /// Open the session; answered once that is durable. Repeated by its team it changes nothing.
    Open { open: SessionOpened, reply: Reply<()> },
    /// Begin a run; answered once the input is durable.
    Start { start: Start, reply: Reply<Started> },
    /// Follow the session.
    Attach { team: String, watch: Watch, until_idle: bool, reply: Reply<Attached> },
    /// Decide; answered with whether it was the first and what stands, once durable.
    Decide { team: String, decision: Decision, reply: Reply<(bool, bool)> },
    /// Choose; answered with whether it was the first and what stands, once durable.
    Choose { team: String, wish: Wish, reply: Reply<(bool, OutcomeChosen)> },
    /// Take calls back; answered once that is over, and durable.
    TakeBack { team: String, takeback: Takeback, reply: Reply<Rollback> },
    /// Say why the run waits, or that it goes on.
    Paused(&'static str),
    /// End the current run; answered with whether there was one, once durable.
    Cancel { team: String, reason: String, reply: Reply<bool> },
}

impl Message {
    /// Answers with an error; a caller that is gone needs none.
    pub(super) fn refuse(self, error: SessionError) {
        match self {
            Self::Open { reply, .. } => drop(reply.send(Err(error))),
            Self::Start { reply, .. } => drop(reply.send(Err(error))),
            Self::Attach { reply, .. } => drop(reply.send(Err(error))),
            Self::Decide { reply, .. } => drop(reply.send(Err(error))),
            Self::Choose { reply, .. } => drop(reply.send(Err(error))),
            Self::TakeBack { reply, .. } => drop(reply.send(Err(error))),
            Self::Cancel { reply, .. } => drop(reply.send(Err(error))),
            Self::Paused(_) => {}
        }
    }
}
