//! W3C trace context (<https://www.w3.org/TR/trace-context/>) in and out of gRPC and HTTP.
//!
//! What is sent on is always the context of the current `tracing` span. `layer.rs` reads it back on
//! the other side. Baggage is not carried.

use http::{HeaderMap, HeaderValue};
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use tonic::metadata::{MetadataMap, MetadataValue};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::ids;

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
    remote(headers)
        .map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent))
}

/// The span that a request came from, if it says so.
pub(crate) fn remote(headers: &HeaderMap) -> Option<SpanContext> {
    let (trace, span, flags) = parse(headers.get(TRACEPARENT)?.to_str().ok()?)?;
    let state = headers.get(TRACESTATE).and_then(|value| value.to_str().ok());
    let state = state.and_then(|text| text.parse().ok()).unwrap_or_default();
    Some(SpanContext::new(trace, span, flags, true, state))
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
    if let Some((trace, parent, flags)) = parse(traceparent) {
        follow(span, SpanContext::new(trace, parent, flags, true, TraceState::default()));
    }
}

/// Makes `span` a child of a remote one.
pub(crate) fn follow(span: &Span, parent: SpanContext) {
    if !ids::follow(span, &parent) {
        // It fails only without our layer, or after the span was used: nothing is lost but a link.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
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
    ids::of(span).unwrap_or_else(|| span.context().span().span_context().clone())
}

fn format(span: &SpanContext) -> Option<String> {
    let flags = u8::from(span.is_sampled());
    span.is_valid().then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}

fn state(span: &SpanContext) -> Option<String> {
    Some(span.trace_state().header()).filter(|text| !text.is_empty())
}

/// Reads `version-trace-span-flags`. A later version may add parts, version 00 may not; ids are
/// lower-case hex and not all zero.
fn parse(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, digits| {
        text.len() == digits && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_whole = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    if !is_whole || version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    let is_set = trace != TraceId::INVALID && span != SpanId::INVALID;
    is_set.then(|| (trace, span, TraceFlags::default().with_sampled(is_sampled)))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use opentelemetry::trace::TraceContextExt;
    use tonic::metadata::MetadataMap;
    use tracing::Span;

    use crate::{Config, init::assemble, span};

    use super::{
        extract, inject, inject_headers, set_parent, trace_id, traceparent, traceparent_of,
    };

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    /// <https://www.w3.org/TR/trace-context/#traceparent-header>: what a receiver must ignore.
    #[test]
    fn a_malformed_parent_is_no_parent() {
        let rows = [
            (PARENT, true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true),
            ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
            ("garbage", false),
            ("", false),
        ];
        for (text, is_valid) in rows {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", HeaderValue::from_static(text));
            assert_eq!(extract(&headers).span().span_context().is_valid(), is_valid, "{text}");
        }
        assert!(!extract(&HeaderMap::new()).span().span_context().is_valid());
    }

    #[test]
    fn what_is_sent_on_is_the_current_span_with_the_remote_trace() {
        let config = Config { stderr: false, ..Config::default() };
        let (_telemetry, _, dispatch) = assemble("r", "i", &config).unwrap();
        let _guard = tracing::dispatcher::set_default(&dispatch);

        let run = span::run("assistant", "s", "r", PARENT);
        let (mut metadata, mut headers) = (MetadataMap::new(), HeaderMap::new());
        run.in_scope(|| {
            inject(&mut metadata);
            inject_headers(&mut headers);
            assert_eq!(trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
            assert_eq!(traceparent(), traceparent_of(&run));
        });
        let sent = traceparent_of(&run);
        assert!(
            sent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && sent != PARENT,
            "{sent}"
        );
        assert_eq!(metadata.get("traceparent").unwrap().to_str().unwrap(), sent);
        assert_eq!(headers["traceparent"], sent);
    }

    #[test]
    fn the_state_of_others_is_carried_on() {
        let config = Config { stderr: false, ..Config::default() };
        let (_telemetry, _, dispatch) = assemble("r", "i", &config).unwrap();
        let _guard = tracing::dispatcher::set_default(&dispatch);
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_static(PARENT));
        headers.insert("tracestate", HeaderValue::from_static("rojo=00f067aa0ba902b7"));

        let span = tracing::info_span!("server");
        super::follow(&span, super::remote(&headers).unwrap());
        let mut sent = HeaderMap::new();
        span.in_scope(|| inject_headers(&mut sent));
        assert_eq!(sent["tracestate"], "rojo=00f067aa0ba902b7");
    }

    #[test]
    fn without_telemetry_nothing_is_sent_and_nothing_fails() {
        let none = tracing::subscriber::NoSubscriber::default();
        let _guard = tracing::subscriber::set_default(none);
        let run = span::run("assistant", "s", "r", PARENT);
        set_parent(&run, "nonsense\n");
        span::become_tool(&run, "t", "c");
        span::fail(&run, "internal", "broken");
        let mut metadata = MetadataMap::new();
        run.in_scope(|| inject(&mut metadata));
        assert!(metadata.is_empty());
        assert_eq!((traceparent_of(&run), trace_id()), (String::new(), String::new()));
        assert_eq!(traceparent_of(&Span::none()), "");
    }
}
