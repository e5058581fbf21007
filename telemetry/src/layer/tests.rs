//! The layer in front of a real router, and the spans that it ended.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    routing,
};
use http::{Request, StatusCode};
use opentelemetry::trace::{SpanId, SpanKind, Status, TracerProvider};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tower::ServiceExt;

use crate::{MetricsHandle, export::Processor, filter::Levels, init, metrics, propagate};

use super::TraceLayer;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn traced() -> (tracing::dispatcher::DefaultGuard, mpsc::Receiver<SpanData>) {
    let (processor, spans) = Processor::new(16);
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    let levels = Levels::parse("off").unwrap();
    let dispatch = init::dispatch(provider.tracer("t"), None, levels);
    (tracing::dispatcher::set_default(&dispatch), spans)
}

fn router() -> Router {
    let broken = || async { StatusCode::INTERNAL_SERVER_ERROR };
    Router::new()
        .route("/v1/sessions/{id}", routing::get(|| async { propagate::traceparent() }))
        .route("/broken", routing::post(broken))
        .route("/healthz", routing::get(|| async { propagate::traceparent() }))
        .merge(metrics::route(MetricsHandle::default()))
        .layer(TraceLayer::http())
}

async fn ask(method: &str, path: &str) -> String {
    let request = Request::builder().method(method).uri(path).header("traceparent", PARENT);
    let response = router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let bytes = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_request_is_a_server_span_under_its_caller() {
    let (_guard, mut spans) = traced();
    let inside = ask("GET", "/v1/sessions/7").await;
    let span = spans.try_recv().unwrap();
    assert_eq!(span.name, "GET /v1/sessions/{id}");
    assert_eq!(span.span_kind, SpanKind::Server);
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    assert_eq!(span.parent_span_id, SpanId::from_hex("00f067aa0ba902b7").unwrap());
    assert_eq!(inside, format!("00-{TRACE}-{}-01", span.span_context.span_id()));
    let attributes: Vec<_> =
        span.attributes.iter().map(|a| (a.key.as_str(), a.value.to_string())).collect();
    assert_eq!(
        attributes,
        [
            ("http.request.method", "GET".to_owned()),
            ("http.route", "/v1/sessions/{id}".to_owned()),
            ("http.response.status_code", "200".to_owned()),
        ]
    );
    assert!(spans.try_recv().is_err(), "one request, one span");
}

#[tokio::test]
async fn only_faults_of_the_server_are_errors() {
    for (method, path, name, is_error) in [
        ("POST", "/broken", "POST /broken", true),
        ("GET", "/broken", "GET /broken", false),
        ("GET", "/nowhere", "GET", false),
        ("BREW", "/nowhere", "_OTHER", false),
    ] {
        let (_guard, mut spans) = traced();
        ask(method, path).await;
        let span = spans.try_recv().unwrap();
        assert_eq!((&*span.name, matches!(span.status, Status::Error { .. })), (name, is_error));
    }
}

#[tokio::test]
async fn what_machines_ask_every_second_is_not_traced() {
    let (_guard, mut spans) = traced();
    for path in ["/healthz", "/metrics"] {
        assert_eq!(ask("GET", path).await, "", "{path} runs in no span");
    }
    assert!(spans.try_recv().is_err());
}

#[tokio::test]
async fn the_span_of_a_stream_ends_with_the_stream() {
    let (_guard, mut spans) = traced();
    for is_read_to_the_end in [true, false] {
        let (pieces, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(1);
        let body = Arc::new(Mutex::new(Some(Body::from_stream(ReceiverStream::new(receiver)))));
        let answer = move || async move { body.lock().unwrap().take().unwrap() };
        let router = Router::new().route("/", routing::get(answer)).layer(TraceLayer::http());
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        pieces.send(Ok(Bytes::from_static(b"piece"))).await.unwrap();
        assert!(spans.try_recv().is_err(), "the stream still flows");
        drop(pieces);
        if is_read_to_the_end {
            let text = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
            assert_eq!(&*text, b"piece");
        } else {
            drop(response);
        }
        assert_eq!(&*spans.try_recv().unwrap().name, "GET /");
    }
}
