//! Prometheus' text format of everything counted, and the route that answers it. Every role serves
//! the route on its own listener, beside gRPC.

use std::sync::OnceLock;

use axum::{Router, http::header, response::IntoResponse, routing};
use opentelemetry_prometheus::PrometheusExporter;
use prometheus::{Registry, TextEncoder};

use crate::init::Error;

/// Media type of the text, version 0.0.4:
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

static HANDLE: OnceLock<MetricsHandle> = OnceLock::new();

/// Reads what is counted. Cheap to clone; a default one reads nothing.
#[derive(Clone, Debug, Default)]
pub struct MetricsHandle {
    registry: Option<Registry>,
}

impl MetricsHandle {
    /// Everything counted, in Prometheus' text format.
    pub fn text(&self) -> String {
        let Some(registry) = &self.registry else { return String::new() };
        TextEncoder::new().encode_to_string(&registry.gather()).unwrap_or_default()
    }

    /// Makes this the process's own; see [`handle`].
    pub(crate) fn install(&self) {
        // A second one is refused together with the second subscriber, in `init`.
        let _ = HANDLE.set(self.clone());
    }
}

/// What this process counts; reads nothing before [`crate::init`].
pub fn handle() -> MetricsHandle {
    HANDLE.get().cloned().unwrap_or_default()
}

/// A router with `GET /metrics` alone, to merge into a server's own.
pub fn route<S: Clone + Send + Sync + 'static>(metrics: MetricsHandle) -> Router<S> {
    let answer =
        move || async move { ([(header::CONTENT_TYPE, TEXT)], metrics.text()).into_response() };
    Router::new().route("/metrics", routing::get(answer))
}

/// A reader for the meter provider, and the handle that shows what it reads.
pub(crate) fn reader() -> Result<(PrometheusExporter, MetricsHandle), Error> {
    let registry = Registry::new();
    let exporter = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .scope_info_enabled(false)
        .build()
        .map_err(Error::Metrics)?;
    Ok((exporter, MetricsHandle { registry: Some(registry) }))
}
