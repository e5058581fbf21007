//! `POST /v1/sessions/{id}/outcomes/{call_id}`: what a person found out about a call whose outcome is
//! unknown. The first choice stands; another one that says something else is told so.

use axum::{Extension, Json as JsonAnswer, extract::State};
use callboard_proto::agent::{ChooseRequest, Principal};
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
pub(super) struct ChooseBody {
    choice: Choice,
    #[serde(default)]
    note: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Repeat,
    Done,
    NotDone,
}

impl Choice {
    fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Done => "done",
            Self::NotDone => "not_done",
        }
    }
}

impl Shape for ChooseBody {
    const FIELDS: &'static [&'static str] = &["choice", "note"];
}

/// The route.
pub(super) async fn choose(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place((session, call)): Place<(String, String)>,
    headers: HeaderMap,
    Json(body): Json<ChooseBody>,
) -> Result<JsonAnswer<Value>, Problem> {
    let session = ids::session(&session)?;
    let choice = body.choice.as_str();
    let choose = ChooseRequest {
        principal: Some(principal),
        session: session.clone(),
        call_id: call,
        choice: choice.to_owned(),
        note: body.note,
        idempotency_key: Key::of(&headers)?.text().to_owned(),
    };
    let send = async |mut client: Client| client.choose(request(choose.clone())).await;
    let stands = app.orchestrators.ask(Ask::about(&session), send).await?;
    if stands.choice == choice {
        let run = Some(stands.run).filter(|run| !run.is_empty());
        return Ok(JsonAnswer(json!({ "first": stands.first, "choice": choice, "run": run })));
    }
    let detail = format!("The choice `{}` was made before.", stands.choice);
    let problem = Problem::new(Kind::Conflict, detail);
    Err(problem.with("first", stands.first).with("choice", stands.choice))
}
