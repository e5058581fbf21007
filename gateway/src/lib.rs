//! The doors: HTTP and event streams. Keeps no state: a session lives with its orchestrator.
//!
//! [`run`] only wires. A request enters at \[1\] `http.rs` and goes on to \[2\] `orchestrators.rs`.

mod config;
mod listeners;
mod serve;
mod http;
mod orchestrators;
mod convert;
mod trace;
mod problem;
#[cfg(test)]
mod tests;

use std::{process, sync::Arc, time::Duration};

use callboard_discovery::{Address, Instance, InstanceId, Registration, Role, State};
use callboard_telemetry::metrics;
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic_health::ServingStatus;
use tracing::{info, warn};

use self::{
    http::{App, Doorman},
    orchestrators::Orchestrators,
    serve::Server,
};

pub use self::{
    config::{Config, Node, Secret},
    listeners::{ListenError, Listeners},
};

/// Characters of a token at least.
const TOKEN: usize = 16;
/// Time, before the drain is over, in which requests that still wait are answered.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// Time for discovery to take a change while shutting down; its lease ends anyway.
const DISCOVERY: Duration = Duration::from_secs(2);

/// Why a gateway could not be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anyone who reaches the port could call.
    #[error(
        "refused to serve TCP without a token: set gateway.token_file, or only serve the Unix socket"
    )]
    NoToken,
    /// Too easy to guess.
    #[error("gateway.token has {0} characters, at least {TOKEN} are wanted")]
    ShortToken(usize),
    /// There is no address to serve on.
    #[error("there is no address to serve on")]
    NoListener,
    /// The instance cannot be made known.
    #[error("the gateway cannot be registered")]
    Discovery(#[from] callboard_discovery::Error),
}

/// Serves until `shutdown` fires and the drain is done, then returns `Ok`: event streams are told
/// where to go on and end at once, requests in flight get `drain_ms`. Dropping the future instead
/// cuts everything off.
///
/// # Errors
/// [`Error`], every variant, all before anything is served.
pub async fn run(
    config: Config,
    listeners: Listeners,
    node: Node,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let instance = instance(&config, &listeners, &node)?;
    let config = Arc::new(config);
    let app = App {
        orchestrators: Orchestrators::new(
            Arc::clone(&node.discovery),
            node.credentials,
            config.park(),
        ),
        config: Arc::clone(&config),
        discovery: Arc::clone(&node.discovery),
        metrics: node.metrics,
        secret: node.secret,
        tasks: TaskTracker::new(),
        closing: CancellationToken::new(),
        ending: CancellationToken::new(),
    };
    // A future that is dropped takes its tasks with it.
    let _closing = app.closing.clone().drop_guard();
    let _ending = app.ending.clone().drop_guard();
    let (tasks, closing) = (&app.tasks, &app.closing);
    let (router, health) = http::router(app.clone(), Doorman::new(Arc::clone(&config)));
    let server = Server::new(router, tasks.clone(), closing.clone());
    if let Some(bound) = listeners.socket {
        tasks.spawn(server.clone().socket(bound));
    }
    if let Some(listener) = listeners.tcp {
        tasks.spawn(server.tcp(listener));
    }
    tasks.spawn(watch(app.clone()));
    tasks.close();

    let registration = node.discovery.register(instance).await?;
    let known = registration.instance();
    info!(instance = %known.id, address = %known.address, "serving");
    shutdown.cancelled().await;
    health.set_service_status("", ServingStatus::NotServing).await;
    drain(&app, &registration).await;
    let _ = timeout(DISCOVERY, registration.release()).await;
    info!("stopped");
    Ok(())
}

/// How the gateway is made known; refuses what cannot be served.
fn instance(config: &Config, listeners: &Listeners, node: &Node) -> Result<Instance, Error> {
    let length = config.token.as_ref().map(|token| token.trim().chars().count());
    match length {
        None | Some(0) if listeners.tcp.is_some() => return Err(Error::NoToken),
        Some(length) if (1..TOKEN).contains(&length) => return Err(Error::ShortToken(length)),
        _ => {}
    }
    let socket = listeners.socket.as_ref().map(|bound| bound.address().clone());
    let tcp = listeners.tcp_address().map(|address| Address::Tcp(address.to_string()));
    let address = socket.or(tcp).ok_or(Error::NoListener)?;
    Ok(Instance {
        id: node.instance.clone().unwrap_or_else(|| InstanceId::new("gateway")),
        role: Role::Gateway,
        team: config.team.clone(),
        name: "gateway".to_owned(),
        address,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        zone: node.zone.clone(),
        capacity: 0,
        state: State::Serving,
        descriptors: String::new(),
        incarnation: uuid::Uuid::new_v4().simple().to_string(),
        store: String::new(),
        workspaces: Vec::new(),
        pid: process::id(),
    })
}

/// Follows who is alive: counts them, and closes connections to those that have left.
async fn watch(app: App) {
    let mut live = app.discovery.live();
    loop {
        let seen = live.borrow_and_update().clone();
        metrics::discovery_confirmed(seen.confirmed);
        for role in [Role::Gateway, Role::Orchestrator, Role::Tool] {
            let count = seen.instances.values().filter(|instance| instance.role == role).count();
            metrics::instances_live(role.as_str(), count as u64);
        }
        app.orchestrators.forget_gone();
        tokio::select! {
            changed = live.changed() => if changed.is_err() { break },
            () = app.closing.cancelled() => break,
        }
    }
}

/// Takes nothing new, ends the streams, and waits for what is in flight, for as long as agreed.
async fn drain(app: &App, registration: &Registration) {
    info!("draining");
    app.closing.cancel();
    let told = async {
        let told = timeout(DISCOVERY, registration.set_state(State::Draining)).await;
        if let Ok(Err(error)) = told {
            warn!(%error, "draining is not known to others");
        }
    };
    let limit = app.config.drain();
    let ended = async {
        let last_answers = LAST_ANSWERS.min(limit / 2);
        let patience = limit.saturating_sub(last_answers);
        if timeout(patience, app.tasks.wait()).await.is_err() {
            app.ending.cancel();
            if timeout(last_answers, app.tasks.wait()).await.is_err() {
                warn!(tasks = app.tasks.len(), "requests were cut off");
            }
        }
    };
    tokio::join!(told, ended);
}
