//! Spans of a process that sends none: of each only its ids are kept, for the logs and for those who
//! are called, and no attribute is ever formatted. What a span is where they are sent is in `init.rs`.

use opentelemetry::{
    TraceFlags,
    trace::{SpanContext, SpanId, SpanKind, TraceState},
};
use opentelemetry_sdk::trace::{
    IdGenerator as _, RandomIdGenerator, Sampler, SamplingDecision, ShouldSample as _,
};
use tracing::{
    Dispatch, Event, Metadata, Span,
    level_filters::LevelFilter,
    span::{Attributes, Id},
    subscriber::Interest,
};
use tracing_subscriber::{Layer, Registry, layer::Context, registry::LookupSpan as _};

use crate::{
    filter::{Levels, is_traced},
    logs::LogLayer,
};

/// Ids for our spans, lines for events. It is the only layer of its subscriber, so that nothing has
/// to be asked twice for each span that is entered.
pub(crate) struct IdLayer {
    sampler: Sampler,
    logs: Option<LogLayer>,
    levels: Levels,
}

impl IdLayer {
    /// `sample` is the share of new traces that others are told to record.
    pub(crate) fn new(sample: f64, logs: Option<LogLayer>, levels: Levels) -> Self {
        Self { sampler: Sampler::TraceIdRatioBased(sample), logs, levels }
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_span() {
            is_traced(metadata)
        } else {
            self.logs.is_some() && self.levels.wants(metadata)
        }
    }

    /// The ids of a span that begins a trace.
    fn root(&self) -> SpanContext {
        let random = RandomIdGenerator::default();
        let (trace, span) = (random.new_trace_id(), random.new_span_id());
        let sampled =
            self.sampler.should_sample(None, trace, "", &SpanKind::Internal, &[], &[]).decision
                == SamplingDecision::RecordAndSample;
        let flags = TraceFlags::default().with_sampled(sampled);
        SpanContext::new(trace, span, flags, false, TraceState::default())
    }
}

impl Layer<Registry> for IdLayer {
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        if let Some(logs) = &self.logs {
            Layer::<Registry>::on_register_dispatch(logs, subscriber);
        }
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, Registry>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if self.logs.is_some() { self.levels.most() } else { LevelFilter::INFO })
    }

    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, Registry>) {
        let Some(span) = context.span(id) else { return };
        let parent = span.parent().and_then(|parent| parent.extensions().get().cloned());
        let ids = parent.map_or_else(|| self.root(), |parent| below(&parent, random_span()));
        span.extensions_mut().insert(ids);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, Registry>) {
        if let Some(logs) = &self.logs {
            logs.on_event(event, context);
        }
    }
}

/// The ids of a span, if this is how they are kept.
pub(crate) fn of(span: &Span) -> Option<SpanContext> {
    with(span, |ids| ids.clone())
}

/// Makes a span a child of a remote one; false if its ids are not kept here.
pub(crate) fn follow(span: &Span, parent: &SpanContext) -> bool {
    with(span, |ids| *ids = below(parent, ids.span_id())).is_some()
}

fn with<T>(span: &Span, work: impl FnOnce(&mut SpanContext) -> T) -> Option<T> {
    span.with_subscriber(|(id, dispatch)| {
        let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
        let mut extensions = span.extensions_mut();
        extensions.get_mut().map(work)
    })
    .flatten()
}

fn random_span() -> SpanId {
    RandomIdGenerator::default().new_span_id()
}

/// A span of its own below another one, as W3C trace context has it.
fn below(parent: &SpanContext, span: SpanId) -> SpanContext {
    let (trace, flags) = (parent.trace_id(), parent.trace_flags());
    SpanContext::new(trace, span, flags, false, parent.trace_state().clone())
}

#[cfg(test)]
mod tests {
    use tracing::{info_span, trace_span};

    use super::of;
    use crate::{Config, init::assemble, propagate, span};

    #[test]
    fn a_span_below_another_has_its_trace_and_flags() {
        for (sample, is_sampled) in [(0.0, false), (1.0, true)] {
            let config = Config { stderr: false, sample, ..Config::default() };
            let (_telemetry, _, dispatch) = assemble("r", "i", &config).unwrap();
            let _guard = tracing::dispatcher::set_default(&dispatch);
            let run = span::run("assistant", "s", "r", "");
            let call = run.in_scope(|| span::tool_call("t", "c"));
            let (run, call) = (of(&run).unwrap(), of(&call).unwrap());
            assert_eq!((run.is_valid(), run.is_sampled()), (true, is_sampled));
            assert_eq!((call.trace_id(), call.is_sampled()), (run.trace_id(), is_sampled));
            assert_ne!(call.span_id(), run.span_id());
        }
    }

    #[test]
    fn a_remote_parent_decides_whether_a_trace_is_recorded() {
        let config = Config { stderr: false, ..Config::default() };
        let (_telemetry, _, dispatch) = assemble("r", "i", &config).unwrap();
        let _guard = tracing::dispatcher::set_default(&dispatch);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let run = span::run("assistant", "s", "r", parent);
        let sent = propagate::traceparent_of(&run);
        assert!(sent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"), "{sent}");
        assert!(sent.ends_with("-00") && sent != parent, "{sent}");
    }

    #[test]
    fn spans_that_are_not_ours_have_no_ids_and_hide_none() {
        let config = Config { stderr: false, ..Config::default() };
        let (_telemetry, _, dispatch) = assemble("r", "i", &config).unwrap();
        let _guard = tracing::dispatcher::set_default(&dispatch);
        let run = span::run("assistant", "s", "r", "");
        let (other, fine) =
            run.in_scope(|| (info_span!(target: "h2", "other"), trace_span!("fine")));
        assert!(of(&other).is_none() && of(&fine).is_none());
        let call = run.in_scope(|| other.in_scope(|| span::tool_call("t", "c")));
        assert_eq!(of(&call).unwrap().trace_id(), of(&run).unwrap().trace_id());
    }
}
