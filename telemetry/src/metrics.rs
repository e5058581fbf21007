//! What is counted: one function for each thing that happens. Before [`crate::init`] they do
//! nothing, so libraries and tests may call them freely.
//!
//! Labels are names of bounded sets (tool, model, service, status), never ids and never text that a
//! model or a person wrote. The instruments are in `metrics/instruments.rs`, the text in
//! `metrics/text.rs`.

mod instruments;
mod text;

use std::{sync::OnceLock, time::Duration};

use opentelemetry::KeyValue;

use crate::names;

pub(crate) use instruments::Instruments;
pub(crate) use text::reader;
pub use text::{MetricsHandle, handle, route};

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

/// Makes the functions below count.
pub(crate) fn install(instruments: Instruments) {
    // A second set is refused together with the second subscriber, in `init`.
    let _ = INSTRUMENTS.set(instruments);
}

fn with(record: impl FnOnce(&Instruments)) {
    if let Some(instruments) = INSTRUMENTS.get() {
        record(instruments);
    }
}

/// A run begins.
pub fn run_started() {
    with(|i| i.runs_active.add(1, &[]));
}

/// A run that had begun is over; `status` as in the journal.
pub fn run_ended(status: &'static str, duration: Duration, steps: u32) {
    with(|i| {
        let labels = [KeyValue::new(names::STATUS, status)];
        i.runs_active.add(-1, &[]);
        i.runs.add(1, &labels);
        i.run_duration.record(duration.as_secs_f64(), &labels);
        i.run_steps.record(u64::from(steps), &labels);
    });
}

/// A model call is over; `error` is the kind of its failure.
pub fn model_call(model: &str, duration: Duration, error: Option<&'static str>) {
    with(|i| {
        let mut labels = vec![
            KeyValue::new(names::OPERATION, names::CHAT),
            KeyValue::new(names::REQUEST_MODEL, model.to_owned()),
        ];
        labels.extend(error.map(|kind| KeyValue::new(names::ERROR_TYPE, kind)));
        i.model_duration.record(duration.as_secs_f64(), &labels);
    });
}

/// Tokens that a model call took.
pub fn model_tokens(model: &str, input: u64, output: u64) {
    with(|i| {
        for (kind, tokens) in [("input", input), ("output", output)] {
            let labels = [
                KeyValue::new(names::OPERATION, names::CHAT),
                KeyValue::new(names::REQUEST_MODEL, model.to_owned()),
                KeyValue::new(names::TOKEN_TYPE, kind),
            ];
            i.model_tokens.record(tokens, &labels);
        }
    });
}

/// A tool call is settled. `tool` is a name of the catalog; for one that nobody offers pass
/// `_OTHER`.
pub fn tool_call(tool: &str, status: &'static str, duration: Duration) {
    with(|i| {
        let labels =
            [KeyValue::new(names::TOOL, tool.to_owned()), KeyValue::new(names::STATUS, status)];
        i.tool_call_duration.record(duration.as_secs_f64(), &labels);
    });
}

/// An attempt is over; `status` as in the journal.
pub fn attempt(service: &str, status: &'static str, duration: Duration) {
    with(|i| {
        let labels = [
            KeyValue::new(names::SERVICE, service.to_owned()),
            KeyValue::new(names::STATUS, status),
        ];
        i.attempt_duration.record(duration.as_secs_f64(), &labels);
    });
}

/// A tool service starts to work on a call.
pub fn tool_started() {
    with(|i| i.tool_active.add(1, &[]));
}

/// A tool service is done with a call that had started; `status` is `ok` or the kind of failure.
pub fn tool_ended(tool: &str, status: &'static str, duration: Duration) {
    with(|i| {
        let labels =
            [KeyValue::new(names::TOOL, tool.to_owned()), KeyValue::new(names::STATUS, status)];
        i.tool_active.add(-1, &[]);
        i.tool_duration.record(duration.as_secs_f64(), &labels);
    });
}

/// An approval is decided, after `waited`.
pub fn approval(decision: &'static str, waited: Duration) {
    with(|i| {
        i.approval_wait.record(waited.as_secs_f64(), &[KeyValue::new(names::DECISION, decision)]);
    });
}

/// The journal took `events` in one append.
pub fn journal_append(events: u64, duration: Duration) {
    with(|i| {
        i.append_events.add(events, &[]);
        i.append_duration.record(duration.as_secs_f64(), &[]);
    });
}

/// How many sessions are in memory now.
pub fn sessions_resident(count: u64) {
    with(|i| i.sessions.record(count, &[]));
}

/// How many partitions this process owns now.
pub fn partitions_owned(count: u64) {
    with(|i| i.partitions.record(count, &[]));
}

/// How many instances of a role are alive, as this process sees it.
pub fn instances_live(role: &'static str, count: u64) {
    with(|i| i.instances.record(count, &[KeyValue::new(names::ROLE, role)]));
}

/// Whether discovery answers.
pub fn discovery_confirmed(is_confirmed: bool) {
    with(|i| i.discovery_confirmed.record(u64::from(is_confirmed), &[]));
}

/// An event stream to a client is open.
pub fn stream_opened() {
    with(|i| i.streams.add(1, &[]));
}

/// An event stream that was open is over; `cut` says why it ended before its last event.
pub fn stream_closed(cut: Option<&'static str>) {
    with(|i| {
        i.streams.add(-1, &[]);
        if let Some(reason) = cut {
            i.streams_cut.add(1, &[KeyValue::new(names::REASON, reason)]);
        }
    });
}

pub(crate) fn http_request(method: &'static str, route: &str, status: u16, duration: Duration) {
    with(|i| {
        let labels = [
            KeyValue::new(names::HTTP_METHOD, method),
            KeyValue::new(names::HTTP_ROUTE, route.to_owned()),
            KeyValue::new(names::HTTP_STATUS, i64::from(status)),
        ];
        i.http_duration.record(duration.as_secs_f64(), &labels);
    });
}

pub(crate) fn rpc_request(service: &'static str, method: &str, status: i64, duration: Duration) {
    with(|i| {
        let labels = [
            KeyValue::new(names::RPC_SERVICE, service),
            KeyValue::new(names::RPC_METHOD, method.to_owned()),
            KeyValue::new(names::RPC_STATUS, status),
        ];
        i.rpc_duration.record(duration.as_secs_f64(), &labels);
    });
}

pub(crate) fn spans_dropped(reason: &'static str, count: u64) {
    with(|i| i.spans_dropped.add(count, &[KeyValue::new(names::REASON, reason)]));
}
