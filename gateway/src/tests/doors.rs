//! Who comes in by which door, and the trace that comes in with them.

use callboard_discovery::transport::Credentials;
use callboard_telemetry::MetricsHandle;
use http::{HeaderName, HeaderValue, Method, Request};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    client::{self, Door},
    stage::{Stage, TOKEN, discovery, folder, request},
};
use crate::{Config, Listeners, Node, run};

fn with(headers: &[(&'static str, &str)]) -> Request<Vec<u8>> {
    let mut ask = request(Method::GET, "/v1/tools", None);
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).unwrap();
        ask.headers_mut().append(HeaderName::from_static(name), value);
    }
    ask
}

#[tokio::test]
async fn a_door_on_tcp_wants_the_token_and_a_name_of_its_own() {
    let config = Config {
        hosts: vec!["gateway.example".to_owned()],
        origins: vec!["https://ops.example".to_owned()],
        ..Config::default()
    };
    let stage = Stage::with(config).await;
    let good = format!("Bearer {TOKEN}");
    let shorter = format!("Bearer {}", &TOKEN[..20]);
    let longer = format!("Bearer {TOKEN}x");
    let basic = format!("Basic {TOKEN}");
    let lower = format!("bearer {TOKEN}");
    let auth = "authorization";
    let rows: [(&[(&str, &str)], u16); 23] = [
        (&[(auth, &good)], 200),
        (&[(auth, &lower)], 200),
        (&[], 401),
        (&[(auth, TOKEN)], 401),
        (&[(auth, &shorter)], 401),
        (&[(auth, &longer)], 401),
        (&[(auth, &basic)], 401),
        (&[(auth, "Bearer ")], 401),
        (&[(auth, &good), (auth, &good)], 401),
        (&[(auth, &good), ("host", "localhost:8080")], 200),
        (&[(auth, &good), ("host", "127.0.0.1")], 200),
        (&[(auth, &good), ("host", "[::1]:8080")], 200),
        (&[(auth, &good), ("host", "[::1]")], 200),
        (&[(auth, &good), ("host", "GATEWAY.example:80")], 200),
        (&[(auth, &good), ("host", "evil.example")], 403),
        (&[(auth, &good), ("host", "localhost.evil.example")], 403),
        (&[(auth, &good), ("host", "")], 403),
        (&[(auth, &good), ("host", "127.0.0.1.evil.example:8080")], 403),
        (&[(auth, &good), ("host", "localhost:8080"), ("origin", "http://localhost:8080")], 200),
        (&[(auth, &good), ("origin", "https://ops.example")], 200),
        (&[(auth, &good), ("host", "localhost:8080"), ("origin", "http://localhost:9090")], 403),
        (&[(auth, &good), ("origin", "null")], 403),
        (&[(auth, &good), ("origin", "https://evil.example")], 403),
    ];
    for (headers, status) in rows {
        let headers: Vec<_> = headers.iter().map(|(n, v)| (leak(n), *v)).collect();
        let reply = client::send(&stage.tcp, with(&headers)).await;
        assert_eq!(reply.status, status, "{headers:?}");
        if status != 200 {
            reply.problem();
        }
        assert_eq!(reply.header("www-authenticate"), if status == 401 { "Bearer" } else { "" });
    }
    // The kernel has proven who is on the socket; by which name it calls does not matter.
    let headers = [("host", "anything"), ("origin", "https://evil.example")];
    assert_eq!(client::send(&stage.socket, with(&headers)).await.status, 200);
}

#[tokio::test]
async fn a_request_that_reads_may_show_the_token_in_its_address() {
    let stage = Stage::new().await;
    let ask = async |method: Method, path: &str| {
        client::send(&stage.tcp, request(method, path, None)).await
    };
    let encoded = TOKEN.replace('-', "%2D");
    for (path, status) in [
        (format!("/v1/sessions?token={TOKEN}"), 200),
        (format!("/v1/sessions?token={encoded}"), 200),
        // The rest of the query reaches its route, and the token does not.
        (format!("/v1/sessions?limit=1&token={TOKEN}"), 200),
        (format!("/v1/sessions?limit=0&token={TOKEN}"), 400),
        (format!("/v1/sessions?token={TOKEN}&token={TOKEN}"), 401),
        (format!("/v1/sessions?token={TOKEN}x"), 401),
        ("/v1/sessions?token=".to_owned(), 401),
        ("/v1/sessions?token".to_owned(), 401),
    ] {
        assert_eq!(ask(Method::GET, &path).await.status, status, "{path}");
    }
    let begun = ask(Method::POST, &format!("/v1/sessions?token={TOKEN}")).await;
    assert_eq!(begun.status, 401);
    let mut both = request(Method::GET, &format!("/v1/sessions?token={TOKEN}"), None);
    both.headers_mut().insert("authorization", HeaderValue::from_static("Bearer wrong"));
    assert_eq!(client::send(&stage.tcp, both).await.status, 401);

    let index = ask(Method::GET, &format!("/?token={TOKEN}")).await;
    assert_eq!((index.status.as_u16(), index.header("referrer-policy")), (200, "no-referrer"));
    let index = index.json();
    assert_eq!(index["name"], "callboard");
    let listed = index["paths"].as_array().unwrap();
    for path in listed.iter().filter_map(|path| path.as_str()?.strip_prefix("GET ")) {
        if !path.contains('{') {
            assert_eq!(stage.get(path).await.status, 200, "{path}");
        }
    }
}

/// Header names of the table are constants.
fn leak(name: &str) -> &'static str {
    ["authorization", "host", "origin"].into_iter().find(|known| *known == name).unwrap()
}

#[tokio::test]
async fn a_prober_needs_no_token_and_learns_no_details() {
    let stage = Stage::new().await;
    for (path, body) in
        [("/healthz", json!({ "status": "ok" })), ("/readyz", json!({ "status": "ready" }))]
    {
        let mut ask = request(Method::GET, path, None);
        ask.headers_mut().insert("host", HeaderValue::from_static("10.0.0.7:8080"));
        let reply = client::send(&stage.tcp, ask).await;
        assert_eq!((reply.status.as_u16(), reply.json()), (200, body));
    }
    for path in ["/metrics", "/v1/status", "/v1/sessions", "/", "/nowhere"] {
        let reply = client::send(&stage.tcp, request(Method::GET, path, None)).await;
        assert_eq!(reply.status, 401, "{path}");
    }
}

#[tokio::test]
async fn grpc_health_answers_on_both_doors() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    let stage = Stage::new().await;
    let (Door::Tcp(address), Door::Socket(path)) = (&stage.tcp, &stage.socket) else {
        unreachable!("as the stage makes them")
    };
    let tcp = tonic::transport::Endpoint::try_from(format!("http://{address}")).unwrap();
    let socket = callboard_discovery::Address::Unix(path.clone());
    let socket = callboard_discovery::transport::channel(&socket, &Credentials::default()).unwrap();
    let mut over_tcp = HealthClient::new(tcp.connect().await.unwrap());
    let mut over_socket = HealthClient::new(socket);
    let answers = [
        over_tcp.check(HealthCheckRequest::default()).await.unwrap(),
        over_socket.check(HealthCheckRequest::default()).await.unwrap(),
    ];
    for answer in answers {
        assert_eq!(
            answer.into_inner().status(),
            tonic_health::pb::health_check_response::ServingStatus::Serving
        );
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_before_it_starts() {
    let folder = folder();
    let node = async || Node {
        instance: None,
        zone: String::new(),
        discovery: discovery(&folder).await,
        credentials: Credentials::default(),
        metrics: MetricsHandle::default(),
        secret: crate::Secret::new("the secret of this deployment"),
    };
    let tcp = async || Listeners::bind(None, Some("127.0.0.1:0")).await.unwrap();
    let token = |token: &str| Config { token: Some(token.to_owned()), ..Config::default() };
    let rows = [
        (
            Config::default(),
            tcp().await,
            "refused to serve TCP without a token: set gateway.token_file, or only serve the Unix socket",
        ),
        (
            token("  "),
            tcp().await,
            "refused to serve TCP without a token: set gateway.token_file, or only serve the Unix socket",
        ),
        (token("short"), tcp().await, "gateway.token has 5 characters, at least 16 are wanted"),
        (token(TOKEN), Listeners::default(), "there is no address to serve on"),
    ];
    for (config, listeners, message) in rows {
        let refused = run(config, listeners, node().await, CancellationToken::new()).await;
        assert_eq!(refused.unwrap_err().to_string(), message);
    }
    let first = tcp().await;
    let address = first.tcp_address().unwrap().to_string();
    let refused = Listeners::bind(None, Some(&address)).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "{address} is in use by another process: stop it, or set gateway.listen to another address"
        )
    );
    let masked = format!("{:?}", token(TOKEN));
    assert!(masked.contains("***") && !masked.contains(TOKEN), "{masked}");
}

#[tokio::test]
async fn the_gateway_is_known_to_discovery() {
    let stage = Stage::new().await;
    let mut live = stage.discovery.live();
    let known = live.wait_for(|live| {
        live.instances.values().any(|i| i.role == callboard_discovery::Role::Gateway)
    });
    let known = known.await.unwrap().clone();
    let gateway = known.instances.values().find(|i| i.name == "gateway").unwrap();
    let Door::Socket(path) = &stage.socket else { unreachable!("as the stage makes it") };
    assert_eq!(gateway.address, callboard_discovery::Address::Unix(path.clone()));
    assert!(gateway.id.as_str().starts_with("gateway-"), "{}", gateway.id);
}

/// One run is one trace: what came in goes on to the orchestrator, also where a stream is taken up
/// again long after the handler returned.
#[tokio::test]
async fn the_trace_of_the_caller_reaches_the_orchestrator() {
    let stage = Stage::new().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    stage.script.cut_after(2);
    let mut ask = request(Method::POST, "/v1/runs", Some(json!({ "input": "x" })));
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    ask.headers_mut().insert("traceparent", HeaderValue::from_str(&parent).unwrap());
    let events = client::Events::open(&stage.socket, ask).await.rest().await;
    assert_eq!(events.last().unwrap().name, "result");
    let (asked, traces) = (stage.script.asked(), stage.script.traces());
    assert!(asked.contains(&"start") && asked.contains(&"attach"), "{asked:?}");
    for (name, sent) in asked.iter().zip(traces) {
        assert!(sent.starts_with(&format!("00-{trace}-")) && sent != parent, "{name}: {sent}");
    }
}
