//! Serves one service: binds, registers, answers, and drains when asked to. Everything that wraps
//! the adapter is listed once, in `routes` and `serve`; next is the adapter, `server.rs`.

use std::{future::Future, process, sync::Arc, time::Duration};

use callboard_discovery::{
    Discovery, Instance, InstanceId, Registration, Role, State,
    transport::{self, BindError, Guard},
};
use callboard_proto::{FILE_DESCRIPTOR_SET, size, tool::tool_service_server::ToolServiceServer};
use callboard_telemetry::{TraceLayer, metrics};
use tokio::{task::spawn_blocking, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::service::Routes;
use tonic_health::{ServingStatus, server::HealthReporter};
use tracing::{info, warn};

use crate::{
    Config, Service, StoreError,
    calls::Calls,
    descriptor::DescriptorError,
    server::Server,
    store::{Opened, Store},
};

/// Full name of the service on the wire.
const TOOL_SERVICE: &str = "callboard.tool.v1.ToolService";
/// A silent connection is asked for a sign of life this often, and given up after the timeout.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5));
/// Time for discovery to take a change while shutting down; its lease ends anyway.
const DISCOVERY: Duration = Duration::from_secs(2);

/// Why a service could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The service or one of its tools is badly described.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// What the service did before cannot be known.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The instance cannot be made known.
    #[error("the instance cannot be registered")]
    Discovery(#[from] callboard_discovery::Error),
    /// The descriptors of the wire contract are damaged.
    #[error("server reflection cannot start")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The server stopped by itself.
    #[error("the server stopped")]
    Server(#[source] Option<tonic::transport::Error>),
}

/// Serves until `shutdown` fires and the drain is done, then returns `Ok`. Calls at work get
/// [`Config::drain`] to end. Dropping the future instead cuts everything off.
///
/// # Errors
/// [`ServeError`], every variant; all but the last before anything is served.
pub async fn serve(
    service: Service,
    config: Config,
    discovery: Arc<dyn Discovery>,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let description = service.describe()?;
    let incarnation = uuid::Uuid::new_v4().simple().to_string();
    let opened = open_store(&service, &config, &incarnation).await?;
    let bound = transport::bind(&config.listen, &config.credentials).await?;
    let address = config.advertise.clone().unwrap_or_else(|| bound.address().clone());
    let instance = Instance {
        id: config.instance.clone().unwrap_or_else(|| InstanceId::new(service.name())),
        role: Role::Tool,
        team: config.team.clone(),
        name: service.name().to_owned(),
        address,
        version: service.version().to_owned(),
        zone: config.zone.clone(),
        capacity: config.capacity,
        state: State::Serving,
        descriptors: description.digest.clone(),
        incarnation: incarnation.clone(),
        // Empty: outcomes are in memory, and nobody shares them.
        store: opened.as_ref().map_or_else(String::new, |it| it.store.id().to_owned()),
        workspaces: config.workspaces.iter().map(|workspace| workspace.id.clone()).collect(),
        pid: process::id(),
    };
    let calls = Calls::new(incarnation, config.capacity.max(1) as usize, opened);
    let server = Server::new(&service, description, &config.workspaces, calls.clone());
    let (health, routes) = routes(server).await?;
    let close = CancellationToken::new();
    let stack = tonic::transport::Server::builder()
        // Metrics are scraped with HTTP/1.1.
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEP_ALIVE.0))
        .http2_keepalive_timeout(Some(KEEP_ALIVE.1))
        // A caller must learn that we are full, and be able to cancel, rather than wait for a stream.
        .max_concurrent_streams(config.capacity.saturating_mul(2).saturating_add(64))
        // The server span, which `Invoke` makes the tool's own.
        .layer(TraceLayer::grpc(TOOL_SERVICE))
        // Only peers of this deployment.
        .layer(Guard::new(&config.credentials))
        .add_routes(routes);
    let tasks = TaskTracker::new();
    let mut serving = tasks.spawn(
        stack.serve_with_incoming_shutdown(bound.incoming(), close.clone().cancelled_owned()),
    );
    tasks.close();
    let _end = close.clone().drop_guard();

    let registration = discovery.register(instance).await?;
    info!(instance = %registration.instance().id, address = %registration.instance().address, "serving");
    tokio::select! {
        () = shutdown.cancelled() => {}
        ended = &mut serving => return Err(ServeError::Server(ended.ok().and_then(Result::err))),
    }
    drain(&registration, &health, &calls, config.drain).await;
    close.cancel();
    if timeout(config.linger, serving).await.is_err() {
        warn!("connections were cut off");
    }
    let _ = quick(registration.release()).await;
    info!("stopped");
    Ok(())
}

/// Opens the store of a service that changes things.
async fn open_store(
    service: &Service,
    config: &Config,
    incarnation: &str,
) -> Result<Option<Opened>, ServeError> {
    let Some(settings) = config.store.clone().filter(|_| service.changes()) else {
        return Ok(None);
    };
    let incarnation = incarnation.to_owned();
    let opening = spawn_blocking(move || Store::open(&settings, &incarnation));
    match opening.await {
        Ok(opened) => Ok(Some(opened?)),
        // Cancelled: the runtime is going down.
        Err(_) => Err(ServeError::Server(None)),
    }
}

/// Says that nothing new is taken, then waits for what is at work.
async fn drain(
    registration: &Registration,
    health: &HealthReporter,
    calls: &Calls,
    limit: Duration,
) {
    info!("draining");
    for service in ["", TOOL_SERVICE] {
        health.set_service_status(service, ServingStatus::NotServing).await;
    }
    let told = async {
        if let Some(Err(error)) = quick(registration.set_state(State::Draining)).await {
            warn!(%error, "draining is not known to others");
        }
    };
    tokio::join!(told, calls.drain(limit));
}

async fn quick<F: Future>(change: F) -> Option<F::Output> {
    timeout(DISCOVERY, change).await.ok()
}

/// Everything that is answered, beside the tools themselves: health, reflection and metrics.
async fn routes(server: Server) -> Result<(HealthReporter, Routes), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_service_status(TOOL_SERVICE, ServingStatus::Serving).await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .with_service_name(TOOL_SERVICE)
        .with_service_name("grpc.health.v1.Health")
        .build_v1()?;
    let tools = ToolServiceServer::new(server)
        .max_decoding_message_size(size::MESSAGE)
        .max_encoding_message_size(size::MESSAGE);
    let router = Routes::new(tools)
        .add_service(health_service)
        .add_service(reflection)
        .into_axum_router()
        .merge(metrics::route(metrics::handle()));
    Ok((health, Routes::from(router)))
}

#[cfg(test)]
mod tests;
