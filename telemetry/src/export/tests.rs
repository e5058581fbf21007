//! Spans as a real collector gets them, over a real gRPC hop.

mod collector;
mod hop;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use callboard_proto::tool::{
    DescribeRequest, InvokeRequest, tool_service_client::ToolServiceClient,
};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use tokio::{net::TcpListener, time::Instant};
use tonic::Request;
use tracing::{Instrument, Span, info_span};
use tracing_subscriber::layer::SubscriberExt;

use crate::{Config, Telemetry, init::assemble, propagate, span};

use super::Processor;

use self::collector::{Collector, Received};

/// Telemetry for this thread, and the guard that keeps it.
fn set_up(endpoint: Option<String>, sample: f64) -> (Telemetry, tracing::dispatcher::DefaultGuard) {
    let config = Config {
        otlp_endpoint: endpoint,
        sample,
        stderr: false,
        level: "trace".to_owned(),
        ..Config::default()
    };
    let (telemetry, _, dispatch) = assemble("orchestrator", "orchestrator-1", &config).unwrap();
    (telemetry, tracing::dispatcher::set_default(&dispatch))
}

#[tokio::test]
async fn a_run_is_one_trace_over_a_real_hop() {
    let collector = Collector::start().await;
    let (telemetry, _guard) = set_up(Some(collector.endpoint.clone()), 1.0);
    let service = hop::start().await;

    let run = span::run("assistant", "s-1", "r-1", "");
    let trace_id = propagate::trace_id_of(&run);
    async {
        let call = span::tool_call("calculate", "c-1");
        let mut client = ToolServiceClient::connect(service.endpoint.clone()).await.unwrap();
        let mut request = Request::new(InvokeRequest::default());
        async {
            propagate::inject(request.metadata_mut());
            let mut pieces = client.invoke(request).await.unwrap().into_inner();
            while pieces.message().await.unwrap().is_some() {}
        }
        .instrument(call)
        .await;
    }
    .instrument(run)
    .await;
    service.stop().await;
    telemetry.shutdown().await;

    let mut spans = collector.spans();
    spans.sort_by_key(|span| (span.name.clone(), span.kind == SpanKind::Server));
    let [work, client, server, run] = spans.as_slice() else {
        panic!("four spans expected: {spans:#?}");
    };
    assert_eq!(run.name, "invoke_agent assistant");
    assert_eq!((client.name.as_str(), client.kind), ("execute_tool calculate", SpanKind::Client));
    assert_eq!((server.name.as_str(), server.kind), ("execute_tool calculate", SpanKind::Server));
    assert_eq!(work.name, "calculation");
    let trace: Vec<&str> = spans.iter().map(|span| span.trace_id.as_str()).collect();
    assert_eq!(trace, [trace_id.as_str(); 4]);
    assert_eq!(run.parent, "");
    assert_eq!(client.parent, run.span_id);
    assert_eq!(server.parent, client.span_id);
    assert_eq!(work.parent, server.span_id);
    assert_eq!(server.attribute("rpc.grpc.status_code"), Some("0"));
    assert_eq!(server.attribute("gen_ai.tool.call.id"), Some("c-1"));
    assert_eq!(run.attribute("gen_ai.conversation.id"), Some("s-1"));
    for span in &spans {
        assert_eq!(span.resource["service.name"], "orchestrator");
        assert_eq!(span.resource["service.instance.id"], "orchestrator-1");
        assert_eq!(span.resource["process.pid"], std::process::id().to_string());
    }
    assert!(server.end >= work.end, "the server span covers the stream");
}

#[tokio::test]
async fn a_fault_of_the_server_is_an_error_and_a_refusal_is_none() {
    let collector = Collector::start().await;
    let (telemetry, _guard) = set_up(Some(collector.endpoint.clone()), 1.0);
    let service = hop::start().await;
    let mut client = ToolServiceClient::connect(service.endpoint.clone()).await.unwrap();
    // The service answers INTERNAL to this one and UNAUTHENTICATED to that one.
    let failed = client.describe(DescribeRequest {}).await.unwrap_err();
    let refused = client.forget(callboard_proto::tool::ForgetRequest::default()).await.unwrap_err();
    assert_eq!(
        (failed.code(), refused.code()),
        (tonic::Code::Internal, tonic::Code::Unauthenticated)
    );
    service.stop().await;
    telemetry.shutdown().await;

    let ended = |name: &str| {
        let found = collector.spans().into_iter().find(|span| span.name.ends_with(name));
        found.map(|span| (span.is_error, span.attribute("rpc.grpc.status_code").map(str::to_owned)))
    };
    assert_eq!(ended("ToolService/Describe"), Some((true, Some("13".to_owned()))));
    assert_eq!(ended("ToolService/Forget"), Some((false, Some("16".to_owned()))));
}

/// Everything that the exporter's own stack says is enabled, and none of it is exported.
#[tokio::test]
async fn the_exporter_is_not_traced() {
    let collector = Collector::start().await;
    let (telemetry, _guard) = set_up(Some(collector.endpoint.clone()), 1.0);
    for number in 0..3 {
        let alone = info_span!("alone");
        alone.in_scope(|| tracing::debug!(number, "inside"));
        drop(alone);
        collector.wait_for(number + 1).await;
    }
    telemetry.shutdown().await;
    let names: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
    assert_eq!(names, ["alone"; 3]);
}

#[tokio::test]
async fn metrics_are_sent_at_the_end() {
    let collector = Collector::start().await;
    // A scheme may be left out: it could only say that there is no TLS.
    let endpoint = collector.endpoint.strip_prefix("http://").map(str::to_owned);
    let config = Config { otlp_endpoint: endpoint, stderr: false, ..Config::default() };
    let (telemetry, _instruments, _dispatch) = assemble("gateway", "gateway-1", &config).unwrap();
    telemetry.shutdown().await;
    let names = collector.metrics();
    assert!(names.contains(&"process.memory.usage".to_owned()), "{names:?}");
}

#[tokio::test]
async fn every_span_leaves_at_the_end_however_many() {
    let collector = Collector::start().await;
    let (telemetry, _guard) = set_up(Some(collector.endpoint.clone()), 1.0);
    for _ in 0..2_000 {
        drop(info_span!("one of many"));
    }
    telemetry.shutdown().await;
    assert_eq!(collector.spans().len(), 2_000);
}

/// Accepts and never answers; the clock jumps as soon as nothing else can happen.
#[tokio::test(start_paused = true)]
async fn a_collector_that_hangs_costs_less_than_three_seconds() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let (telemetry, _guard) = set_up(Some(endpoint), 1.0);
    for _ in 0..2_000 {
        drop(info_span!("lost"));
    }
    let started = Instant::now();
    telemetry.shutdown().await;
    assert!(started.elapsed() <= Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_down_costs_less_than_three_seconds() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let (telemetry, _guard) = set_up(Some(endpoint), 1.0);
    drop(info_span!("lost"));
    let started = Instant::now();
    telemetry.shutdown().await;
    assert!(started.elapsed() <= Duration::from_secs(3), "{:?}", started.elapsed());
}

#[test]
fn ids_exist_without_an_exporter_and_without_a_sample() {
    for sample in [0.0, 1.0] {
        let (_telemetry, _guard) = set_up(None, sample);
        let run = span::run("assistant", "s", "r", "");
        let ids = run.in_scope(|| (propagate::trace_id(), propagate::traceparent()));
        assert_eq!(ids.0.len(), 32);
        let flags = if sample > 0.0 { "01" } else { "00" };
        assert_eq!(ids.1, format!("00-{}-{}-{flags}", ids.0, &ids.1[36..52]));
        let child = run.in_scope(|| span::model_call("offline", "offline"));
        assert_eq!(propagate::trace_id_of(&child), ids.0);
    }
}

#[tokio::test]
async fn a_trace_that_was_not_sampled_elsewhere_is_not_exported_here() {
    let collector = Collector::start().await;
    let (telemetry, _guard) = set_up(Some(collector.endpoint.clone()), 1.0);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    let run = span::run("assistant", "s", "r", parent);
    assert_eq!(propagate::trace_id_of(&run), "4bf92f3577b34da6a3ce929d0e0e4736");
    drop(run);
    telemetry.shutdown().await;
    assert_eq!(collector.spans(), Vec::<Received>::new());
}

/// The processor alone, with nobody who empties its queue.
#[test]
fn spans_over_the_queue_are_dropped_and_counted() {
    use opentelemetry::trace::TracerProvider as _;
    let (processor, mut spans) = Processor::new(2);
    let dropped = Arc::clone(&processor.dropped);
    let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder()
        .with_span_processor(processor)
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("t"));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        for _ in 0..5 {
            drop(info_span!("one"));
        }
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    assert!(spans.try_recv().is_ok() && spans.try_recv().is_ok() && spans.try_recv().is_err());
}

#[test]
fn an_endpoint_needs_a_runtime_and_a_sample_is_a_share() {
    let with_endpoint =
        Config { otlp_endpoint: Some("http://127.0.0.1:1".to_owned()), ..Config::default() };
    let cases = [
        (with_endpoint, "exporting needs a running tokio runtime"),
        (
            Config { sample: 1.5, ..Config::default() },
            "telemetry.sample is 1.5, and must be between 0 and 1",
        ),
        (
            Config { level: "info,h2=loud".to_owned(), ..Config::default() },
            "the log level \"h2=loud\" is none of off, error, warn, info, debug, trace, nor \
             TARGET=LEVEL such as callboard=debug",
        ),
    ];
    for (config, message) in cases {
        let config = Config { stderr: false, ..config };
        assert_eq!(assemble("r", "i", &config).unwrap_err().to_string(), message);
    }
    assert_eq!(propagate::trace_id_of(&Span::none()), "");
}
