//! Wires an orchestrator together, step by step, and takes it down in the opposite order.

use std::{sync::Arc, time::Duration};

use callboard_discovery::{
    Instance, InstanceId, Registration, Role, State,
    transport::{self, Guard},
};
use callboard_proto::{agent::agent_service_server::AgentServiceServer, size};
use callboard_telemetry::TraceLayer;
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{
    service::Routes,
    transport::{Server, server::Router},
};
use tower::layer::util::{Identity, Stack};
use tracing::{info, warn};
use uuid::Uuid;

use crate::{
    agent_service::Agents,
    artifacts::{ArtifactError, Artifacts, files::FileArtifacts},
    call::{self, CallPath, Rulebook, policy::RulesRead},
    catalog::Catalog,
    config::{Config, Node},
    journal::{self, Health, Journal, JournalError},
    model::{self, Models},
    partitions::{self, Partitions},
    session::{Clock, Offers, Sessions, Shared, Unseen},
    status::Status,
};

/// Time that releasing what is held in discovery may take.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);

/// Pause before a database that did not answer at the start is tried again.
const OPEN_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Why an orchestrator could not start or go on.
#[derive(Debug, Error)]
pub enum Error {
    /// It cannot listen.
    #[error(transparent)]
    Bind(#[from] transport::BindError),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal's disk failed. Nothing is written any more, or a sync that failed might be taken
    /// for one that did not; what is in the journal shows when it is opened anew.
    #[error(
        "the journal's disk failed ({0}): everything that was acknowledged is in the journal; look \
         at the disk, and start again"
    )]
    DiskFailed(String),
    /// The artifacts cannot be opened.
    #[error(transparent)]
    Artifacts(#[from] ArtifactError),
    /// A setting of the call path is wrong.
    #[error(transparent)]
    Calls(#[from] call::config::Error),
    /// A setting of the models is wrong.
    #[error(transparent)]
    Models(#[from] model::error::ConfigError),
    /// Discovery refused us.
    #[error(transparent)]
    Discovery(#[from] callboard_discovery::Error),
    /// Reflection cannot be served.
    #[error("the service cannot describe itself: {0}")]
    Reflection(String),
    /// The server failed.
    #[error("the gRPC server failed")]
    Server(#[source] tonic::transport::Error),
}

/// Runs an orchestrator until `shutdown`, then drains it.
///
/// # Errors
/// [`enum@Error`]; nothing is left running then.
pub async fn run(config: Config, node: Node, shutdown: CancellationToken) -> Result<(), Error> {
    let bound = transport::bind(&node.listen, &node.credentials).await?;
    let deployment = node.discovery.deployment().await?;
    let Some(journal) = open(&config, &node, &deployment, &shutdown).await? else { return Ok(()) };
    let artifacts: Arc<dyn Artifacts> = Arc::new(FileArtifacts::open(&node.state).await?);
    let tasks = TaskTracker::new();
    let work = CancellationToken::new();
    let shared = Arc::new(share(config, &node, (&journal, &artifacts), (&tasks, &work)).await?);
    let sessions = Sessions::new(Arc::clone(&shared), tasks.clone(), work.clone());

    let address = node.advertise.clone().unwrap_or_else(|| bound.address().clone());
    let instance = instance(&shared, &node, address);
    let serving = CancellationToken::new();
    let server = server(&node, Agents::new(Arc::clone(&sessions), artifacts))?
        .serve_with_incoming_shutdown(bound.incoming(), serving.clone().cancelled_owned());
    let server = tasks.spawn(server);
    let registration = node.discovery.register(instance).await?;
    info!(instance = %registration.instance().id, "orchestrator serves");
    let discovery = (Arc::clone(&node.discovery), &*deployment);
    let holding = partitions::hold(Arc::clone(&sessions), discovery, &registration, shutdown);
    let held = tokio::select! {
        held = holding => held.map_err(Error::from),
        what = failed(journal.health()) => Err(Error::DiskFailed(what)),
    };
    drain(&shared, registration, [work, serving], &tasks).await;
    journal.close().await;
    held?;
    // The tracker waited for it already, or gave it up.
    match server.await {
        Ok(ended) => ended.map_err(Error::Server),
        Err(_) => Ok(()),
    }
}

/// Opens the journal for the deployment. A database that does not answer yet is waited for where the
/// node says so; `None` if `shutdown` came meanwhile.
async fn open(
    config: &Config,
    node: &Node,
    deployment: &str,
    shutdown: &CancellationToken,
) -> Result<Option<Arc<dyn Journal>>, Error> {
    let mut has_waited = false;
    loop {
        let opened = async {
            let journal = journal::config::open(&config.journal, &node.state).await?;
            journal.belong(deployment).await.map(|()| journal)
        };
        match opened.await {
            Err(JournalError::Unreachable(what)) if node.waits_for_journal => {
                if !std::mem::replace(&mut has_waited, true) {
                    warn!(what, "journal does not answer yet; waiting for it");
                }
            }
            Ok(journal) => {
                if has_waited {
                    info!("journal answers");
                }
                return Ok(Some(journal));
            }
            Err(error) => return Err(error.into()),
        }
        if shutdown.run_until_cancelled(tokio::time::sleep(OPEN_AGAIN_AFTER)).await.is_none() {
            return Ok(None);
        }
    }
}

/// Resolves once nothing can be written any more until the journal is opened anew.
async fn failed(mut health: watch::Receiver<Health>) -> String {
    let failed = health.wait_for(|health| matches!(health, Health::Failed(_))).await;
    match failed.as_deref() {
        Ok(Health::Failed(what)) => what.clone(),
        // A journal that was closed does not fail any more.
        Ok(_) | Err(_) => std::future::pending().await,
    }
}

/// What all sessions share.
async fn share(
    config: Config,
    node: &Node,
    (journal, artifacts): (&Arc<dyn Journal>, &Arc<dyn Artifacts>),
    (tasks, work): (&TaskTracker, &CancellationToken),
) -> Result<Shared, Error> {
    let catalog = Catalog::spawn(
        config.catalog.clone(),
        Arc::clone(&node.discovery),
        node.credentials.clone(),
        tasks,
        work.clone(),
    );
    let rules = Arc::new(Rulebook::new(config.policy.clone(), config.profile)?);
    if let Some(read) = node.rules.clone() {
        tasks.spawn(follow(read, Arc::clone(&rules), work.clone()));
    }
    let seed = fastrand::u64(..);
    let calls = CallPath::new(config.calls.clone(), rules, catalog, Arc::clone(artifacts), seed)?;
    let models = Models::new(config.models.clone(), model::http_client(&config.models)?)?;
    models.probe().await;
    Ok(Shared {
        partitions: Partitions::new(journal.partitions().await?),
        journal: Arc::clone(journal),
        calls: Arc::new(calls),
        models: Arc::new(models),
        offers: Offers::default(),
        unseen: Unseen::default(),
        discovery: Arc::clone(&node.discovery),
        status: Arc::new(Status::new()),
        clock: Clock::new(),
        incarnation: Uuid::new_v4().to_string(),
        config,
    })
}

/// Puts rules in force as they are read, until `work` ends.
async fn follow(
    mut read: watch::Receiver<RulesRead>,
    rules: Arc<Rulebook>,
    work: CancellationToken,
) {
    loop {
        tokio::select! {
            () = work.cancelled() => return,
            changed = read.changed() => if changed.is_err() { return },
        }
        let newest = read.borrow_and_update().clone();
        rules.replace(newest);
    }
}

fn instance(shared: &Shared, node: &Node, address: callboard_discovery::Address) -> Instance {
    Instance {
        id: node.instance.clone().unwrap_or_else(|| InstanceId::new("orchestrator")),
        role: Role::Orchestrator,
        team: shared.config.catalog.shared_team.clone(),
        name: "orchestrator".to_owned(),
        address,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        zone: node.zone.clone(),
        capacity: 0,
        state: State::Serving,
        descriptors: String::new(),
        incarnation: shared.incarnation.clone(),
        store: String::new(),
        workspaces: Vec::new(),
        pid: std::process::id(),
    }
}

/// The layers of the server, the innermost named first.
type Layers = Stack<Guard, Stack<TraceLayer, Identity>>;

/// The server with its layers, outermost first: trace, then who may call.
fn server(node: &Node, agents: Agents) -> Result<Router<Layers>, Error> {
    let service = AgentServiceServer::new(agents)
        .max_decoding_message_size(size::MESSAGE)
        .max_encoding_message_size(size::NOTICE);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(callboard_proto::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| Error::Reflection(error.to_string()))?;
    // Nobody takes the overall status back: a process that answers is healthy.
    let (_, health) = tonic_health::server::health_reporter();
    let grpc = Routes::new(service).add_service(reflection).add_service(health);
    let metrics = callboard_telemetry::metrics::route(node.metrics.clone());
    let all = grpc.prepare().into_axum_router().merge(metrics);
    Ok(Server::builder()
        .accept_http1(true)
        .layer(TraceLayer::grpc("callboard.agent.v1.AgentService"))
        .layer(Guard::new(&node.credentials))
        .add_routes(Routes::from(all)))
}

/// Lets go in order: no new partitions, sessions keep what they have, streams end, leases go.
async fn drain(
    shared: &Shared,
    registration: Registration,
    [work, serving]: [CancellationToken; 2],
    tasks: &TaskTracker,
) {
    info!("orchestrator drains");
    if let Err(error) = registration.set_state(State::Draining).await {
        warn!(%error, "discovery was not told of the drain");
    }
    work.cancel();
    serving.cancel();
    tasks.close();
    let limit = Duration::from_millis(shared.config.drain_ms);
    if tokio::time::timeout(limit, tasks.wait()).await.is_err() {
        warn!("gave up what was still in flight");
    }
    if tokio::time::timeout(RELEASE_LIMIT, registration.release()).await.is_err() {
        warn!("discovery was not told that we left; our lease will end");
    }
}
