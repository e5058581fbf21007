//! The instruments behind `metrics.rs`, with units and buckets. Names are in `names.rs`; who counts
//! what is left to the functions of `metrics.rs`.

use std::{fs, sync::Arc, sync::atomic::AtomicU64, sync::atomic::Ordering};

use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};

use crate::names;

/// Buckets for durations in seconds: a tool call takes a millisecond, a model call a minute.
const SECONDS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
    300.0,
];
/// Buckets for tokens: <https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/>.
const TOKENS: [f64; 9] = [4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0];
/// Buckets for steps of a run; the default bound is 16.
const STEPS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];

/// Every instrument of the process.
#[derive(Debug)]
pub(crate) struct Instruments {
    pub(super) runs: Counter<u64>,
    pub(super) runs_active: UpDownCounter<i64>,
    pub(super) run_duration: Histogram<f64>,
    pub(super) run_steps: Histogram<u64>,
    pub(super) model_duration: Histogram<f64>,
    pub(super) model_tokens: Histogram<u64>,
    pub(super) tool_call_duration: Histogram<f64>,
    pub(super) attempt_duration: Histogram<f64>,
    pub(super) tool_duration: Histogram<f64>,
    pub(super) tool_active: UpDownCounter<i64>,
    pub(super) approval_wait: Histogram<f64>,
    pub(super) append_duration: Histogram<f64>,
    pub(super) append_events: Counter<u64>,
    pub(super) journal_commits: Counter<u64>,
    pub(super) journal_appends: Counter<u64>,
    pub(super) sessions: Gauge<u64>,
    pub(super) partitions: Gauge<u64>,
    pub(super) instances: Gauge<u64>,
    pub(super) discovery_confirmed: Gauge<u64>,
    pub(super) http_duration: Histogram<f64>,
    pub(super) rpc_duration: Histogram<f64>,
    pub(super) streams: UpDownCounter<i64>,
    pub(super) streams_cut: Counter<u64>,
    pub(super) spans_dropped: Counter<u64>,
}

impl Instruments {
    /// Makes all of them; `lines_dropped` is read at each collection.
    pub(crate) fn new(meter: &Meter, lines_dropped: Arc<AtomicU64>) -> Self {
        observe(meter, lines_dropped);
        let seconds = |name| seconds(meter, name);
        let count = |name, unit| meter.u64_counter(name).with_unit(unit).build();
        let level = |name, unit| meter.i64_up_down_counter(name).with_unit(unit).build();
        let gauge = |name, unit| meter.u64_gauge(name).with_unit(unit).build();
        let sizes = |name, unit, buckets: &[f64]| {
            let histogram = meter.u64_histogram(name).with_unit(unit);
            histogram.with_boundaries(buckets.to_vec()).build()
        };
        Self {
            runs: count(names::RUNS, "{run}"),
            runs_active: level(names::RUNS_ACTIVE, "{run}"),
            run_duration: seconds(names::RUN_DURATION),
            run_steps: sizes(names::RUN_STEPS, "{step}", &STEPS),
            model_duration: seconds(names::MODEL_DURATION),
            model_tokens: sizes(names::MODEL_TOKENS, "{token}", &TOKENS),
            tool_call_duration: seconds(names::TOOL_CALL_DURATION),
            attempt_duration: seconds(names::ATTEMPT_DURATION),
            tool_duration: seconds(names::TOOL_DURATION),
            tool_active: level(names::TOOL_ACTIVE, "{call}"),
            approval_wait: seconds(names::APPROVAL_WAIT),
            append_duration: seconds(names::APPEND_DURATION),
            append_events: count(names::APPEND_EVENTS, "{event}"),
            journal_commits: count(names::JOURNAL_COMMITS, "{commit}"),
            journal_appends: count(names::JOURNAL_APPENDS, "{append}"),
            sessions: gauge(names::SESSIONS, "{session}"),
            partitions: gauge(names::PARTITIONS, "{partition}"),
            instances: gauge(names::INSTANCES, "{instance}"),
            discovery_confirmed: gauge(names::DISCOVERY_CONFIRMED, ""),
            http_duration: seconds(names::HTTP_DURATION),
            rpc_duration: seconds(names::RPC_DURATION),
            streams: level(names::STREAMS, "{stream}"),
            streams_cut: count(names::STREAMS_CUT, "{stream}"),
            spans_dropped: count(names::SPANS_DROPPED, "{span}"),
        }
    }
}

fn seconds(meter: &Meter, name: &'static str) -> Histogram<f64> {
    meter.f64_histogram(name).with_unit("s").with_boundaries(SECONDS.to_vec()).build()
}

/// Figures that are read rather than counted.
fn observe(meter: &Meter, lines_dropped: Arc<AtomicU64>) {
    meter
        .u64_observable_counter(names::LINES_DROPPED)
        .with_unit("{line}")
        .with_callback(move |observer| {
            observer.observe(lines_dropped.load(Ordering::Relaxed), &[]);
        })
        .build();
    meter
        .u64_observable_gauge(names::MEMORY)
        .with_unit("By")
        .with_callback(|observer| {
            if let Some(bytes) = resident_bytes() {
                observer.observe(bytes, &[]);
            }
        })
        .build();
}

/// Resident memory as the kernel counts it, in KiB, in `/proc/self/status`.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
