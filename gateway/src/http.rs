//! [1] of the path of a tool call: the native HTTP API and its event streams; a request enters here.
//! Each route is decode, ask, encode; next is [2] `orchestrators.rs`.
//!
//! Who gets in is decided in `http/door.rs`, before any route; what a body may be in `http/json.rs`.

mod approvals;
mod artifacts;
mod begin;
mod door;
mod events;
mod export;
mod ids;
mod index;
mod json;
mod outcomes;
mod policy;
mod runs;
mod sessions;
mod sse;
mod status;
mod tools;
mod trace;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    middleware,
    routing::{get, post},
};
use callboard_discovery::Discovery;
use callboard_telemetry::{MetricsHandle, TraceLayer, metrics};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic_health::server::{HealthReporter, health_reporter};

use crate::{
    Config, Secret,
    orchestrators::Orchestrators,
    problem::{Kind, Problem},
};

pub(crate) use self::door::{Door, Doorman};

/// What every handler works with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) config: Arc<Config>,
    pub(crate) orchestrators: Orchestrators,
    pub(crate) discovery: Arc<dyn Discovery>,
    pub(crate) metrics: MetricsHandle,
    /// What ids are derived from.
    pub(crate) secret: Secret,
    /// Tasks that serve requests beyond their handler; waited for at the end.
    pub(crate) tasks: TaskTracker,
    /// Fires when the gateway begins to leave: streams say where to go on, and end.
    pub(crate) closing: CancellationToken,
    /// Fires shortly before the gateway stops waiting for requests.
    pub(crate) ending: CancellationToken,
}

/// All routes, with everything around them, and what gRPC's own health service says.
pub(crate) fn router(app: App, doorman: Doorman) -> (Router, HealthReporter) {
    let (reporter, health) = health_reporter();
    let sessions = Router::new()
        .route("/", get(sessions::list).post(sessions::open))
        .route("/{session}", get(sessions::show).delete(sessions::delete))
        .route("/{session}/runs", post(runs::in_session))
        .route("/{session}/events", get(events::stream))
        .route("/{session}/approvals/{call}", post(approvals::decide))
        .route("/{session}/outcomes/{call}", post(outcomes::choose))
        .route("/{session}/export", get(export::whole))
        .route("/{session}/cancel", post(sessions::cancel))
        .route("/{session}/rollback", post(sessions::rollback))
        .route("/{session}/artifacts/{artifact}", get(artifacts::read))
        .route("/{session}/trace", get(trace::show));
    let router = Router::new()
        .route("/", get(index::show))
        .route("/v1/runs", post(runs::in_new_session))
        .nest("/v1/sessions", sessions)
        .route("/v1/tools", get(tools::list))
        .route("/v1/tools/{tool}/invoke", post(tools::invoke))
        .route("/v1/policy", get(policy::list))
        .route("/v1/policy/test", post(policy::test))
        .route("/v1/status", get(status::figures))
        .route("/healthz", get(status::alive))
        .route("/readyz", get(status::ready))
        .route_service("/grpc.health.v1.Health/{method}", health)
        .merge(metrics::route(app.metrics.clone()))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(app)
        // Who is it, and may it come in? Inside the span, so that refusals are seen.
        .layer(middleware::from_fn_with_state(doorman, door::admit))
        // The server span, with the caller's trace.
        .layer(TraceLayer::http());
    (router, reporter)
}

async fn no_route(request: Request) -> Problem {
    Problem::not_found(format!("There is nothing at {}.", request.uri().path()))
}

async fn no_method(request: Request) -> Problem {
    let (method, path) = (request.method(), request.uri().path());
    let detail = format!("{path} does not take {method}; the Allow header says what it takes.");
    Problem::new(Kind::MethodNotAllowed, detail)
}
