//! Runs and calls as the JSON that clients get.

use callboard_proto::agent::{CallFailure, CallSummary, DirectResult, RunSummary};
use serde::Serialize;

use super::raw::Raw;

/// A run with its calls.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson<'a> {
    session: &'a str,
    run: &'a str,
    status: &'a str,
    answer: &'a str,
    model: &'a str,
    steps: u32,
    tool_calls: Vec<CallJson<'a>>,
    usage: UsageJson,
    trace_id: &'a str,
    duration_ms: u64,
    reason: &'a str,
    input: &'a str,
}

#[derive(Debug, Serialize)]
struct UsageJson {
    input_tokens: u64,
    output_tokens: u64,
}

impl<'a> RunJson<'a> {
    pub(crate) fn new(session: &'a str, run: &'a RunSummary) -> Self {
        Self {
            session,
            run: &run.id,
            status: &run.status,
            answer: &run.answer,
            model: &run.model,
            steps: run.steps,
            tool_calls: run.calls.iter().map(CallJson::from).collect(),
            usage: UsageJson { input_tokens: run.input_tokens, output_tokens: run.output_tokens },
            trace_id: &run.trace_id,
            duration_ms: run.duration_ms,
            reason: &run.reason,
            input: &run.input,
        }
    }
}

/// A call of a run.
#[derive(Debug, Serialize)]
struct CallJson<'a> {
    call_id: &'a str,
    tool: &'a str,
    arguments: Raw<'a>,
    status: &'a str,
    instance: &'a str,
    duration_ms: u64,
    attempts: u32,
    verdict: &'a str,
    content: &'a str,
    structured: Option<Raw<'a>>,
    failure: Option<FailureJson<'a>>,
    step: u32,
    /// What a person said of an outcome that is unknown.
    #[serde(skip_serializing_if = "str::is_empty")]
    choice: &'a str,
    /// What was restored, once a person had the call taken back.
    #[serde(skip_serializing_if = "str::is_empty")]
    undone: &'a str,
    /// The rule that gave the verdict.
    rule: &'a str,
    /// Who answered, once a person was asked.
    #[serde(skip_serializing_if = "str::is_empty")]
    decided_by: &'a str,
    waited_ms: u64,
}

impl<'a> From<&'a CallSummary> for CallJson<'a> {
    fn from(call: &'a CallSummary) -> Self {
        Self {
            call_id: &call.call_id,
            tool: &call.tool,
            arguments: Raw::new(&call.arguments),
            status: &call.status,
            instance: &call.instance,
            duration_ms: call.duration_ms,
            attempts: call.attempts,
            verdict: verdict(call),
            content: &call.content,
            structured: Raw::optional(&call.structured),
            failure: call.failure.as_ref().map(FailureJson::from),
            step: call.step,
            choice: &call.choice,
            undone: &call.undone,
            rule: &call.rule,
            decided_by: &call.decided_by,
            waited_ms: call.waited_ms,
        }
    }
}

/// What was decided on a call. One that was refused before it could be judged ran no more than a
/// blocked one; one that is still on its way has no verdict yet.
fn verdict(call: &CallSummary) -> &str {
    let is_refused = call.verdict.is_empty() && call.failure.is_some();
    if is_refused { "block" } else { &call.verdict }
}

#[derive(Debug, Serialize)]
struct FailureJson<'a> {
    kind: &'a str,
    message: &'a str,
    violations: Vec<ViolationJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ViolationJson<'a> {
    pointer: &'a str,
    message: &'a str,
}

impl<'a> From<&'a CallFailure> for FailureJson<'a> {
    fn from(failure: &'a CallFailure) -> Self {
        let violations = failure.violations.iter();
        let violations =
            violations.map(|one| ViolationJson { pointer: &one.pointer, message: &one.message });
        Self { kind: &failure.kind, message: &failure.message, violations: violations.collect() }
    }
}

/// A direct call.
#[derive(Debug, Serialize)]
pub(crate) struct DirectJson<'a> {
    #[serde(flatten)]
    call: CallJson<'a>,
    session: &'a str,
    trace_id: &'a str,
}

impl<'a> DirectJson<'a> {
    /// `None` if the result holds no call.
    pub(crate) fn new(session: &'a str, result: &'a DirectResult) -> Option<Self> {
        let call = CallJson::from(result.call.as_ref()?);
        Some(Self { call, session, trace_id: &result.trace_id })
    }
}
