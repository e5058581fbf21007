//! Figures for people, and the answers to probes.

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use callboard_discovery::{Role, State as InstanceState};
use callboard_proto::{
    PARTITIONS,
    agent::{GetStatusRequest, GetStatusResponse, Principal},
};
use http::StatusCode;
use serde_json::{Value, json};

use super::App;
use crate::{
    orchestrators::{Client, request},
    problem::Problem,
};

/// `GET /v1/status`: the sum over all orchestrators.
pub(super) async fn figures(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
) -> Result<Json<Value>, Problem> {
    let ask = GetStatusRequest { principal: Some(principal) };
    let send = async |mut client: Client| client.get_status(request(ask.clone())).await;
    let answers = app.orchestrators.ask_each(send).await;
    let all: Vec<&GetStatusResponse> = answers.iter().filter_map(|(_, a)| a.as_ref()).collect();
    if all.is_empty() {
        return Err(Problem::unavailable("No orchestrator answers. Is one running? Try again."));
    }
    let sum = |of: fn(&GetStatusResponse) -> u64| all.iter().map(|answer| of(answer)).sum::<u64>();
    let (total, failed) = (sum(|a| a.runs_total), sum(|a| a.runs_failed));
    let last_active = all.iter().map(|answer| answer.last_active_ms).max().filter(|ms| *ms > 0);
    let orchestrators: Vec<Value> = answers
        .iter()
        .map(|(instance, answer)| {
            json!({
                "instance": instance.id,
                "state": instance.state,
                "answers": answer.is_some(),
                "uptime_seconds": answer.as_ref().map(|answer| answer.uptime_seconds),
                "active_runs": answer.as_ref().map(|answer| answer.active_runs),
            })
        })
        .collect();
    let refused = all.iter().flat_map(|answer| &answer.refused);
    let refused: Vec<Value> =
        refused.map(|it| json!({ "session": it.session, "reason": it.reason })).collect();
    Ok(Json(json!({
        "uptime_seconds": all.iter().map(|answer| answer.uptime_seconds).max(),
        "runs_total": total,
        "runs_failed": failed,
        "success_rate": success_rate(total, failed),
        "tokens_total": sum(|a| a.tokens_total),
        "last_active": last_active,
        "active_runs": sum(|a| a.active_runs.into()),
        "refused_sessions": sum(|a| a.refused_sessions.into()),
        "refused": refused,
        "models": all.first().map(|answer| &answer.models),
        "orchestrators": orchestrators,
    })))
}

/// Share of the runs that did not fail; `None` before the first one ended.
fn success_rate(total: u64, failed: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with a few digits")]
    (total > 0).then(|| (total.saturating_sub(failed)) as f64 / total as f64)
}

/// `GET /healthz`: the process lives.
pub(super) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Whether runs can go on, as the orchestrators say: while the journal takes nothing they wait, and
/// requests that only read are served where it can be read.
async fn journal(app: &App, principal: Option<Extension<Principal>>) -> Value {
    let ask = GetStatusRequest { principal: principal.map(|Extension(principal)| principal) };
    let send = async |mut client: Client| client.get_status(request(ask.clone())).await;
    let answers = app.orchestrators.ask_each(send).await;
    let said: Vec<String> =
        answers.into_iter().filter_map(|(_, answer)| Some(answer?.paused)).collect();
    match said.iter().find(|why| !why.is_empty()) {
        Some(why) => json!({ "status": "paused", "reason": why }),
        None if said.is_empty() => json!({ "status": "unknown" }),
        None => json!({ "status": "ok" }),
    }
}

/// `GET /readyz`: requests can be served. Details are for those who may come in.
pub(super) async fn ready(
    State(app): State<App>,
    principal: Option<Extension<Principal>>,
) -> Response {
    let live = app.discovery.live().borrow().clone();
    let owners = app.discovery.owners().borrow().len();
    let of = |role| live.instances.values().filter(move |instance| instance.role == role);
    let serves = of(Role::Orchestrator).any(|instance| instance.state == InstanceState::Serving);
    let is_ready = serves && !app.closing.is_cancelled();
    let (code, status) = if is_ready {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not_ready")
    };
    if principal.is_none() {
        return (code, Json(json!({ "status": status }))).into_response();
    }
    let list = |role| -> Vec<Value> {
        let listed = of(role).map(|instance| {
            json!({
                "instance": instance.id, "name": instance.name, "state": instance.state,
                "pid": instance.pid,
            })
        });
        listed.collect()
    };
    let detail = json!({
        "status": status,
        "journal": journal(&app, principal).await,
        "draining": app.closing.is_cancelled(),
        "discovery": { "confirmed": live.confirmed && app.discovery.is_confirmed() },
        "partitions": { "owned": owners, "total": PARTITIONS },
        "orchestrators": list(Role::Orchestrator),
        "tool_services": list(Role::Tool),
    });
    (code, Json(detail)).into_response()
}
