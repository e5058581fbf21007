//! The trait that a tool implements and what it answers with: a [`Verdict`] before, an [`Output`]
//! or a [`Failure`] after. How a call comes here and who remembers its outcome is `calls.rs`'
//! business; what a tool says about itself is in `about.rs`, which is next.

use std::future::{Future, ready};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{About, Call, Failure, Intent};

/// One tool. An instance of it serves all calls, many at once.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Derive `Deserialize` and `JsonSchema` with `#[serde(deny_unknown_fields)]`;
    /// the doc comments of the fields are what a model reads.
    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// What the tool is for, what it is not for and how it behaves.
    fn about(&self) -> About;

    /// Judges these very arguments and changes nothing. It is asked before a person decides and
    /// again, with the same [`Call`] as [`Tool::invoke`], right before the work starts. A tool that
    /// does not always allow says [`About::asks`].
    fn preflight(&self, args: &Self::Args, call: &Call) -> impl Future<Output = Verdict> + Send {
        let _ = (args, call);
        ready(Verdict::Allow)
    }

    /// Does the work. The future is dropped when the call is cancelled or its time is up and the
    /// tool did not end by itself shortly after [`Call::cancellation`].
    ///
    /// # Errors
    /// A [`Failure`] says what happened in words that a model can act on.
    fn invoke(
        &self,
        args: Self::Args,
        call: &Call,
    ) -> impl Future<Output = Result<Output, Failure>> + Send;

    /// Says what became of a call whose process died before its outcome was known: `intent` is what
    /// it kept ([`Call::intend`]), if it came so far. Changes nothing, but for what such a call
    /// leaves lying about. Only asked of a tool that changes things, in a service with a store.
    fn recover(
        &self,
        intent: Option<&Intent>,
        call: &Call,
    ) -> impl Future<Output = Recovered> + Send {
        let _ = (intent, call);
        ready(Recovered::Unknown)
    }

    /// Takes back the effect of a settled call, or of one that was cut off. Only asked of a tool
    /// that says [`About::reversible`]. It may be asked again after it was cut off itself: where
    /// everything is as it was before the call, it is [`Rollback::Undone`].
    fn rollback(&self, undo: &Undo, call: &Call) -> impl Future<Output = Rollback> + Send {
        let _ = (undo, call);
        ready(Rollback::NotReversible("The tool has no way back.".to_owned()))
    }
}

/// What a tool thinks of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Allow,
    /// A person must decide.
    Ask {
        /// Why, one sentence.
        reason: String,
        /// What the person sees: the diff, the command. What it shows is what must run: keep what
        /// was looked at with [`Call::hold`].
        preview: String,
        /// The call destroys without undo.
        irreversible: bool,
    },
    /// Never, whoever asks.
    Block {
        /// Why and what is possible instead.
        reason: String,
    },
}

/// What a successful call returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Text for the model.
    pub content: String,
    /// The same for programs, at most 1 MiB as JSON text.
    pub structured: Option<Value>,
    /// Key for [`Tool::rollback`], if there is something to take back.
    pub undo_token: Option<String>,
    /// Remarks that are no failure.
    pub diagnostics: Vec<String>,
    /// The whole result where `content` is only a part of it, at most 1 MiB.
    pub artifact: Option<String>,
}

impl Output {
    /// Text for the model and nothing else.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Adds the same for programs.
    #[must_use]
    pub fn structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// Adds the key for [`Tool::rollback`].
    #[must_use]
    pub fn undo_token(mut self, token: impl Into<String>) -> Self {
        self.undo_token = Some(token.into());
        self
    }

    /// Adds a remark that is no failure.
    #[must_use]
    pub fn diagnostic(mut self, remark: impl Into<String>) -> Self {
        self.diagnostics.push(remark.into());
        self
    }

    /// Adds the whole result where `content` is only a part of it.
    #[must_use]
    pub fn artifact(mut self, whole: impl Into<String>) -> Self {
        self.artifact = Some(whole.into());
        self
    }
}

/// A wish to take back the effect of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// Token from the call's [`Output`]; the kit's own where the tool gave none, and empty where
    /// the output was lost.
    pub token: String,
    /// Only check whether it could be done.
    pub dry_run: bool,
    /// What to do where something changed since.
    pub mode: UndoMode,
    /// What the call kept; always there for a tool that keeps its intents and gives no token.
    pub intent: Option<Intent>,
    /// For a dry run: the facts that later calls of the service kept, which will have been taken
    /// back by then, in this order. What is there now is to be seen as if they had been. Facts of
    /// other tools may be among them.
    pub assumed: Vec<Intent>,
}

/// What a rollback does where something changed since the call. A tool that has no such way says
/// [`Rollback::NotReversible`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndoMode {
    /// Refuses with [`Rollback::Conflict`].
    #[default]
    Strict,
    /// Restores beside what is there now, under a name that says so.
    Beside,
    /// Restores all the same: what changed since is lost.
    Force,
}

/// What became of a call whose process died in the middle.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovered {
    /// The effect was had; this is the call's output.
    Done(Output),
    /// Nothing was changed: the call may be started again.
    Untouched,
    /// That cannot be found out.
    Unknown,
}

/// What became of a rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rollback {
    /// The effect is gone (or could go, for a dry run); says what was restored.
    Undone(String),
    /// Something changed since; says what. Nothing was done.
    Conflict(String),
    /// There is no way back; says why.
    NotReversible(String),
}
