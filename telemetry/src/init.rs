//! Sets telemetry up for a process, and ends it. Called once, by the composition root, before
//! anything else starts.
//!
//! Order at the end: the roles drain, then [`Telemetry::shutdown`] sends what is left while the
//! runtime still lives. How spans travel is in `export.rs`, logs in `logs.rs`.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use opentelemetry::{KeyValue, metrics::MeterProvider, trace::TracerProvider};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    metrics::SdkMeterProvider,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use tokio::time;
use tracing::{Dispatch, level_filters::LevelFilter, warn};
use tracing_subscriber::{Layer, Registry, filter::filter_fn, layer::SubscriberExt};

use crate::{
    config::Config,
    export::{Exporter, SharedReader},
    filter::{Levels, is_traced},
    ids::IdLayer,
    logs::{self, LogLayer, Origin, Writer},
    metrics::{self, Instruments, MetricsHandle},
};

/// Name of the tracer and the meter.
const SCOPE: &str = "callboard";
/// Time for spans and metrics to leave at the end.
const EXPORT_LIMIT: Duration = Duration::from_millis(2500);
/// Time for log lines to be written at the end.
const LOG_LIMIT: Duration = Duration::from_millis(500);

/// Why telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Part of `level` is neither a level nor `TARGET=LEVEL`.
    #[error(
        "the log level {0:?} is none of off, error, warn, info, debug, trace, nor TARGET=LEVEL \
         such as callboard=debug"
    )]
    Level(String),
    /// `sample` is no share.
    #[error("telemetry.sample is {0}, and must be between 0 and 1")]
    Sample(f64),
    /// The folder for logs cannot be written.
    #[error("cannot write logs to {}", folder.display())]
    LogFile {
        /// The folder.
        folder: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// The thread that writes logs cannot be started.
    #[error("cannot start the thread that writes logs")]
    LogThread(#[source] io::Error),
    /// `otlp_endpoint` is not usable.
    #[error("telemetry.otlp_endpoint is not usable")]
    Endpoint(#[source] opentelemetry_otlp::ExporterBuildError),
    /// An endpoint is configured, but no tokio runtime runs here.
    #[error("exporting needs a running tokio runtime")]
    NoRuntime,
    /// The metrics cannot be set up.
    #[error("cannot set up metrics")]
    Metrics(#[source] OTelSdkError),
    /// Telemetry was set up in this process before.
    #[error("telemetry is set up already")]
    Twice,
}

/// Telemetry of this process. Keep it until the end and call [`Telemetry::shutdown`]; dropping it
/// instead loses the spans of the last moment.
#[derive(Debug)]
pub struct Telemetry {
    /// Keeps the readers alive.
    _meter: SdkMeterProvider,
    exporter: Option<Exporter>,
    logs: Option<Writer>,
    metrics: MetricsHandle,
    captures_content: bool,
}

/// Sets up spans, metrics and logs for this process: `role` such as `gateway`, `instance` as in
/// discovery. With an endpoint configured it must be called on a tokio runtime.
///
/// # Errors
/// One variant for each setting that does not work, and [`Error::Twice`] for a second call.
pub fn init(role: &str, instance: &str, config: &Config) -> Result<Telemetry, Error> {
    let (telemetry, instruments, dispatch) = assemble(role, instance, config)?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|_| Error::Twice)?;
    metrics::install(instruments);
    telemetry.metrics.install();
    Ok(telemetry)
}

impl Telemetry {
    /// Everything counted, in Prometheus' text format.
    pub fn metrics_text(&self) -> String {
        self.metrics.text()
    }

    /// A handle that reads the metrics.
    pub fn metrics(&self) -> MetricsHandle {
        self.metrics.clone()
    }

    /// Whether prompts, arguments and results may be put on spans.
    pub fn captures_content(&self) -> bool {
        self.captures_content
    }

    /// Sends the spans and metrics that wait and writes the log lines that wait: within 3 s, also
    /// where the collector is away. Call it when everything else is done; later spans are lost.
    /// Dropping the future loses what it had not sent yet.
    pub async fn shutdown(mut self) {
        if let Some(exporter) = self.exporter.take()
            && time::timeout(EXPORT_LIMIT, exporter.close()).await.is_err()
        {
            warn!("the last spans were not sent: the collector did not answer in time");
        }
        if let Some(logs) = self.logs.take() {
            // Out of time: the thread still holds the lines, and nobody waits for them any more.
            let _ = time::timeout(LOG_LIMIT, logs.flush()).await;
        }
    }
}

/// Everything that [`init`] makes the process's own.
pub(crate) fn assemble(
    role: &str,
    instance: &str,
    config: &Config,
) -> Result<(Telemetry, Instruments, Dispatch), Error> {
    if !(0.0..=1.0).contains(&config.sample) {
        return Err(Error::Sample(config.sample));
    }
    let levels = Levels::parse(&config.level).map_err(Error::Level)?;
    let origin = Origin { role: role.to_owned(), instance: instance.to_owned() };
    let lines_dropped = Arc::new(AtomicU64::new(0));
    let dropped = Arc::clone(&lines_dropped);
    let logs = logs::open(origin, config.log_dir.as_deref(), config.stderr, dropped)?;
    let (log_layer, writer) = logs.unzip();

    let resource = resource(role, instance);
    let (prometheus, metrics) = metrics::reader()?;
    let meter = SdkMeterProvider::builder().with_resource(resource.clone()).with_reader(prometheus);
    let (meter, dispatch, exporter) = match &config.otlp_endpoint {
        None => {
            let layer = IdLayer::new(config.sample, log_layer, levels);
            (meter.build(), Dispatch::new(Registry::default().with(layer)), None)
        }
        Some(endpoint) => {
            let reader = SharedReader::default();
            let (processor, exporter) = Exporter::start(endpoint, &resource, reader.clone())?;
            let meter = meter.with_reader(reader).build();
            let sampler = Sampler::TraceIdRatioBased(config.sample);
            let tracer = SdkTracerProvider::builder()
                .with_sampler(Sampler::ParentBased(Box::new(sampler)))
                .with_resource(resource)
                .with_span_processor(processor)
                .build();
            (meter, dispatch(tracer.tracer(SCOPE), log_layer, levels), Some(exporter))
        }
    };
    let instruments = Instruments::new(&meter.meter(SCOPE), lines_dropped);
    let captures_content = config.capture_content;
    let telemetry = Telemetry { _meter: meter, exporter, logs: writer, metrics, captures_content };
    Ok((telemetry, instruments, dispatch))
}

/// The subscriber: spans to OpenTelemetry, events to the logs. Each has its own filter, known once
/// for each place in the code, so what neither wants costs nothing.
pub(crate) fn dispatch(tracer: SdkTracer, log_layer: Option<LogLayer>, levels: Levels) -> Dispatch {
    let spans = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_context_activation(false)
        .with_tracked_inactivity(false)
        .with_location(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_filter(filter_fn(is_traced).with_max_level_hint(LevelFilter::INFO));
    let registry = Registry::default().with(spans);
    let Some(log_layer) = log_layer else { return Dispatch::new(registry) };
    let most = levels.most();
    let wanted = filter_fn(move |of| levels.wants(of)).with_max_level_hint(most);
    Dispatch::new(registry.with(log_layer.with_filter(wanted)))
}

/// What every span and figure says about its process.
fn resource(role: &str, instance: &str) -> Resource {
    Resource::builder()
        .with_attributes([
            KeyValue::new("service.namespace", SCOPE),
            KeyValue::new("service.name", role.to_owned()),
            KeyValue::new("service.instance.id", instance.to_owned()),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("process.pid", i64::from(std::process::id())),
        ])
        .build()
}
