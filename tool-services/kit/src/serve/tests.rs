use callboard_discovery::Address;
use callboard_proto::tool as wire;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use crate::{
    specimens::{Record, service},
    testing::{self, Error, Served},
};

use super::*;

async fn served() -> (Served, Arc<Record>) {
    let record = Record::new();
    (testing::start(service(&record)).await.unwrap(), record)
}

fn channel(served: &Served) -> transport::Channel {
    transport::channel(&served.instance.address, &transport::Credentials::default()).unwrap()
}

#[tokio::test]
async fn an_instance_registers_what_callers_need() {
    let (served, record) = served().await;
    let instance = &served.instance;
    let described = service(&record).describe().unwrap();
    assert_eq!((instance.role, instance.state), (Role::Tool, State::Serving));
    assert_eq!((instance.team.as_str(), instance.name.as_str()), ("default", "specimens"));
    assert_eq!((instance.version.as_str(), instance.capacity), ("1.0.0", 256));
    assert_eq!(instance.descriptors, described.digest);
    assert_eq!(instance.pid, process::id());
    assert_eq!((instance.incarnation.len(), instance.store.as_str()), (32, ""));
    let answer = served.client().describe(wire::DescribeRequest {}).await.unwrap().into_inner();
    assert_eq!(answer, described);
}

#[tokio::test]
async fn health_and_reflection_are_answered() {
    let (served, _) = served().await;
    let mut health = HealthClient::new(channel(&served));
    for service in ["", TOOL_SERVICE] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let response = health.check(request).await.unwrap().into_inner();
        assert_eq!(
            response.status,
            tonic_health::pb::health_check_response::ServingStatus::Serving as i32
        );
    }
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut reflection = ServerReflectionClient::new(channel(&served));
    let stream = reflection.server_reflection_info(tokio_stream::iter([request])).await.unwrap();
    let answer = stream.into_inner().next().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(list) = answer else { panic!() };
    let mut names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    names.sort();
    assert_eq!(names, [TOOL_SERVICE, "grpc.health.v1.Health"]);
}

#[tokio::test]
async fn metrics_are_scraped_on_the_same_listener() {
    let (served, _) = served().await;
    let Address::Unix(path) = &served.instance.address else { panic!() };
    let mut socket = UnixStream::connect(path).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.to_ascii_lowercase().contains("content-type: text/plain"), "{response}");
}

#[tokio::test]
async fn a_badly_described_service_does_not_start() {
    let error = testing::start(Service::new("empty", "1.0.0")).await.unwrap_err();
    assert!(matches!(error, Error::Serve(ServeError::Descriptor(_))), "{error:?}");
    assert_eq!(error.to_string(), "service empty has no tool");
}

#[tokio::test]
async fn tcp_without_a_token_is_refused_and_with_one_wants_it_shown() {
    let record = Record::new();
    let tcp = Address::Tcp("127.0.0.1:0".to_owned());
    let started = testing::start_with(service(&record), |config| config.listen = tcp.clone()).await;
    assert!(matches!(started, Err(Error::Serve(ServeError::Bind(BindError::NoToken(_))))));

    let token = transport::DeploymentToken::new("0123456789abcdef0123").unwrap();
    let credentials = transport::Credentials { token: Some(token) };
    let served = testing::start_with(service(&record), |config| {
        config.listen = tcp;
        config.credentials = credentials.clone();
    })
    .await
    .unwrap();
    assert!(served.invoke("look", json!({"act": "answer"})).await.is_ok());

    let Address::Tcp(host_port) = &served.instance.address else { panic!() };
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{host_port}")).unwrap();
    let mut stranger = wire::tool_service_client::ToolServiceClient::new(endpoint.connect_lazy());
    let call = Some(served.call("look", &json!({"act": "answer"})));
    let request = wire::InvokeRequest { call, mode: wire::InvokeMode::Start.into() };
    assert_eq!(stranger.invoke(request).await.unwrap_err().code(), Code::Unauthenticated);
    assert_eq!(record.started().len(), 1);
}

#[tokio::test]
async fn a_shutdown_lets_the_call_at_work_end_and_takes_no_new_one() {
    let (served, record) = served().await;
    let running = served.call("change", &json!({"act": "wait"}));
    let mut health = HealthClient::new(channel(&served));
    let mut watch =
        health.watch(HealthCheckRequest { service: String::new() }).await.unwrap().into_inner();
    let ended = served.send(running, wire::InvokeMode::Start);
    let refused = async {
        record.begun(1).await;
        served.shut_down();
        let not_serving = tonic_health::pb::health_check_response::ServingStatus::NotServing as i32;
        while watch.message().await.unwrap().unwrap().status != not_serving {}
        drop(watch);
        let late = served.call("look", &json!({"act": "answer"}));
        let mut status = served.send(late.clone(), wire::InvokeMode::Start).await;
        // Health is told first, a moment before the door closes.
        while status.is_ok() {
            let late = served.call("look", &json!({"act": "answer"}));
            status = served.send(late, wire::InvokeMode::Start).await;
        }
        record.gate.add_permits(1);
        status.unwrap_err()
    };
    let (ended, refused) = tokio::join!(ended, refused);
    assert!(matches!(ended.unwrap().1.result, Some(wire::outcome::Result::Output(_))));
    assert_eq!(refused.code(), Code::Unavailable);
    served.stop().await.unwrap();
    assert_eq!(record.open(), 0);
}

#[tokio::test]
async fn a_stopped_service_leaves_the_live_set_and_its_socket() {
    let (served, _) = served().await;
    let Address::Unix(path) = served.instance.address.clone() else { panic!() };
    let discovery = callboard_discovery::connect(callboard_discovery::Config::Directory {
        path: path.parent().unwrap().to_owned(),
    })
    .await
    .unwrap();
    let mut live = discovery.live();
    let limit = Duration::from_secs(20);
    timeout(limit, live.wait_for(|live| live.instances.len() == 1)).await.unwrap().unwrap();
    served.stop().await.unwrap();
    assert!(UnixStream::connect(&path).await.is_err());
    timeout(limit, live.wait_for(|live| live.instances.is_empty())).await.unwrap().unwrap();
}
