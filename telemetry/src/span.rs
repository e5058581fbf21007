//! Opens the spans of the GenAI conventions and puts facts on them, so that every role names them
//! alike. Server spans are opened by `layer.rs`. When a span is opened and closed is up to callers.

use opentelemetry::{
    KeyValue, Value,
    trace::{Status, TraceContextExt},
};
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{ids, names, propagate};

/// Span of a run, `invoke_agent {agent}`: a child of `traceparent`, or of the current span if that
/// is empty.
pub fn run(agent: &str, session: &str, run: &str, traceparent: &str) -> Span {
    let span = info_span!(
        "invoke_agent",
        otel.name = %format_args!("{} {agent}", names::INVOKE_AGENT),
        otel.kind = "internal",
        { names::OPERATION } = names::INVOKE_AGENT,
        { names::AGENT } = agent,
        { names::CONVERSATION } = session,
        { names::RUN } = run,
    );
    propagate::set_parent(&span, traceparent);
    span
}

/// Span of a model call, `chat {model}`, under the current span.
pub fn model_call(provider: &str, model: &str) -> Span {
    info_span!(
        "chat",
        otel.name = %format_args!("{} {model}", names::CHAT),
        otel.kind = "client",
        { names::OPERATION } = names::CHAT,
        { names::PROVIDER } = provider,
        { names::REQUEST_MODEL } = model,
    )
}

/// Span of a tool call as its caller sees it, `execute_tool {tool}`, under the current span.
pub fn tool_call(tool: &str, call_id: &str) -> Span {
    info_span!(
        "execute_tool",
        otel.name = %format_args!("{} {tool}", names::EXECUTE_TOOL),
        otel.kind = "client",
        { names::OPERATION } = names::EXECUTE_TOOL,
        { names::TOOL } = tool,
        { names::TOOL_CALL } = call_id,
    )
}

/// Span of an attempt, `attempt {n}`, under the current span: opened from the second one on; the
/// first is an event on its call's span.
pub fn attempt(number: u32, instance: &str) -> Span {
    info_span!(
        "attempt",
        otel.name = %format_args!("{} {number}", names::ATTEMPT),
        otel.kind = "client",
        { names::ATTEMPT_NUMBER } = number,
        { names::INSTANCE } = instance,
    )
}

/// Sets an attribute.
pub fn set(span: &Span, name: &'static str, value: impl Into<Value>) {
    span.set_attribute(name, value);
}

/// Adds something that happened, at this time.
pub fn event(span: &Span, name: &'static str, attributes: Vec<KeyValue>) {
    span.add_event(name, attributes);
}

/// Marks the span as failed: `kind` becomes its `error.type`, `message` its status.
pub fn fail(span: &Span, kind: &str, message: &str) {
    span.set_attribute(names::ERROR_TYPE, kind.to_owned());
    span.set_status(Status::error(message.to_owned()));
}

/// Turns the server span of an `Invoke` into the tool's own, `execute_tool {tool}`: a service has
/// one span for a call, not two.
pub fn become_tool(span: &Span, tool: &str, call_id: &str) {
    if ids::of(span).is_some() {
        return;
    }
    span.context().span().update_name(format!("{} {tool}", names::EXECUTE_TOOL));
    span.set_attribute(names::OPERATION, names::EXECUTE_TOOL);
    span.set_attribute(names::TOOL, tool.to_owned());
    span.set_attribute(names::TOOL_CALL, call_id.to_owned());
}
