//! One run is one trace through every process.

use std::collections::{BTreeMap, HashSet};

use callboard_tests::{Callboard, Collector, Span, eventually};

#[tokio::test]
async fn a_run_is_one_trace_over_its_processes_and_no_span_is_lost() {
    let collector = Collector::start().await;
    let callboard = Callboard::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let run = callboard.run(&["ask", "--json", "What is 6 * 7?"]).await.expect(0).json();
    callboard.nothing_is_left().await;
    let trace = run["trace_id"].as_str().unwrap().to_owned();
    let spans: Vec<Span> =
        collector.spans().into_iter().filter(|span| span.trace == trace).collect();
    check(&spans, &run);
}

/// The expected parent of every span, and at least three processes.
pub(crate) fn check(spans: &[Span], run: &serde_json::Value) {
    let by_id: BTreeMap<&str, &Span> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    let pids: HashSet<_> = spans.iter().map(|span| span.pid.as_str()).collect();
    assert!(pids.len() >= 3, "gateway, orchestrator and tool service: {spans:#?}");
    let parent = |span: &Span| by_id.get(span.parent.as_str()).map(|parent| parent.name.clone());
    let of_name =
        |start: &str| spans.iter().filter(|span| span.name.starts_with(start)).collect::<Vec<_>>();

    let agents = of_name("invoke_agent");
    assert_eq!(agents.len(), 1, "{names:?}");
    let start = parent(agents[0]).expect("the run hangs under the request");
    assert!(start.contains("AgentService"), "{start}");
    let chats = of_name("chat");
    assert_eq!(chats.len() as u64, run["steps"].as_u64().unwrap(), "{names:?}");
    for chat in chats {
        assert_eq!(parent(chat).unwrap(), agents[0].name);
    }
    // The caller's span and the service's own have the same name; the latter is the former's child.
    let tools = of_name("execute_tool");
    let calls = run["tool_calls"].as_array().unwrap().len();
    assert_eq!(tools.len(), 2 * calls, "one span of the caller and one of the service: {names:?}");
    for tool in &tools {
        let above = parent(tool).unwrap();
        if above == agents[0].name {
            assert_eq!(tool.pid, agents[0].pid);
        } else {
            assert_eq!(above, tool.name);
            assert_ne!(tool.pid, agents[0].pid, "the service's span is the service's");
        }
    }
    let orphans: Vec<_> = spans
        .iter()
        .filter(|span| !span.parent.is_empty() && !by_id.contains_key(span.parent.as_str()))
        .collect();
    // The root's parent, if any, is the command line's own, which exports nothing.
    assert!(orphans.len() <= 1, "no span is lost: {orphans:#?}");
}

#[tokio::test]
async fn a_trace_that_a_client_began_goes_on() {
    let collector = Collector::start().await;
    let callboard = Callboard::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let stack = callboard.up(&[]).await;
    let run: serde_json::Value = stack
        .client()
        .post(format!("{}/v1/runs", stack.url))
        .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .json(&serde_json::json!({"input": "What is 6 * 7?", "wait": true}))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(run["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(stack.stop().await, 0);
    let of_trace = || {
        let all = collector.spans().into_iter();
        all.filter(|span| span.trace == "4bf92f3577b34da6a3ce929d0e0e4736").collect::<Vec<_>>()
    };
    eventually("spans arrive", || {
        of_trace().iter().any(|span| span.name.starts_with("execute_tool"))
    })
    .await;
    let spans = of_trace();
    let roots: Vec<_> = spans.iter().filter(|span| span.parent == "00f067aa0ba902b7").collect();
    assert_eq!(roots.len(), 1, "the gateway's span is the client's child: {spans:#?}");
    check(&spans, &run);
}

#[tokio::test]
async fn a_dead_collector_costs_nothing_but_its_spans() {
    let callboard = Callboard::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let finished = callboard.run(&["ask", "What is 6 * 7?"]).await.expect(0);
    assert!(finished.stdout.contains("42"));
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_session_is_printed_as_a_tree() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let run = callboard.run(&["ask", "--json", "What is 6 * 7?"]).await.expect(0).json();
    let tree = callboard.run(&["trace", run["session"].as_str().unwrap()]).await.expect(0).stdout;
    for part in ["invoke_agent", "chat offline", "execute_tool calculate", "ms"] {
        assert!(tree.contains(part), "`{part}` is missing: {tree}");
    }
    assert_eq!(stack.stop().await, 0);
}
