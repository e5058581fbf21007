//! A real OTLP receiver over gRPC that keeps every span.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
};
use tonic::{Request, Response, Status, transport::Server};

/// A span as it was exported.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Trace id, 32 hex digits.
    pub trace: String,
    /// Span id, 16 hex digits.
    pub id: String,
    /// Span id of the parent; empty for a root.
    pub parent: String,
    /// Name.
    pub name: String,
    /// Process id of the exporting process, from its resource.
    pub pid: String,
    /// Attributes with their values as text.
    pub attributes: BTreeMap<String, String>,
}

/// The receiver; ends when dropped.
#[derive(Debug)]
pub struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Span>>>,
    server: tokio::task::JoinHandle<()>,
}

impl Collector {
    /// Listens on a free port of the loopback interface.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::new(Mutex::new(Vec::new()));
        let service = TraceServiceServer::new(Receiver(Arc::clone(&spans)));
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        let server = tokio::spawn(async move {
            Server::builder().add_service(service).serve_with_incoming(incoming).await.unwrap();
        });
        Self { url, spans, server }
    }

    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` has to be.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The spans so far.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.server.abort();
    }
}

struct Receiver(Arc<Mutex<Vec<Span>>>);

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut spans = self.0.lock().unwrap();
        for of_resource in request.into_inner().resource_spans {
            let resource = attributes(&of_resource.resource.unwrap_or_default().attributes);
            let pid = resource.get("process.pid").cloned().unwrap_or_default();
            for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                spans.push(Span {
                    trace: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    name: span.name,
                    pid: pid.clone(),
                    attributes: attributes(&span.attributes),
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    list.iter().map(|pair| (pair.key.clone(), text(pair.value.as_ref()))).collect()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
