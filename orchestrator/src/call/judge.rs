//! May a call run? Walks the stages before the attempts and says what they found as events.
//!
//! Each stage decides in its own file; here is only their order. What happens to a call that may
//! run is in `call.rs`.

use std::sync::Arc;
use std::time::Duration;

use callboard_telemetry::metrics;
use tokio::time::Instant;

use super::approval;
use super::arguments::{self, Misfit};
use super::attempts::wire;
use super::failure::{Failure, Kind};
use super::policy::{Case, Judgement, Subject};
use super::preflight::{self, Opinion};
use super::resolve::{Unresolved, resolve};
use super::{CallContext, CallPath, settle};
use crate::catalog::{Descriptor, Tool};
use crate::digest::sha256;
use crate::run::event::{CallPlanned, CallSettled, Event, Verdict, WantedCall};

/// What metrics call a tool that nobody offers.
const UNKNOWN_TOOL: &str = "_OTHER";

impl CallPath {
    /// May the call run? `CallPlanned`, `CallJudged`, where the verdict is `ask` `ApprovalAsked`
    /// and, if nobody need be asked for that, `ApprovalDecided`; `CallSettled` where it ends here.
    /// A service that is away is given a moment to come back, and one that is being asked what it
    /// offers to say so. Dropping the future leaves nothing behind.
    pub async fn judge(&self, wanted: &WantedCall, context: &CallContext) -> Vec<Event> {
        let end = Instant::now() + context.remaining;
        let mut changes = self.catalog().changes();
        loop {
            let is_ready = changes.borrow_and_update().ready();
            let mut events = Vec::new();
            let failure = self.judge_now(wanted, context, &mut events).await.err();
            let may_change = failure.as_ref().is_some_and(|failure| {
                failure.kind == Kind::Unavailable
                    // The name may be that of a tool of which nobody has told yet.
                    || (failure.kind == Kind::NotFound && !is_ready)
            });
            if may_change && self.catalog().changed(&mut changes, &wanted.call_id, end).await {
                continue;
            }
            if let Some(failure) = failure {
                self.catalog().call_ended(&wanted.call_id);
                let settled = settle::refused(&wanted.call_id, &failure);
                events.push(Event::CallSettled(settled));
            }
            if let Some(Event::CallSettled(settled)) = events.last() {
                let tool = match events.first() {
                    Some(Event::CallPlanned(planned)) => &planned.tool,
                    _ => UNKNOWN_TOOL,
                };
                count(tool, settled);
            }
            return events;
        }
    }

    /// The same at this moment; the failure that ends the call comes after `events`.
    async fn judge_now(
        &self,
        wanted: &WantedCall,
        context: &CallContext,
        events: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        let (tool, planned) = self.plan(wanted, &context.team)?;
        events.push(Event::CallPlanned(planned.clone()));
        let subject =
            Subject { team: &context.team, agent: &context.agent, tool: &tool.descriptor };
        let judgement = self.rules.policy().judge(Case {
            subject,
            arguments: &planned.arguments,
            now_ms: context.now_ms,
        });
        let opinion = self.opinion(&tool, &planned, &judgement, context).await?;
        let judgement = approval::stricter(judgement, &opinion);
        let lasts = i64::try_from(self.config.approval_timeout_ms).unwrap_or(i64::MAX);
        let expires_ms = context.now_ms.saturating_add(lasts);
        events.extend(approval::events(&planned, &judgement, &opinion, context, expires_ms));
        Ok(())
    }

    /// What the rules alone say of a call, which is not made: nothing is recorded, and the tool is
    /// not asked.
    ///
    /// # Errors
    /// The call could not be made at all.
    pub fn rehearse(
        &self,
        wanted: &WantedCall,
        (team, agent, now_ms): (&str, &str, i64),
    ) -> Result<(Arc<Descriptor>, Judgement), Failure> {
        let (tool, planned) = self.plan(wanted, team)?;
        let subject = Subject { team, agent, tool: &tool.descriptor };
        let case = Case { subject, arguments: &planned.arguments, now_ms };
        Ok((Arc::clone(&tool.descriptor), self.rules.policy().judge(case)))
    }

    /// Resolve and arguments.
    fn plan(&self, wanted: &WantedCall, team: &str) -> Result<(Arc<Tool>, CallPlanned), Failure> {
        let snapshot = self.catalog().snapshot();
        let resolved =
            resolve(&wanted.name, team, &snapshot).map_err(|error| unresolved(&error))?;
        let tool = resolved.tool;
        let descriptor = &tool.descriptor;
        let Some(schema) = &descriptor.schema else {
            let words = format!("`{}` cannot be called: its schema is not usable", descriptor.name);
            return Err(Failure::new(Kind::Unavailable, words));
        };
        let prepared = arguments::prepare(&wanted.arguments, schema)
            .map_err(|misfit| misfits(&descriptor.name, misfit))?;
        let mut repairs: Vec<String> = resolved.repair.into_iter().collect();
        repairs.extend(prepared.repairs);
        let timeout = descriptor.timeout.unwrap_or_else(|| self.config.timeout());
        let planned = CallPlanned {
            call_id: wanted.call_id.clone(),
            tool: descriptor.name.clone(),
            service: descriptor.service.clone(),
            descriptor_digest: descriptor.digest.clone(),
            arguments_digest: sha256(&prepared.text),
            arguments: prepared.text,
            repairs,
            class: descriptor.class(),
            timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        };
        Ok((tool, planned))
    }

    /// What the tool thinks of the call, where its opinion can still change something.
    async fn opinion(
        &self,
        tool: &Tool,
        planned: &CallPlanned,
        judgement: &Judgement,
        context: &CallContext,
    ) -> Result<Opinion, Failure> {
        if !tool.descriptor.has_preflight || judgement.verdict == Verdict::Block {
            return Ok(Opinion::Allow);
        }
        let mut call = wire::call(context, &planned.tool, &planned.arguments);
        call.denied_effects = judgement.denied_effects.iter().map(|e| wire::effect(*e)).collect();
        let limit = self.config.preflight_timeout().min(context.remaining);
        let chooser = &self.attempts.chooser;
        let pick = |avoid: Option<&str>| chooser.pick(tool, context, avoid);
        preflight::ask(&call, limit, pick, || chooser.draw()).await
    }
}

/// Counts a call that ends before anything is sent.
fn count(tool: &str, settled: &CallSettled) {
    metrics::tool_call(tool, settled.status.as_str(), Duration::ZERO);
}

fn unresolved(error: &Unresolved) -> Failure {
    let kind = match error {
        Unresolved::Unknown { .. } | Unresolved::Ambiguous { .. } => Kind::NotFound,
        Unresolved::Withheld { .. } => Kind::Unavailable,
    };
    Failure::new(kind, error.to_string())
}

fn misfits(tool: &str, misfit: Misfit) -> Failure {
    Failure {
        violations: misfit.violations,
        ..Failure::new(misfit.kind, format!("`{tool}` was not run: {}", misfit.message))
    }
}
