//! `POST /v1/sessions/{id}/approvals/{call_id}`: a person's decision on one call. The first decision
//! stands; another one that says the opposite is told so.

use axum::{Extension, Json as JsonAnswer, extract::State};
use callboard_proto::agent::{DecideRequest, Principal};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    App,
    ids::{self, Key},
    json::{Json, Place, Shape},
};
use crate::{
    orchestrators::{Ask, Client, request},
    problem::{Kind, Problem},
};

#[derive(Debug, Deserialize)]
pub(super) struct DecideBody {
    decision: Decision,
    #[serde(default)]
    note: String,
    #[serde(default)]
    preview_digest: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Deny,
}

impl Shape for DecideBody {
    const FIELDS: &'static [&'static str] = &["decision", "note", "preview_digest"];
}

/// The route.
pub(super) async fn decide(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place((session, call)): Place<(String, String)>,
    headers: HeaderMap,
    Json(body): Json<DecideBody>,
) -> Result<JsonAnswer<Value>, Problem> {
    let session = ids::session(&session)?;
    let approve = body.decision == Decision::Approve;
    let decide = DecideRequest {
        principal: Some(principal),
        session: session.clone(),
        call_id: call,
        approve,
        note: body.note,
        idempotency_key: Key::of(&headers)?.text().to_owned(),
        preview_digest: body.preview_digest,
    };
    let send = async |mut client: Client| client.decide(request(decide.clone())).await;
    let stands = app.orchestrators.ask(Ask::about(&session), send).await?;
    if stands.approved == approve {
        return Ok(JsonAnswer(json!({ "first": stands.first, "approved": stands.approved })));
    }
    let earlier = if stands.approved { "approved" } else { "denied" };
    let problem = Problem::new(Kind::Conflict, format!("The call was {earlier} before."));
    Err(problem.with("first", stands.first).with("approved", stands.approved))
}
