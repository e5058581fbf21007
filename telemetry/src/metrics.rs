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

/// The journal committed a transaction that holds `appends`: their ratio is how many share a sync.
pub fn journal_commit(appends: u64) {
    with(|i| {
        i.journal_commits.add(1, &[]);
        i.journal_appends.add(appends, &[]);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Config, init::assemble};

    /// The process has one set of instruments, so this is the one test that installs them.
    #[test]
    fn what_is_counted_can_be_read_as_text() {
        let config = Config { stderr: false, ..Config::default() };
        let (telemetry, instruments, _dispatch) = assemble("gateway", "g-1", &config).unwrap();
        super::install(instruments);
        super::run_started();
        super::run_started();
        super::run_ended("completed", Duration::from_millis(30), 2);
        super::tool_call("calculate", "ok", Duration::from_millis(3));
        super::tool_call("calculate", "ok", Duration::from_millis(300));
        super::attempt("calculator", "answered", Duration::from_millis(2));
        super::model_call("offline", Duration::from_secs(1), Some("unavailable"));
        super::model_tokens("offline", 100, 7);
        super::tool_started();
        super::tool_ended("calculate", "internal", Duration::from_micros(400));
        super::approval("approved", Duration::from_secs(20));
        super::journal_append(5, Duration::from_micros(90));
        super::journal_commit(16);
        super::journal_commit(3);
        super::sessions_resident(4);
        super::partitions_owned(256);
        super::instances_live("tool", 3);
        super::discovery_confirmed(true);
        super::stream_opened();
        super::stream_closed(Some("slow"));
        let text = telemetry.metrics_text();
        for line in [
            "callboard_runs_total{callboard_status=\"completed\"} 1",
            "callboard_runs_active 1",
            "callboard_run_duration_seconds_bucket{callboard_status=\"completed\",le=\"0.05\"} 1",
            "callboard_run_duration_seconds_bucket{callboard_status=\"completed\",le=\"0.025\"} 0",
            "callboard_run_steps_sum{callboard_status=\"completed\"} 2",
            "callboard_tool_call_duration_seconds_count{callboard_status=\"ok\",gen_ai_tool_name=\"calculate\"} 2",
            "callboard_attempt_duration_seconds_count{callboard_service=\"calculator\",callboard_status=\"answered\"} 1",
            "callboard_tool_active 0",
            "callboard_approval_wait_seconds_sum{callboard_decision=\"approved\"} 20",
            "callboard_journal_events_total 5",
            "callboard_journal_commits_total 2",
            "callboard_journal_appends_total 19",
            "callboard_sessions_resident 4",
            "callboard_partitions_owned 256",
            "callboard_discovery_instances{callboard_role=\"tool\"} 3",
            "callboard_discovery_confirmed 1",
            "callboard_streams_open 0",
            "callboard_streams_cut_total{callboard_reason=\"slow\"} 1",
            "callboard_telemetry_lines_dropped_total 0",
            "gen_ai_client_token_usage_sum{gen_ai_operation_name=\"chat\",gen_ai_request_model=\"offline\",gen_ai_token_type=\"output\"} 7",
            "gen_ai_client_operation_duration_seconds_count{error_type=\"unavailable\",gen_ai_operation_name=\"chat\",gen_ai_request_model=\"offline\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        assert!(text.contains("service_instance_id=\"g-1\""));
        let memory = text.lines().find(|line| line.starts_with("process_memory_usage_bytes "));
        let bytes: f64 = memory.unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        assert!(bytes > 1_000_000.0, "{bytes}");
    }
}
