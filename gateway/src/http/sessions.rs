//! Sessions: open, list, show, remove, cancel, take back.

use axum::{
    Extension, Json as JsonAnswer,
    extract::State,
    response::{IntoResponse, Response},
};
use callboard_proto::agent::{
    CancelRequest, DeleteSessionRequest, ListSessionsRequest, OpenSessionRequest, Principal,
    RollbackRequest, Session, rollback_request::What,
};
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    App,
    ids::{self, Key},
    json::{Asked, Json, Place, Shape},
};
use crate::{
    convert::{RollbackJson, RunJson, SessionJson},
    orchestrators::{Ask, Client, request},
    problem::{Kind, Problem},
};

/// Sessions that one list shows at most.
const LISTED: u32 = 500;

/// One model, or several in order of preference.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a model's name, or a list of them")]
pub(super) enum Models {
    One(String),
    Many(Vec<String>),
}

impl Models {
    pub(super) fn into_list(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenBody {
    agent: String,
    model: Option<Models>,
    title: String,
}

impl Shape for OpenBody {
    const FIELDS: &'static [&'static str] = &["agent", "model", "title"];
    const MAY_BE_ABSENT: bool = true;
}

/// `POST /v1/sessions`
pub(super) async fn open(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Json(body): Json<OpenBody>,
) -> Result<Response, Problem> {
    let key = Key::of(&headers)?;
    let session = key.id(&app.secret, &principal, "POST /v1/sessions");
    let open = OpenSessionRequest {
        principal: Some(principal),
        session: session.clone(),
        agent: body.agent,
        models: body.model.map(Models::into_list).unwrap_or_default(),
        title: body.title,
        idempotency_key: key.text().to_owned(),
    };
    let send = async |mut client: Client| client.open_session(request(open.clone())).await;
    let opened = app.orchestrators.ask(Ask::begin(&session), send).await?;
    let opened = opened.session.unwrap_or_default();
    let location = [(header::LOCATION, format!("/v1/sessions/{session}"))];
    let body = JsonAnswer(SessionJson::from(&opened));
    Ok((StatusCode::CREATED, location, body).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    limit: Option<u32>,
}

/// `GET /v1/sessions`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Asked(query): Asked<ListQuery>,
) -> Result<JsonAnswer<Value>, Problem> {
    let limit = query.limit.unwrap_or(0);
    if query.limit == Some(0) || limit > LISTED {
        return Err(Problem::bad_request(format!("`limit` must be 1 to {LISTED}.")));
    }
    let list = ListSessionsRequest { principal: Some(principal), limit };
    let send = async |mut client: Client| client.list_sessions(request(list.clone())).await;
    let listed = app.orchestrators.ask(Ask::any(), send).await?;
    let sessions: Vec<SessionJson> = listed.sessions.iter().map(SessionJson::from).collect();
    Ok(JsonAnswer(json!({ "sessions": sessions })))
}

/// A session with its runs.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    session: SessionJson<'a>,
    runs: Vec<RunJson<'a>>,
}

/// `GET /v1/sessions/{id}`
pub(super) async fn show(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
) -> Result<Response, Problem> {
    let session = ids::session(&session)?;
    let found = app.orchestrators.session(Some(principal), &session, "").await?;
    let of: Session = found.session.unwrap_or_default();
    let runs: Vec<RunJson> = found.runs.iter().map(|run| RunJson::new(&of.id, run)).collect();
    // Written at once: what is passed on as it is has no place in a tree of values.
    Ok(JsonAnswer(Shown { session: SessionJson::from(&of), runs }).into_response())
}

/// `DELETE /v1/sessions/{id}`
pub(super) async fn delete(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
) -> Result<StatusCode, Problem> {
    let session = ids::session(&session)?;
    let delete = DeleteSessionRequest { principal: Some(principal), session: session.clone() };
    let send = async |mut client: Client| client.delete_session(request(delete.clone())).await;
    app.orchestrators.ask(Ask::about(&session), send).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CancelBody {
    reason: String,
}

impl Shape for CancelBody {
    const FIELDS: &'static [&'static str] = &["reason"];
    const MAY_BE_ABSENT: bool = true;
}

/// `POST /v1/sessions/{id}/cancel`
pub(super) async fn cancel(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
    Json(body): Json<CancelBody>,
) -> Result<JsonAnswer<Value>, Problem> {
    let session = ids::session(&session)?;
    let cancel =
        CancelRequest { principal: Some(principal), session: session.clone(), reason: body.reason };
    let send = async |mut client: Client| client.cancel(request(cancel.clone())).await;
    let cancelled = app.orchestrators.ask(Ask::about(&session), send).await?;
    Ok(JsonAnswer(json!({ "was_running": cancelled.was_running })))
}

#[derive(Debug, Deserialize)]
pub(super) struct RollbackBody {
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    to_step: Option<u32>,
    #[serde(default)]
    dry_run: bool,
}

impl Shape for RollbackBody {
    const FIELDS: &'static [&'static str] = &["call_id", "to_step", "dry_run"];
}

/// `POST /v1/sessions/{id}/rollback`. One that takes long is answered by 202 and how far it has come:
/// asked again under the key of that answer, it is waited for on.
pub(super) async fn rollback(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
    headers: HeaderMap,
    Json(body): Json<RollbackBody>,
) -> Result<Response, Problem> {
    let session = ids::session(&session)?;
    let what = match (body.call_id, body.to_step) {
        (Some(call), None) => What::CallId(call),
        (None, Some(step)) => What::ToStep(step),
        _ => return Err(Problem::bad_request("Say one of `call_id` and `to_step`.")),
    };
    let rollback = RollbackRequest {
        principal: Some(principal),
        session: session.clone(),
        what: Some(what),
        dry_run: body.dry_run,
        idempotency_key: Key::of(&headers)?.text().to_owned(),
    };
    let send = async |mut client: Client| client.rollback(request(rollback.clone())).await;
    let done = app.orchestrators.ask(Ask::about(&session), send).await?;
    let steps: Vec<RollbackJson> = done.steps.iter().map(RollbackJson::from).collect();
    let is_clear = done.steps.iter().all(|step| ["undone", "would_undo"].contains(&&*step.status));
    if done.goes_on {
        let body = json!({ "steps": steps, "goes_on": true });
        let key = rollback.idempotency_key;
        let again = [("retry-after", "1".to_owned()), ("idempotency-key", key)];
        return Ok((StatusCode::ACCEPTED, again, JsonAnswer(body)).into_response());
    }
    if body.dry_run || is_clear {
        return Ok(JsonAnswer(json!({ "steps": steps })).into_response());
    }
    let (undone, all) =
        (done.steps.iter().filter(|step| step.status == "undone").count(), done.steps.len());
    let detail = if undone == 0 {
        "Nothing was taken back: `steps` says for each call what is in the way.".to_owned()
    } else {
        format!("{undone} of {all} calls were taken back: `steps` says where it stopped, and why.")
    };
    Err(Problem::new(Kind::Conflict, detail).with("steps", json!(steps)))
}
