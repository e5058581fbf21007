//! The path of a tool call, stage by stage: may it run, then run it.
//!
//! [`CallPath::judge`] walks resolve → arguments → policy → preflight → approval,
//! [`CallPath::run`] limits → deadline → attempts → settle. What it produces are the run's events;
//! when they are durable and who hears of them is left to the session actor. Next: `resolve`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

pub mod config;
pub mod policy;
pub mod record;

pub use self::config::Config;
pub use self::policy::Policy;
pub use self::record::{Abandoned, Progress, Record, Recorder};

use crate::artifacts::Artifacts;
use crate::catalog::Catalog;
use crate::journal::Epoch;
use crate::run::event::{AttemptStarted, CallPlanned, CallSettled, Event, WantedCall};
use crate::run::ids::{CallId, RunId, SessionId};

/// Whose call it is, and under which conditions.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Deployment that the orchestrator belongs to; epochs are compared within it.
    pub deployment: String,
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call_id: CallId,
    /// Partition of the session.
    pub partition: u32,
    /// Epoch under which the session's actor was woken.
    pub epoch: Epoch,
    /// Team that owns the session.
    pub team: String,
    /// Name of the agent.
    pub agent: String,
    /// Id of the workspace to work in; empty for none.
    pub workspace: String,
    /// Whether somebody can be asked for approvals.
    pub approver_attached: bool,
    /// Globs of tools approved beforehand.
    pub approve: Vec<String>,
    /// Working time that the run has left.
    pub remaining: Duration,
    /// Wall clock, Unix time in milliseconds; only questions to people are dated by it.
    pub now_ms: i64,
}

/// A call that may run.
#[derive(Clone, Debug, Default)]
pub struct Runnable {
    /// As it was planned and judged.
    pub planned: CallPlanned,
    /// Digest of the preview that was approved; empty if nothing was asked.
    pub approved_preview: String,
    /// Effects taken away from the call: `read`, `write`, `execute`, `network`.
    pub denied_effects: Vec<String>,
    /// Attempts made so far.
    pub attempts: u32,
    /// An attempt that was started and whose end nobody knows: it is attached to first.
    pub resume: Option<AttemptStarted>,
}

/// The only way to a tool. Built once; shared by all sessions.
pub struct CallPath {
    config: Config,
    policy: Policy,
    catalog: Arc<Catalog>,
    artifacts: Arc<dyn Artifacts>,
}

impl std::fmt::Debug for CallPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallPath").finish_non_exhaustive()
    }
}

impl CallPath {
    /// A path over a catalog. `seed` makes its random choices repeatable in tests.
    ///
    /// # Errors
    /// The configuration holds a pattern that cannot be read.
    pub fn new(
        config: Config,
        policy: Policy,
        catalog: Arc<Catalog>,
        artifacts: Arc<dyn Artifacts>,
        seed: u64,
    ) -> Result<Self, config::Error> {
        let _ = seed;
        Ok(Self { config, policy, catalog, artifacts })
    }

    /// The catalog that names are resolved in.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// May the call run? `CallPlanned`, `CallJudged`, where the verdict is `ask` `ApprovalAsked`
    /// and, if nobody need be asked for that, `ApprovalDecided`; `CallSettled` where it ends here.
    /// Dropping the future leaves nothing behind.
    pub async fn judge(&self, wanted: &WantedCall, context: &CallContext) -> Vec<Event> {
        let _ = (wanted, context, &self.config, &self.policy, &self.artifacts);
        Vec::new()
    }

    /// Carries a call that may run to its one outcome. Events of its attempts go through
    /// `recorder`; progress is dropped where nobody takes it. Dropping the future drops the stream
    /// to the service, which is a hint to it and no more: see [`CallPath::stop`].
    ///
    /// # Errors
    /// [`Abandoned`]: this orchestrator may not act for the session any more.
    pub async fn run(
        &self,
        call: &Runnable,
        context: &CallContext,
        recorder: &Recorder,
        progress: mpsc::Sender<Progress>,
    ) -> Result<CallSettled, Abandoned> {
        let _ = (call, context, recorder, progress);
        Err(Abandoned::Closed)
    }

    /// Asks the instance of an attempt to end the call; does not wait for what becomes of it.
    pub async fn cancel(&self, attempt: &AttemptStarted, context: &CallContext) {
        let _ = (attempt, context);
    }

    /// Ends a call that is no longer wanted, after the future of [`CallPath::run`] was dropped:
    /// asks its instance to end it and waits at most 2 s for what became of it. The open attempt is
    /// ended through `recorder`.
    ///
    /// # Errors
    /// [`Abandoned`] as in [`CallPath::run`].
    pub async fn stop(
        &self,
        call: &Runnable,
        context: &CallContext,
        recorder: &Recorder,
    ) -> Result<CallSettled, Abandoned> {
        let _ = (call, context, recorder);
        Err(Abandoned::Closed)
    }
}
