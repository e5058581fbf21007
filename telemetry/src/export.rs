//! Sends spans and metrics by OTLP. The processor hands spans over without waiting; one task owned
//! by [`Exporter`] batches and sends them, and empties the queue at the end.
//!
//! A collector that is away costs the spans of that time and one log line; nothing waits for it.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use opentelemetry_otlp::{
    MetricExporter, RetryPolicy, SpanExporter, WithExportConfig, WithTonicConfig,
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{
        InstrumentKind, ManualReader, Pipeline, Temporality, data::ResourceMetrics,
        exporter::PushMetricExporter, reader::MetricReader,
    },
    trace::{Span, SpanData, SpanExporter as _, SpanProcessor},
};
use tokio::{runtime::Handle, sync::mpsc, task::JoinHandle, time};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{init::Error, metrics};

/// Spans that may wait to be sent.
const QUEUE: usize = 4096;
/// Spans sent at once.
const BATCH: usize = 512;
/// How long a span waits for others, so that the task wakes for batches and not for spans.
const GATHER: Duration = Duration::from_millis(200);
/// Time for one message to the collector, with its repeats.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);
/// How often metrics are sent.
const METRICS_EVERY: Duration = Duration::from_mins(1);

/// Puts ended spans into the queue.
#[derive(Debug)]
pub(crate) struct Processor {
    queue: mpsc::Sender<SpanData>,
    dropped: Arc<AtomicU64>,
}

impl Processor {
    /// What goes in comes out of the receiver, `capacity` at a time.
    pub(crate) fn new(capacity: usize) -> (Self, mpsc::Receiver<SpanData>) {
        let (queue, spans) = mpsc::channel(capacity);
        (Self { queue, dropped: Arc::default() }, spans)
    }
}

impl SpanProcessor for Processor {
    fn on_start(&self, _span: &mut Span, _context: &opentelemetry::Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// A reader that both the meter provider and the sending task hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedReader(Arc<ManualReader>);

impl MetricReader for SharedReader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}

/// Owns the sending task. Dropping it ends the task and loses what waits.
#[derive(Debug)]
pub(crate) struct Exporter {
    closing: CancellationToken,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Starts the task on the current runtime; sends nothing before there is something to send.
    pub(crate) fn start(
        endpoint: &str,
        resource: &Resource,
        reader: SharedReader,
    ) -> Result<(Processor, Self), Error> {
        let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        // The scheme says no more than that there is no TLS, so it may be left out.
        let scheme = if endpoint.contains("://") { "" } else { "http://" };
        let endpoint = format!("{scheme}{endpoint}");
        let (processor, spans) = Processor::new(QUEUE);
        let mut span_exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(&endpoint)
            .with_timeout(SEND_TIMEOUT)
            .with_retry_policy(RetryPolicy::recommended().with_max_retries(1))
            .build()
            .map_err(Error::Endpoint)?;
        span_exporter.set_resource(resource);
        let metric_exporter = MetricExporter::builder()
            .with_tonic()
            .with_endpoint(&endpoint)
            .with_timeout(SEND_TIMEOUT)
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(Error::Endpoint)?;
        let closing = CancellationToken::new();
        let sending = Sending {
            endpoint,
            spans,
            span_exporter,
            metric_exporter,
            reader,
            dropped: Arc::clone(&processor.dropped),
            is_away: false,
        };
        let task = runtime.spawn(sending.run(closing.clone()));
        Ok((processor, Self { closing, task }))
    }

    /// Sends what waits, then the metrics, and ends the task. Whoever awaits sets the time limit;
    /// dropping the future ends the task at once.
    pub(crate) async fn close(mut self) {
        self.closing.cancel();
        // A task that panicked has nothing left to send.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Sending {
    endpoint: String,
    spans: mpsc::Receiver<SpanData>,
    span_exporter: SpanExporter,
    metric_exporter: MetricExporter,
    reader: SharedReader,
    dropped: Arc<AtomicU64>,
    is_away: bool,
}

impl Sending {
    async fn run(mut self, closing: CancellationToken) {
        let mut metrics_due =
            time::interval_at(time::Instant::now() + METRICS_EVERY, METRICS_EVERY);
        metrics_due.set_missed_tick_behavior(time::MissedTickBehavior::Skip);
        let mut batch = Vec::new();
        while !closing.is_cancelled() {
            tokio::select! {
                () = closing.cancelled() => {}
                _ = metrics_due.tick() => self.send_metrics().await,
                received = self.spans.recv_many(&mut batch, BATCH) => {
                    if received == 0 {
                        break;
                    }
                    tokio::select! {
                        () = closing.cancelled() => {}
                        () = time::sleep(GATHER) => {}
                    }
                    self.drain(&mut batch).await;
                }
            }
        }
        self.drain(&mut batch).await;
        self.send_metrics().await;
    }

    /// Sends `batch` and everything that waits behind it.
    async fn drain(&mut self, batch: &mut Vec<SpanData>) {
        loop {
            while batch.len() < BATCH
                && let Ok(span) = self.spans.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                break;
            }
            self.send_spans(std::mem::take(batch)).await;
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            metrics::spans_dropped("queue_full", dropped);
            warn!(dropped, "spans dropped: the collector is slower than the spans come");
        }
    }

    async fn send_spans(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        let sent = time::timeout(SEND_TIMEOUT, self.span_exporter.export(batch)).await;
        let error = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {SEND_TIMEOUT:?}")),
        };
        match &error {
            None if self.is_away => info!(endpoint = self.endpoint, "collector answers again"),
            Some(error) if !self.is_away => {
                warn!(endpoint = self.endpoint, error, "collector does not take spans");
            }
            _ => {}
        }
        self.is_away = error.is_some();
        if self.is_away {
            metrics::spans_dropped("not_sent", count);
        }
    }

    async fn send_metrics(&self) {
        let mut collected = ResourceMetrics::default();
        if self.reader.collect(&mut collected).is_ok() {
            // What could not be sent is in the next message again: the figures are cumulative.
            let _ = time::timeout(SEND_TIMEOUT, self.metric_exporter.export(&collected)).await;
        }
    }
}

#[cfg(test)]
mod tests;
