//! The facts of a session. What is stored is `callboard.journal.v1`; this is how we think about it.
//!
//! Events are past tense and hold everything that the fold needs. Next: `state`.

use serde::{Deserialize, Serialize};

use super::ids::{CallId, RunId};

/// An event with what every event carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its number in the session, from 1, without gaps.
    pub seq: u64,
    /// When it was recorded, Unix time in milliseconds; orders nothing.
    pub wall_ms: i64,
    /// Working time of the run so far in milliseconds; waiting for a person does not count.
    pub elapsed_ms: u64,
    /// W3C `traceparent` of the run where the event starts one; else empty.
    pub trace_context: String,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// A session begins.
    #[serde(rename = "session.opened")]
    SessionOpened(SessionOpened),
    /// Another incarnation of an orchestrator took the session over.
    #[serde(rename = "owner.taken")]
    OwnerTaken(OwnerTaken),
    /// Somebody wants something.
    #[serde(rename = "input.received")]
    InputReceived(InputReceived),
    /// Work on an input begins.
    #[serde(rename = "run.started")]
    RunStarted(RunStarted),
    /// A model is asked.
    #[serde(rename = "model.requested")]
    ModelRequested(ModelRequested),
    /// A model answered.
    #[serde(rename = "model.replied")]
    ModelReplied(ModelReplied),
    /// A model call failed for good.
    #[serde(rename = "model.failed")]
    ModelFailed(ModelFailed),
    /// A call has a tool and arguments that fit its schema.
    #[serde(rename = "call.planned")]
    CallPlanned(CallPlanned),
    /// The verdict on a call.
    #[serde(rename = "call.judged")]
    CallJudged(CallJudged),
    /// A person is asked.
    #[serde(rename = "approval.asked")]
    ApprovalAsked(ApprovalAsked),
    /// The question is answered.
    #[serde(rename = "approval.decided")]
    ApprovalDecided(ApprovalDecided),
    /// A call is sent to an instance.
    #[serde(rename = "attempt.started")]
    AttemptStarted(AttemptStarted),
    /// An attempt is over.
    #[serde(rename = "attempt.ended")]
    AttemptEnded(AttemptEnded),
    /// A call has its one outcome.
    #[serde(rename = "call.settled")]
    CallSettled(CallSettled),
    /// The run makes no progress; the model is told once.
    #[serde(rename = "progress.missed")]
    ProgressMissed(ProgressMissed),
    /// A bound of the run is reached.
    #[serde(rename = "limit.hit")]
    LimitHit(LimitHit),
    /// Somebody wants the run to end.
    #[serde(rename = "cancel.asked")]
    CancelAsked(CancelAsked),
    /// The run is over.
    #[serde(rename = "run.ended")]
    RunEnded(RunEnded),
}

impl Event {
    /// The event's type as clients and the journal name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionOpened(_) => "session.opened",
            Self::OwnerTaken(_) => "owner.taken",
            Self::InputReceived(_) => "input.received",
            Self::RunStarted(_) => "run.started",
            Self::ModelRequested(_) => "model.requested",
            Self::ModelReplied(_) => "model.replied",
            Self::ModelFailed(_) => "model.failed",
            Self::CallPlanned(_) => "call.planned",
            Self::CallJudged(_) => "call.judged",
            Self::ApprovalAsked(_) => "approval.asked",
            Self::ApprovalDecided(_) => "approval.decided",
            Self::AttemptStarted(_) => "attempt.started",
            Self::AttemptEnded(_) => "attempt.ended",
            Self::CallSettled(_) => "call.settled",
            Self::ProgressMissed(_) => "progress.missed",
            Self::LimitHit(_) => "limit.hit",
            Self::CancelAsked(_) => "cancel.asked",
            Self::RunEnded(_) => "run.ended",
        }
    }
}

/// A session begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Team that it belongs to.
    pub team: String,
    /// What kind of session.
    pub kind: SessionKind,
    /// Name of the agent.
    pub agent: String,
    /// Title; may be empty.
    pub title: String,
    /// Idempotency key of the request that opened it.
    pub key: String,
    /// Models chosen for the session instead of the agent's.
    pub models: Vec<String>,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A conversation.
    #[default]
    Chat,
    /// Tool calls without a model.
    Direct,
}

/// Another incarnation of an orchestrator took the session over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnerTaken {
    /// Incarnation of the owner.
    pub owner: String,
}

/// Somebody wants something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputReceived {
    /// The run that will work on it.
    pub run: RunId,
    /// What is wanted.
    pub input: Input,
    /// Idempotency key of the request.
    pub key: String,
    /// SHA-256 (lower-case hex) of the request's body.
    pub body_digest: String,
    /// Whether somebody can be asked for approvals.
    pub approver_attached: bool,
    /// Globs of tools approved beforehand.
    pub approve: Vec<String>,
    /// Bounds asked for; 0 means the agent's own.
    pub limits: Limits,
    /// Who said it.
    pub principal: String,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A person's words, for the model.
    Text(String),
    /// One tool call, without a model.
    Direct {
        /// The tool's name as it was given.
        tool: String,
        /// Arguments as they came.
        arguments: String,
    },
}

impl Default for Input {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Bounds of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model replies.
    pub max_steps: u32,
    /// Tool calls of the run.
    pub max_calls: u32,
    /// Tool calls at once.
    pub max_parallel: u32,
    /// Working time in milliseconds.
    pub max_time_ms: u64,
    /// Input and output tokens together; 0 = no bound.
    pub max_tokens: u64,
}

/// Work on an input begins: the agent's snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// Name of the agent.
    pub agent: String,
    /// Models in order of preference.
    pub models: Vec<String>,
    /// Bounds of the run, every one set.
    pub limits: Limits,
    /// System prompt, word for word.
    pub system_prompt: String,
    /// Budget for the context of one model call, in tokens as estimated.
    pub context_tokens: u32,
}

/// A model is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequested {
    /// The run.
    pub run: RunId,
    /// Number of the request in the run, from 1.
    pub request: u32,
    /// The preferred model.
    pub model: String,
    /// Names of the tools offered, in order.
    pub offered: Vec<String>,
    /// SHA-256 (lower-case hex) of the offered descriptors.
    pub offered_digest: String,
    /// SHA-256 (lower-case hex) of the messages.
    pub prompt_digest: String,
}

/// A model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReplied {
    /// The run.
    pub run: RunId,
    /// The request.
    pub request: u32,
    /// The whole text.
    pub text: String,
    /// Reasoning text, kept for providers that want it back.
    pub reasoning: String,
    /// The calls it asks for, in order.
    pub calls: Vec<WantedCall>,
    /// Input tokens as the provider counts them.
    pub input_tokens: u64,
    /// Output tokens as the provider counts them.
    pub output_tokens: u64,
    /// Why the model stopped.
    pub finish: Finish,
    /// The model that answered.
    pub model: String,
}

/// A call as the model asked for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WantedCall {
    /// Ours.
    pub call_id: CallId,
    /// The model's own id, unique within the reply.
    pub model_id: String,
    /// Name as the model wrote it.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    #[default]
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// Its output limit was reached.
    Length,
    /// The provider's filter stepped in.
    ContentFilter,
    /// The model says that it cannot do what was asked.
    GaveUp,
    /// Something that we do not know.
    Other,
}

/// A model call failed for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFailed {
    /// The run.
    pub run: RunId,
    /// The request.
    pub request: u32,
    /// Kind, such as `unavailable`.
    pub kind: String,
    /// A sentence for a person.
    pub message: String,
}

/// How a call may be retried after an unclear failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It changes nothing.
    Read,
    /// Repeating it changes nothing more.
    Idempotent,
    /// Everything else.
    #[default]
    Write,
}

/// A call has a tool and arguments that fit its schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallPlanned {
    /// The call.
    pub call_id: CallId,
    /// Tool as resolved.
    pub tool: String,
    /// Service that offers it.
    pub service: String,
    /// Digest of the descriptor under which it was planned.
    pub descriptor_digest: String,
    /// Arguments after repair: the bytes that are shown, judged and sent.
    pub arguments: String,
    /// SHA-256 (lower-case hex) of `arguments`.
    pub arguments_digest: String,
    /// What was repaired or coerced, a line each.
    pub repairs: Vec<String>,
    /// How the call may be retried.
    pub class: Class,
    /// Milliseconds that one attempt may take.
    pub timeout_ms: u64,
}

/// What may become of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    #[default]
    Allow,
    /// A person must decide.
    Ask,
    /// Never.
    Block,
}

/// The verdict on a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallJudged {
    /// The call.
    pub call_id: CallId,
    /// The stricter of policy and preflight.
    pub verdict: Verdict,
    /// The rule that gave it; `preflight` where the tool itself did.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// Effects taken away from the call: `read`, `write`, `execute`, `network`.
    pub denied_effects: Vec<String>,
}

/// A person is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAsked {
    /// The call.
    pub call_id: CallId,
    /// What the person sees.
    pub preview: String,
    /// SHA-256 (lower-case hex) of `preview`.
    pub preview_digest: String,
    /// Why the person is asked.
    pub reason: String,
    /// When the question lapses, Unix time in milliseconds.
    pub expires_ms: i64,
}

/// The question is answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    /// The call.
    pub call_id: CallId,
    /// Whether it may run.
    pub approved: bool,
    /// Who decided: a principal, `flag`, `timeout` or `nobody`.
    pub by: String,
    /// Remark that the model sees.
    pub note: String,
    /// Idempotency key of the decision.
    pub key: String,
}

/// A call is sent to an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// The call.
    pub call_id: CallId,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Instance that it goes to.
    pub instance: String,
    /// Incarnation of the instance.
    pub incarnation: String,
    /// Store of the instance; empty for memory only.
    pub store: String,
    /// Time that the attempt may take, in milliseconds.
    pub timeout_ms: u64,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// The service gave an outcome.
    #[default]
    Answered,
    /// Nothing was started.
    NotSent,
    /// It may have been started; no outcome came.
    Unanswered,
    /// The service refused it for good.
    Refused,
}

/// An attempt is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnded {
    /// The call.
    pub call_id: CallId,
    /// Number of the attempt.
    pub attempt: u32,
    /// How it ended.
    pub status: AttemptStatus,
    /// What the transport said, for people who debug; no address.
    pub detail: String,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It did what was asked.
    #[default]
    Ok,
    /// It did not.
    Failed,
    /// A person (or nobody) said no.
    Denied,
    /// A rule or the tool refused it.
    Blocked,
    /// The run was cancelled first.
    Cancelled,
    /// It may or may not have taken effect.
    OutcomeUnknown,
}

/// A call has its one outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallSettled {
    /// The call.
    pub call_id: CallId,
    /// How it ended.
    pub status: CallStatus,
    /// Text for the model: the result, or the failure with a way out.
    pub content: String,
    /// Structured content, JSON text; empty if there is none.
    pub structured: String,
    /// The failure; `None` on success.
    pub failure: Option<FailureInfo>,
    /// Id of the artifact that holds the whole; empty if `content` does.
    pub artifact: String,
    /// Token for a rollback.
    pub undo_token: String,
    /// Time from planned to settled, in milliseconds.
    pub duration_ms: u64,
    /// Whether the content comes from the open world.
    pub untrusted: bool,
}

/// A failure as it is kept and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureInfo {
    /// Kind, such as `invalid_arguments`.
    pub kind: String,
    /// What happened and a way out.
    pub message: String,
    /// Everything wrong with the arguments.
    pub violations: Vec<Violation>,
}

/// One thing wrong with arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON pointer, empty for the whole.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// The run makes no progress; the model is told once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgressMissed {
    /// The run.
    pub run: RunId,
    /// What was noticed, in words for the model.
    pub message: String,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Model replies.
    #[default]
    Steps,
    /// Tool calls.
    Calls,
    /// Working time.
    Time,
    /// Tokens.
    Tokens,
    /// The run was stuck.
    Progress,
}

/// A bound of the run is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitHit {
    /// The run.
    pub run: RunId,
    /// Which bound.
    pub limit: Limit,
    /// A sentence that names the bound and how to raise it.
    pub message: String,
}

/// Somebody wants the run to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CancelAsked {
    /// The run.
    pub run: RunId,
    /// Why.
    pub reason: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// With an answer.
    #[default]
    Completed,
    /// Without one.
    Failed,
    /// A call was denied or blocked and none succeeded after it.
    Denied,
    /// A bound was reached.
    LimitReached,
    /// Somebody ended it.
    Cancelled,
}

/// The run is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run.
    pub run: RunId,
    /// How.
    pub status: RunStatus,
    /// The answer, or the sentence that says why there is none.
    pub answer: String,
    /// Machine-readable reason of an end that is not `completed`.
    pub reason: String,
}
