//! A collector: OTLP's own gRPC services, which keep what they get.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// A span as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Received {
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) trace_id: String,
    pub(super) span_id: String,
    pub(super) parent: String,
    pub(super) end: u64,
    pub(super) is_error: bool,
    pub(super) resource: BTreeMap<String, String>,
    attributes: BTreeMap<String, String>,
}

impl Received {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }
}

/// The running collector; stops when it is dropped.
pub(super) struct Collector {
    pub(super) endpoint: String,
    store: Store,
    _server: JoinSet<()>,
}

#[derive(Clone)]
struct Store {
    spans: watch::Sender<Vec<Received>>,
    metrics: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let store = Store { spans: watch::Sender::default(), metrics: Arc::default() };
        let router = Server::builder()
            .add_service(TraceServiceServer::new(store.clone()))
            .add_service(MetricsServiceServer::new(store.clone()));
        let mut server = JoinSet::new();
        server.spawn(async move {
            router.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
        });
        Self { endpoint, store, _server: server }
    }

    pub(super) fn spans(&self) -> Vec<Received> {
        self.store.spans.borrow().clone()
    }

    pub(super) fn metrics(&self) -> Vec<String> {
        self.store.metrics.lock().unwrap().clone()
    }

    pub(super) async fn wait_for(&self, count: usize) {
        let mut spans = self.store.spans.subscribe();
        spans.wait_for(|spans| spans.len() >= count).await.unwrap();
    }
}

#[tonic::async_trait]
impl TraceService for Store {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let groups = request.into_inner().resource_spans;
        let spans = groups.into_iter().flat_map(|group| {
            let resource = texts(group.resource.unwrap_or_default().attributes);
            let spans = group.scope_spans.into_iter().flat_map(|scope| scope.spans);
            spans.map(move |span| received(span, resource.clone())).collect::<Vec<_>>()
        });
        let spans: Vec<Received> = spans.collect();
        self.spans.send_modify(|all| all.extend(spans));
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Store {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let groups = request.into_inner().resource_metrics.into_iter();
        let scopes = groups.flat_map(|group| group.scope_metrics);
        let names = scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name);
        self.metrics.lock().unwrap().extend(names);
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

fn received(span: Span, resource: BTreeMap<String, String>) -> Received {
    Received {
        kind: span.kind(),
        is_error: span.status.is_some_and(|status| status.code() == StatusCode::Error),
        name: span.name,
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        end: span.end_time_unix_nano,
        resource,
        attributes: texts(span.attributes),
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let pairs = attributes.into_iter().map(|pair| {
        let value = match pair.value.and_then(|any| any.value) {
            Some(Value::StringValue(text)) => text,
            Some(Value::IntValue(number)) => number.to_string(),
            other => format!("{other:?}"),
        };
        (pair.key, value)
    });
    pairs.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
