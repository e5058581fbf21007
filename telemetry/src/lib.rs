//! Traces, metrics and logs of one process: one [`init`], one [`Telemetry::shutdown`].
//!
//! Spans are opened with [`span`] and by [`TraceLayer`]; context crosses processes with
//! [`propagate`]; [`metrics`] counts. Nothing here ever blocks or fails a run: what had to be
//! dropped is counted. What a span means is up to its caller. Read on in `init.rs`.

mod config;
mod export;
mod filter;
mod ids;
mod init;
mod layer;
mod logs;
pub mod metrics;
pub mod names;
pub mod propagate;
pub mod span;

pub use config::Config;
pub use init::{Error, Telemetry, init};
pub use layer::{Trace, TraceBody, TraceLayer};
pub use metrics::MetricsHandle;
pub use opentelemetry::{Context, KeyValue, Value};
