//! Our types to wire messages and back; `convert/status.rs` has the errors, `convert/page.rs` cuts
//! what is too large for one message, `convert/rollback.rs` tells of calls that were taken back,
//! `convert/body.rs` says when two requests are the same.

mod body;
mod page;
mod rollback;
mod status;

use callboard_discovery::State;
use callboard_proto::agent;

pub(crate) use self::body::{
    choice_digest, decision_digest, direct_digest, open_digest, rollback_digest, start_digest,
};
pub(crate) use self::page::{Place, page};
pub(crate) use self::rollback::{looked, taken_back};
pub(crate) use self::status::{invalid, of_journal, of_session};
use crate::{
    catalog::Tool,
    journal::{SessionRow, SessionState},
    run::{
        call::{Call, Phase},
        event::{CallSettled, FailureInfo, Input, Limits, Recorded, SessionKind},
        ids::RunId,
        state::{Run, Waiting},
    },
    session::{Glimpse, Notice, Started, Watch},
};

/// What a caller wants to hear.
pub(crate) fn watch(wire: i32) -> Watch {
    match agent::Watch::try_from(wire) {
        Ok(agent::Watch::Facts) => Watch::Facts,
        Ok(agent::Watch::All) => Watch::All,
        Ok(agent::Watch::Result | agent::Watch::Unspecified) | Err(_) => Watch::Result,
    }
}

/// Bounds asked for.
pub(crate) fn limits(wire: Option<agent::RunLimits>) -> Limits {
    let wire = wire.unwrap_or_default();
    Limits {
        max_steps: wire.max_steps,
        max_calls: wire.max_calls,
        max_parallel: 0,
        max_time_ms: wire.max_time_ms,
        max_tokens: wire.max_tokens,
    }
}

/// A notice of a session. The end of a run becomes its result.
pub(crate) fn notice(notice: Notice, session: &str) -> agent::Notice {
    let kind = match notice {
        Notice::Fact(noted) => agent::notice::Kind::Fact(fact(&noted.recorded, &noted.run)),
        Notice::Glimpse(seen) => agent::notice::Kind::Glimpse(glimpse(&seen)),
        Notice::Ended(run) => agent::notice::Kind::Result(page::result(&run, session)),
    };
    agent::Notice { kind: Some(kind) }
}

/// Which run a request began, or met.
pub(crate) fn begun(started: &Started) -> agent::Notice {
    let begun = agent::Begun {
        run: started.run.to_string(),
        is_earlier: started.is_earlier,
        is_over: started.is_over,
    };
    agent::Notice { kind: Some(agent::notice::Kind::Begun(begun)) }
}

/// A durable event as clients see it.
pub(crate) fn fact(recorded: &Recorded, run: &RunId) -> agent::Fact {
    let json = serde_json::to_value(&recorded.event).ok();
    let data = json.and_then(|mut json| json.get_mut("data").map(serde_json::Value::take));
    agent::Fact {
        seq: recorded.seq,
        r#type: recorded.event.kind().to_owned(),
        json: data.map_or_else(|| "{}".to_owned(), |data| data.to_string()),
        wall_ms: recorded.wall_ms,
        run: run.to_string(),
        elapsed_ms: recorded.elapsed_ms,
        trace_context: recorded.trace_context.clone(),
    }
}

fn glimpse(seen: &Glimpse) -> agent::Glimpse {
    agent::Glimpse {
        run: seen.run.to_string(),
        request: seen.request,
        call_id: seen.call.to_string(),
        offset: seen.offset,
        text: seen.text.clone(),
        restarted: seen.restarted,
    }
}

/// A session as lists show it.
pub(crate) fn session(row: &SessionRow) -> agent::Session {
    agent::Session {
        id: row.id.to_string(),
        title: row.title.clone(),
        agent: row.agent.clone(),
        kind: kind(row.kind).to_owned(),
        state: match row.state {
            SessionState::Idle => "idle",
            SessionState::Active => "active",
            SessionState::Waiting => "waiting",
        }
        .to_owned(),
        opened_ms: row.opened_ms,
        updated_ms: row.updated_ms,
        last_seq: row.last_seq,
    }
}

fn kind(kind: SessionKind) -> &'static str {
    match kind {
        SessionKind::Chat => "chat",
        SessionKind::Direct => "direct",
    }
}

fn waiting(waiting: &Waiting) -> agent::RunSummary {
    agent::RunSummary {
        id: waiting.input.run.to_string(),
        status: "queued".to_owned(),
        input: input(&waiting.input.input),
        ..agent::RunSummary::default()
    }
}

/// A run without its calls.
fn run_head(run: &Run) -> agent::RunSummary {
    let (input_tokens, output_tokens) = run.tokens();
    let ended = run.ended.as_ref();
    let status = match ended {
        Some(ended) => ended.status.as_str(),
        None if run.is_waiting() => "waiting",
        None => "working",
    };
    let reply = run.steps.iter().rev().find_map(|step| step.reply.as_ref());
    agent::RunSummary {
        id: run.input.run.to_string(),
        status: status.to_owned(),
        answer: ended.map_or(String::new(), |ended| ended.answer.clone()),
        model: reply.map_or(String::new(), |reply| reply.model.clone()),
        steps: run.replies(),
        calls: Vec::new(),
        input_tokens,
        output_tokens,
        trace_id: trace_id(&run.trace_context),
        duration_ms: run.elapsed_ms,
        input: input(&run.input.input),
        reason: ended.map_or(String::new(), |ended| ended.reason.clone()),
    }
}

/// The calls of a run, each with the number of the reply that asked for it.
pub(crate) fn calls(run: &Run) -> impl Iterator<Item = agent::CallSummary> {
    calls_from(run, 0)
}

/// The same without the first few.
fn calls_from(run: &Run, first: usize) -> impl Iterator<Item = agent::CallSummary> {
    let all = (1..).zip(&run.steps).flat_map(|(step, of)| {
        let step = if run.is_direct() { 0 } else { step };
        of.calls.iter().map(move |call| (call, step))
    });
    // Passed over before they are told: a summary is as large as its result.
    all.skip(first).map(|(call, step)| call_summary(call, step))
}

/// A tool call, told in one message.
fn call_summary(call: &Call, step: u32) -> agent::CallSummary {
    let settled = call.settled.as_ref();
    let planned = call.planned.as_ref();
    let verdict = call.judged.as_ref().map_or("", |judged| judged.verdict.as_str());
    agent::CallSummary {
        call_id: call.wanted.call_id.to_string(),
        tool: planned.map_or(&call.wanted.name, |planned| &planned.tool).clone(),
        arguments: planned.map_or(&call.wanted.arguments, |planned| &planned.arguments).clone(),
        status: call_status(call).to_owned(),
        instance: call.attempts.last().map_or(String::new(), |last| last.started.instance.clone()),
        duration_ms: settled.map_or(0, |settled| settled.duration_ms),
        attempts: u32::try_from(call.attempts.len()).unwrap_or(u32::MAX),
        verdict: verdict.to_owned(),
        content: settled.map_or(String::new(), |settled| settled.content.clone()),
        structured: settled.map_or(String::new(), |settled| settled.structured.clone()),
        failure: settled.and_then(failure),
        step,
        choice: call.chosen.as_ref().map_or("", |chosen| chosen.choice.as_str()).to_owned(),
        undone: call.undone.clone().unwrap_or_default(),
        rule: call.judged.as_ref().map_or(String::new(), |judged| judged.rule.clone()),
        decided_by: call.decided.as_ref().map_or(String::new(), |decided| decided.by.clone()),
        waited_ms: settled.map_or(0, |settled| settled.waited_ms),
    }
}

fn call_status(call: &Call) -> &'static str {
    match (&call.settled, call.phase()) {
        (Some(settled), _) => settled.status.as_str(),
        (None, Phase::Asked) => "waiting",
        (None, Phase::Runnable) => "running",
        (None, Phase::Wanted | Phase::Denied | Phase::Settled) => "planned",
    }
}

fn failure(settled: &CallSettled) -> Option<agent::CallFailure> {
    let FailureInfo { kind, message, violations } = settled.failure.clone()?;
    let violations = violations
        .into_iter()
        .map(|one| agent::CallViolation { pointer: one.pointer, message: one.message })
        .collect();
    Some(agent::CallFailure { kind, message, violations })
}

fn input(input: &Input) -> String {
    match input {
        Input::Text(text) => text.clone(),
        Input::Direct { tool, arguments } => format!("{tool} {arguments}"),
    }
}

/// The trace id of a W3C `traceparent`; empty if there is none.
pub(crate) fn trace_id(traceparent: &str) -> String {
    traceparent.split('-').nth(1).unwrap_or_default().to_owned()
}

fn state(state: State) -> &'static str {
    match state {
        State::Serving => "serving",
        State::Draining => "draining",
    }
}

/// A tool of the catalog.
pub(crate) fn tool(tool: &Tool) -> agent::CatalogTool {
    let of = &tool.descriptor;
    agent::CatalogTool {
        name: of.name.clone(),
        service: of.service.clone(),
        team: of.team.clone(),
        version: of.version.clone(),
        description: of.description.clone(),
        input_schema: of.input_schema.to_string(),
        output_schema: of.output_schema.clone(),
        read_only: of.annotations.read_only,
        destructive: of.annotations.destructive,
        idempotent: of.annotations.idempotent,
        open_world: of.annotations.open_world,
        instances: tool
            .instances
            .iter()
            .map(|instance| agent::ToolInstance {
                id: instance.id.to_string(),
                state: state(instance.state).to_owned(),
                in_flight: instance.in_flight(),
            })
            .collect(),
        withheld: tool.withheld.clone(),
        examples: of
            .examples
            .iter()
            .map(|(request, arguments)| agent::ToolExample {
                request: request.clone(),
                arguments: arguments.clone(),
            })
            .collect(),
    }
}
