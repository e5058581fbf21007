//! \[6\] The path of a tool call, stage by stage: may it run, then run it.
//!
//! [`CallPath::judge`] walks resolve → arguments → policy → preflight → approval,
//! [`CallPath::run`] limits → deadline → attempts → settle. What they say are the run's events; when
//! these are durable and who hears of them is left to the session actor. Next: `resolve`.

use std::sync::Arc;
use std::time::Duration;

use callboard_telemetry::{metrics, names, span};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

pub mod config;
pub mod record;
pub mod failure;
pub mod outcome;
pub(crate) mod pattern;
pub mod schema;

pub mod resolve;
pub mod arguments;
pub mod policy;
pub mod preflight;
pub mod approval;
pub mod limits;
pub mod deadline;
mod attempts;
pub mod pick;
pub mod eject;
pub mod retry;
pub mod settle;
pub mod builtin;
mod judge;
mod stop;
pub mod undo;
mod forget;

pub use self::config::Config;
pub use self::policy::{Policy, Rulebook};
pub use self::record::{Abandoned, Piece, Progress, Record, Recorder};

use self::attempts::{Attempts, Job, Made};
use self::builtin::{Builtin, Within};
use self::deadline::Deadline;
use self::failure::{Failure, Kind};
use self::limits::Limits;
use self::outcome::Ending;
use self::policy::Effect;
use self::settle::{Settler, Settling, millis};
use crate::artifacts::Artifacts;
use crate::catalog::tool::AnsweredBy;
use crate::catalog::{Catalog, Snapshot, Tool};
use crate::journal::Epoch;
use crate::run::event::{
    AttemptEnded, AttemptStarted, AttemptStatus, CallPlanned, CallSettled, Event, Verdict,
};
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
    /// What was decided on it.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: String,
    /// Attempts made so far.
    pub attempts: u32,
    /// An attempt that was started and whose end nobody knows: it is attached to first.
    pub resume: Option<AttemptStarted>,
}

/// The only way to a tool. Built once; shared by all sessions.
pub struct CallPath {
    config: Config,
    rules: Arc<Rulebook>,
    artifacts: Arc<dyn Artifacts>,
    limits: Limits,
    attempts: Attempts,
    settler: Settler,
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
    /// The configuration holds a pattern that cannot be read, or a number that allows nothing.
    pub fn new(
        config: Config,
        rules: Arc<Rulebook>,
        catalog: Arc<Catalog>,
        artifacts: Arc<dyn Artifacts>,
        seed: u64,
    ) -> Result<Self, config::Error> {
        config.check()?;
        let settler = Settler::new(&config, Arc::clone(&artifacts), seed)?;
        let attempts = Attempts::new(catalog, config.max_attempts, seed);
        let limits = Limits::new(&config)?;
        Ok(Self { config, rules, artifacts, limits, attempts, settler })
    }

    /// The catalog that names are resolved in.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.attempts.catalog
    }

    /// The rules that calls are judged by.
    pub fn rules(&self) -> &Arc<Rulebook> {
        &self.rules
    }

    /// Carries a call that may run to its one outcome. Events of its attempts go through
    /// `recorder`; progress is dropped where nobody takes it. Dropping the future drops the stream
    /// to the service, which is a hint to it and no more: see [`CallPath::stop`]. The duration of
    /// the outcome is the time that this took.
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
        let begun = Instant::now();
        let planned = &call.planned;
        let span = span::tool_call(&planned.tool, planned.call_id.as_str());
        let settled = async {
            let tool = self.tool_of(planned, context).await;
            let snapshot = self.catalog().snapshot();
            let (made, waited) = match tool.as_deref() {
                Some(tool) => self.make(tool, call, context, (recorder, &progress)).await?,
                None => (never_made(call, gone(planned)), Duration::ZERO),
            };
            let said = tool.as_ref().map(|tool| &tool.descriptor);
            let is_open_world = said.is_some_and(|said| said.annotations.open_world);
            let result_chars = said.and_then(|said| said.result_chars);
            let checks = match made.ending {
                Ending::Unknown { .. } => snapshot.checks(&context.team, &planned.service),
                Ending::Done(_) | Ending::Failed(_) => Vec::new(),
            };
            let settling = Settling {
                planned,
                checks: &checks,
                team: &context.team,
                session: &context.session,
                result_chars,
                is_open_world,
                attempts: made.attempts,
                took: begun.elapsed(),
            };
            span::set(&Span::current(), names::ATTEMPTS, i64::from(made.attempts));
            let settled = self.settler.settle(made.ending, settling).await;
            Ok(CallSettled { waited_ms: millis(waited), ..settled })
        }
        .instrument(span.clone())
        .await?;
        note(&span, call, &settled, begun.elapsed());
        self.catalog().call_ended(&planned.call_id);
        Ok(settled)
    }

    /// Limits, deadline, attempts; and how long the limits took.
    async fn make(
        &self,
        tool: &Tool,
        call: &Runnable,
        context: &CallContext,
        (recorder, progress): (&Recorder, &mpsc::Sender<Progress>),
    ) -> Result<(Made, Duration), Abandoned> {
        if let Some(unknown) = call.denied_effects.iter().find(|e| Effect::named(e).is_none()) {
            let words = format!("a rule takes away `{unknown}`, which this version cannot do");
            let failure = Failure::new(Kind::Internal, words);
            return Ok((never_made(call, failure), Duration::ZERO));
        }
        let begun = Instant::now();
        let timeout = Duration::from_millis(call.planned.timeout_ms);
        let deadline = Deadline::new(begun, context.remaining, timeout);
        let entered = self.limits.enter(&context.team, &tool.descriptor, deadline.at()).await;
        let waited = begun.elapsed();
        let job = Job { call, context, deadline, recorder, progress };
        let made = match (entered, tool.descriptor.answered_by) {
            // What was started holds a place at its service already: it is asked about all the same.
            (Err(failure), _) if call.resume.is_none() => never_made(call, failure),
            (Ok(_place), AnsweredBy::Us(builtin)) => {
                self.answer(builtin, call, context, recorder).await?
            }
            (_place, _) => self.attempts.run(job).await?,
        };
        Ok((made, waited))
    }

    /// Answers a call ourselves, in the same words as a service would.
    async fn answer(
        &self,
        builtin: Builtin,
        call: &Runnable,
        context: &CallContext,
        recorder: &Recorder,
    ) -> Result<Made, Abandoned> {
        let ended = |attempt, status| {
            Event::AttemptEnded(AttemptEnded {
                call_id: call.planned.call_id.clone(),
                attempt,
                status,
                detail: String::new(),
            })
        };
        if let Some(open) = &call.resume {
            recorder.record(ended(open.attempt, AttemptStatus::Unanswered)).await?;
        }
        let attempt = call.attempts + 1;
        let started = AttemptStarted {
            call_id: call.planned.call_id.clone(),
            attempt,
            instance: builtin::SERVICE.to_owned(),
            timeout_ms: call.planned.timeout_ms,
            ..AttemptStarted::default()
        };
        recorder.record(Event::AttemptStarted(started)).await?;
        let snapshot = self.catalog().snapshot();
        let within = Within {
            artifacts: &*self.artifacts,
            snapshot: &snapshot,
            team: &context.team,
            session: &context.session,
            limit: self.settler.limit_of(builtin.name(), None),
        };
        let answer = builtin::answer(builtin, &call.planned.arguments, within).await;
        recorder.record(ended(attempt, AttemptStatus::Answered)).await?;
        let ending = match answer {
            Ok(output) => Ending::Done(output),
            Err(failure) => Ending::Failed(failure),
        };
        Ok(Made { ending, attempts: attempt })
    }
}

impl CallPath {
    /// The tool as the call was planned with it, or as it is now; one that is away is given a moment
    /// to come back.
    async fn tool_of(&self, planned: &CallPlanned, context: &CallContext) -> Option<Arc<Tool>> {
        let end = Instant::now() + context.remaining;
        let find = |snapshot: &Snapshot| {
            snapshot
                .variant(&context.team, &planned.service, &planned.descriptor_digest)
                .or_else(|| snapshot.tool(&context.team, &planned.tool))
                .cloned()
        };
        self.catalog().wait_for(&planned.call_id, end, find).await
    }
}

/// What a call came to that got no attempt.
fn never_made(call: &Runnable, failure: Failure) -> Made {
    Made { ending: Ending::Failed(failure), attempts: call.attempts }
}

fn gone(planned: &CallPlanned) -> Failure {
    let words = format!("`{}` cannot be called now: its service is gone", planned.tool);
    Failure::new(Kind::Unavailable, words)
}

/// Says on the call's span and in the metrics how it ended.
fn note(span: &Span, call: &Runnable, settled: &CallSettled, took: Duration) {
    let (planned, status) = (&call.planned, settled.status.as_str());
    span::set(span, names::STATUS, status);
    span::set(span, names::SERVICE, planned.service.clone());
    span::set(span, names::VERDICT, call.verdict.as_str());
    span::set(span, names::RULE, call.rule.clone());
    span::set(span, names::WAITED, i64::try_from(settled.waited_ms).unwrap_or(i64::MAX));
    if let Some(failure) = &settled.failure {
        span::fail(span, &failure.kind, status);
    }
    metrics::tool_call(&planned.tool, status, took);
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
