//! Our calls as wire messages.

use callboard_proto::tool::{CancelRequest, Effect as WireEffect, Epoch as WireEpoch, ToolCall};

use super::Job;
use crate::call::CallContext;
use crate::call::policy::Effect;
use crate::catalog::Instance;
use crate::journal::Epoch;
use crate::run::event::AttemptStarted;

/// An attempt of a call, for the instance that it goes to.
pub(super) fn attempt(job: Job<'_>, started: &AttemptStarted, to: &Instance) -> ToolCall {
    let planned = &job.call.planned;
    let effects = job.call.denied_effects.iter().filter_map(|name| Effect::named(name));
    ToolCall {
        attempt: started.attempt,
        incarnation: to.incarnation.clone(),
        approved_preview: job.call.approved_preview.clone(),
        denied_effects: effects.map(effect).collect(),
        ..call(job.context, &planned.tool, &planned.arguments)
    }
}

/// What every call that is sent says.
pub(in crate::call) fn call(context: &CallContext, tool: &str, arguments: &str) -> ToolCall {
    ToolCall {
        deployment: context.deployment.clone(),
        call_id: context.call_id.to_string(),
        session: context.session.to_string(),
        partition: context.partition,
        epoch: Some(epoch(context.epoch)),
        team: context.team.clone(),
        workspace: context.workspace.clone(),
        tool: tool.to_owned(),
        arguments: arguments.to_owned().into_bytes().into(),
        ..ToolCall::default()
    }
}

/// A request to end a call.
pub(in crate::call) fn cancel(context: &CallContext) -> CancelRequest {
    CancelRequest {
        deployment: context.deployment.clone(),
        session: context.session.to_string(),
        call_id: context.call_id.to_string(),
        partition: context.partition,
        epoch: Some(epoch(context.epoch)),
        team: context.team.clone(),
    }
}

/// An effect as its number on the wire.
pub(in crate::call) fn effect(effect: Effect) -> i32 {
    let wire = match effect {
        Effect::Read => WireEffect::Read,
        Effect::Write => WireEffect::Write,
        Effect::Execute => WireEffect::Execute,
        Effect::Network => WireEffect::Network,
    };
    wire.into()
}

fn epoch(epoch: Epoch) -> WireEpoch {
    WireEpoch { generation: epoch.generation, revision: epoch.revision }
}
