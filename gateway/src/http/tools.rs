//! The catalog, and direct calls of its tools: the same path as a model's call, in a session of its
//! own.

use axum::{
    Extension, Json as JsonAnswer,
    extract::State,
    response::{IntoResponse as _, Response},
};
use callboard_proto::{
    agent::{InvokeToolRequest, ListToolsRequest, Principal},
    size,
};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    App, begin,
    ids::Key,
    json::{Json, Place, Shape},
    runs,
};
use crate::{
    convert::ToolJson,
    orchestrators::{Ask, Client, Follow, request},
    problem::{Kind, Problem},
};

/// `GET /v1/tools`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Problem> {
    let list = ListToolsRequest { principal: Some(principal) };
    let send = async |mut client: Client| client.list_tools(request(list.clone())).await;
    let listed = app.orchestrators.ask(Ask::any(), send).await?;
    let tools: Vec<ToolJson> = listed.tools.iter().map(ToolJson::from).collect();
    Ok(JsonAnswer(Listed { tools }).into_response())
}

/// The catalog.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    tools: Vec<ToolJson<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct InvokeBody {
    /// As JSON; passed on byte by byte.
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    /// As text that may not be JSON, for people who write it by hand.
    #[serde(default)]
    arguments_text: Option<String>,
    #[serde(default)]
    approver: bool,
    #[serde(default)]
    approve: Vec<String>,
}

impl Shape for InvokeBody {
    const FIELDS: &'static [&'static str] = &["arguments", "arguments_text", "approver", "approve"];
}

/// `POST /v1/tools/{name}/invoke`
pub(super) async fn invoke(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(tool): Place<String>,
    headers: HeaderMap,
    Json(body): Json<InvokeBody>,
) -> Result<Response, Problem> {
    let arguments = arguments(body.arguments, body.arguments_text)?;
    runs::approved(&body.approve)?;
    let key = Key::of(&headers)?;
    let way = begin::Way::of(&headers, true);
    let call = InvokeToolRequest {
        // A repeat under a client's key has the same ids, and so meets the same call.
        session: key.id(&app.secret, &principal, "session of POST /v1/tools"),
        run: key.id(&app.secret, &principal, "run of POST /v1/tools"),
        principal: Some(principal),
        tool,
        arguments: arguments.into_bytes(),
        approver_attached: body.approver,
        approve: body.approve,
        watch: way.watch().into(),
        is_new: key.makes_fresh_ids(),
    };
    begin::begin(&app, Follow::Direct(Box::new(call)), way).await
}

/// The arguments of a call, given as JSON or as text.
pub(super) fn arguments(
    json: Option<Box<RawValue>>,
    text: Option<String>,
) -> Result<String, Problem> {
    let arguments = match (json, text) {
        (Some(_), Some(_)) => {
            let detail = "Say one of `arguments` and `arguments_text`.";
            return Err(Problem::bad_request(detail));
        }
        (Some(json), None) => String::from(Box::<str>::from(json)),
        (None, text) => text.unwrap_or_default(),
    };
    if arguments.len() > size::ARGUMENTS {
        let detail = "The arguments are larger than 1 MiB; put large content into a file.";
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    Ok(arguments)
}
