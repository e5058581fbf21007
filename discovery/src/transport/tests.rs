//! The transport over real sockets: health stands for what is exempt, reflection for what is not.

mod listening;

use std::{error::Error as _, fs, io, net::Ipv4Addr, os::unix::fs::PermissionsExt as _};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};
use tonic::{
    Code, Request, Status,
    transport::{Endpoint, Server},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest,
};

use super::*;
use crate::{Address, testing::folder};

const TOKEN: &str = "a-token-that-nobody-knows";

fn credentials(token: &str) -> Credentials {
    Credentials { token: Some(DeploymentToken::new(token).unwrap()) }
}

fn loopback() -> Address {
    Address::Tcp("127.0.0.1:0".into())
}

/// Serves health and reflection behind the guard; answers with where.
async fn serve(tasks: &mut JoinSet<()>, listen: &Address, credentials: &Credentials) -> Address {
    let bound = bind(listen, credentials).await.unwrap();
    let address = bound.address().clone();
    let (_, health) = tonic_health::server::health_reporter();
    let reflection = tonic_reflection::server::Builder::configure().build_v1().unwrap();
    let server = Server::builder()
        .accept_http1(true)
        .layer(Guard::new(credentials))
        .add_service(health)
        .add_service(reflection)
        .serve_with_incoming(bound.incoming());
    tasks.spawn(async move { server.await.unwrap() });
    address
}

async fn check_health(channel: Channel) -> Result<(), Status> {
    let request = HealthCheckRequest { service: String::new() };
    HealthClient::new(channel).check(request).await.map(|_| ())
}

async fn reflect(channel: Channel) -> Result<(), Status> {
    let message_request = Some(MessageRequest::ListServices(String::new()));
    let request = ServerReflectionRequest { message_request, ..Default::default() };
    let requests = futures_util::stream::iter([request]);
    let mut client = ServerReflectionClient::new(channel);
    let answer = client.server_reflection_info(requests).await?.into_inner().message().await?;
    assert!(answer.is_some());
    Ok(())
}

#[tokio::test]
async fn a_unix_peer_of_our_own_user_needs_no_token() {
    let (folder, mut tasks) = (folder(), JoinSet::new());
    let socket = folder.path().join("c.sock");
    let address = Address::Unix(socket.clone());
    assert_eq!(serve(&mut tasks, &address, &Credentials::default()).await, address);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o700);
    let channel = channel(&address, &Credentials::default()).unwrap();
    reflect(channel.clone()).await.unwrap();
    check_health(channel).await.unwrap();
    tasks.shutdown().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn over_tcp_the_right_token_opens_everything() {
    let mut tasks = JoinSet::new();
    let address = serve(&mut tasks, &loopback(), &credentials(TOKEN)).await;
    assert_ne!(address, loopback());
    let channel = channel(&address, &credentials(TOKEN)).unwrap();
    reflect(channel.clone()).await.unwrap();
    check_health(channel).await.unwrap();
}

#[tokio::test]
async fn over_tcp_a_wrong_or_missing_token_opens_health_alone() {
    let mut tasks = JoinSet::new();
    let address = serve(&mut tasks, &loopback(), &credentials(TOKEN)).await;
    let wrong = channel(&address, &credentials("another-token-than-theirs")).unwrap();
    let status = reflect(wrong.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    assert_eq!(status.message(), "the deployment token is missing or wrong");
    check_health(wrong).await.unwrap();

    let Address::Tcp(host_port) = &address else { unreachable!("it is TCP") };
    let bare = Endpoint::from_shared(format!("http://{host_port}")).unwrap().connect_lazy();
    let message_request = Some(MessageRequest::ListServices(String::new()));
    let ask = || ServerReflectionRequest {
        message_request: message_request.clone(),
        ..Default::default()
    };
    let mut client = ServerReflectionClient::new(bare.clone());
    let status = client.server_reflection_info(futures_util::stream::iter([ask()])).await;
    assert_eq!(status.unwrap_err().code(), Code::Unauthenticated);
    HealthClient::new(bare.clone()).check(HealthCheckRequest::default()).await.unwrap();

    for (headers, opens) in [
        (vec![format!("Bearer {TOKEN}")], true),
        (vec![format!("bearer {TOKEN}")], true),
        (vec![TOKEN.to_owned()], false),
        (vec![format!("Basic {TOKEN}")], false),
        (vec![format!("Bearer {TOKEN}x")], false),
        (vec!["Bearer".to_owned()], false),
        (vec![format!("Bearer {TOKEN}"), "Bearer other".to_owned()], false),
    ] {
        let mut request = Request::new(futures_util::stream::iter([ask()]));
        for header in &headers {
            request.metadata_mut().append("authorization", header.parse().unwrap());
        }
        let answer = client.server_reflection_info(request).await;
        assert_eq!(answer.is_ok(), opens, "{headers:?}");
    }
}

#[tokio::test]
async fn a_plain_http_request_without_token_is_refused_in_its_own_tongue() {
    let mut tasks = JoinSet::new();
    let address = serve(&mut tasks, &loopback(), &credentials(TOKEN)).await;
    let Address::Tcp(host_port) = &address else { unreachable!("it is TCP") };
    let mut stream = TcpStream::connect(host_port).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
    assert!(answer.to_lowercase().contains("www-authenticate: bearer"), "{answer}");
}

#[tokio::test]
async fn no_role_listens_or_calls_on_tcp_without_a_token() {
    let error = bind(&loopback(), &Credentials::default()).await.unwrap_err();
    assert!(matches!(&error, BindError::NoToken(address) if *address == loopback()), "{error}");
    assert!(error.to_string().contains("listen on unix:"), "{error}");
    let error = channel(&loopback(), &Credentials::default()).unwrap_err();
    assert!(matches!(error, ChannelError::NoToken(_)), "{error}");
    let nonsense = Address::Tcp("no host:1".into());
    let error = channel(&nonsense, &credentials(TOKEN)).unwrap_err();
    assert!(matches!(error, ChannelError::Address { .. }), "{error}");
}

#[tokio::test]
async fn a_channel_connects_again_when_its_server_is_back() {
    let (folder, mut tasks) = (folder(), JoinSet::new());
    let address = Address::Unix(folder.path().join("c.sock"));
    let channel = channel(&address, &Credentials::default()).unwrap();
    let status = check_health(channel.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(io_kind(&status), Some(io::ErrorKind::NotFound));
    for _ in 0..2 {
        serve(&mut tasks, &address, &Credentials::default()).await;
        // The lost connection may be met once more.
        while check_health(channel.clone()).await.is_err() {}
        tasks.shutdown().await;
    }
}

#[tokio::test]
async fn a_refused_connection_is_told_from_a_lost_one() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap().to_string());
    drop(listener);
    let channel = channel(&address, &credentials(TOKEN)).unwrap();
    let status = check_health(channel).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(io_kind(&status), Some(io::ErrorKind::ConnectionRefused));
}

/// The operating system's answer in the chain of sources.
fn io_kind(status: &Status) -> Option<io::ErrorKind> {
    let mut source = status.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        source = error.source();
    }
    None
}
