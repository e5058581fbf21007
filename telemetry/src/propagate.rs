//! W3C trace context (<https://www.w3.org/TR/trace-context/>) in and out of gRPC and HTTP.
//!
//! What is sent on is always the context of the current `tracing` span. `layer.rs` reads it back on
//! the other side. Baggage is not carried.

use http::{HeaderMap, HeaderValue};
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
    trace::{SpanContext, TraceContextExt},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::metadata::{MetadataMap, MetadataValue};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Puts the current span's context into the metadata of a gRPC request; nothing if there is none.
pub fn inject(metadata: &mut MetadataMap) {
    let span = span_context(&Span::current());
    if let Some(parent) = format(&span).and_then(|text| MetadataValue::try_from(text).ok()) {
        metadata.insert(TRACEPARENT, parent);
    }
    if let Some(state) = state(&span).and_then(|text| MetadataValue::try_from(text).ok()) {
        metadata.insert(TRACESTATE, state);
    }
}

/// Puts the current span's context into HTTP headers; nothing if there is none.
pub fn inject_headers(headers: &mut HeaderMap) {
    let span = span_context(&Span::current());
    if let Some(parent) = format(&span).and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(TRACEPARENT, parent);
    }
    if let Some(state) = state(&span).and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(TRACESTATE, state);
    }
}

/// The context that a request came with; an empty one if it came with none, or a malformed one.
pub fn extract(headers: &HeaderMap) -> Context {
    if !headers.contains_key(TRACEPARENT) {
        return Context::new();
    }
    TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers))
}

/// The current span as a `traceparent` value; empty outside any span.
pub fn traceparent() -> String {
    traceparent_of(&Span::current())
}

/// A span as a `traceparent` value; empty if telemetry is not set up or the span is none of ours.
pub fn traceparent_of(span: &Span) -> String {
    format(&span_context(span)).unwrap_or_default()
}

/// Makes `span` a child of `traceparent`. Call it before anything happens in the span; a malformed
/// or empty value leaves the span as it is.
pub fn set_parent(span: &Span, traceparent: &str) {
    let Ok(value) = HeaderValue::from_str(traceparent) else { return };
    let mut headers = HeaderMap::with_capacity(1);
    headers.insert(TRACEPARENT, value);
    set_context(span, extract(&headers));
}

/// Makes `span` a child of a remote context; an empty one leaves the span as it is.
pub(crate) fn set_context(span: &Span, context: Context) {
    if context.span().span_context().is_valid() {
        // It fails only without our layer, or after the span was used: nothing is lost but a link.
        let _ = span.set_parent(context);
    }
}

/// Trace id of the current span, 32 hex digits; empty outside any span.
pub fn trace_id() -> String {
    trace_id_of(&Span::current())
}

/// Trace id of a span, 32 hex digits; empty if telemetry is not set up or the span is none of ours.
pub fn trace_id_of(span: &Span) -> String {
    let context = span_context(span);
    if context.is_valid() { context.trace_id().to_string() } else { String::new() }
}

fn span_context(span: &Span) -> SpanContext {
    span.context().span().span_context().clone()
}

fn format(span: &SpanContext) -> Option<String> {
    let flags = u8::from(span.is_sampled());
    span.is_valid().then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}

fn state(span: &SpanContext) -> Option<String> {
    Some(span.trace_state().header()).filter(|text| !text.is_empty())
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}
