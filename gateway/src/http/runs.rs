//! `POST /v1/runs` and `POST /v1/sessions/{id}/runs`: an input for a session, answered with the run's
//! ids, its result, or its stream (`http/begin.rs`).

use axum::{Extension, extract::State, response::Response};
use callboard_proto::{
    agent::{OpenSessionRequest, Principal, RunLimits, StartRequest},
    size,
};
use globset::GlobBuilder;
use http::HeaderMap;
use serde::Deserialize;

use super::{
    App, begin,
    ids::{self, Key},
    json::{Json, Place, Shape},
    sessions::Models,
};
use crate::{
    orchestrators::Follow,
    problem::{Kind, Problem},
};

/// Globs of tools that may be approved beforehand in one request.
const GLOBS: usize = 64;

/// The body.
#[derive(Debug, Deserialize)]
pub(super) struct RunBody {
    input: String,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    model: Option<Models>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    wait: bool,
    #[serde(default)]
    approver: bool,
    #[serde(default)]
    approve: Vec<String>,
    #[serde(default)]
    limits: Option<Limits>,
}

impl Shape for RunBody {
    const FIELDS: &'static [&'static str] =
        &["input", "session", "agent", "model", "title", "wait", "approver", "approve", "limits"];

    fn below(field: &str) -> Option<&'static [&'static str]> {
        (field == "limits").then_some(&["max_steps", "max_calls", "max_time_ms", "max_tokens"])
    }
}

/// Bounds of the run; 0 means the agent's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an object of limits")]
struct Limits {
    #[serde(rename = "max_steps")]
    steps: u32,
    #[serde(rename = "max_calls")]
    calls: u32,
    #[serde(rename = "max_time_ms")]
    time_ms: u64,
    #[serde(rename = "max_tokens")]
    tokens: u64,
}

/// `POST /v1/runs`
pub(super) async fn in_new_session(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Json(mut body): Json<RunBody>,
) -> Result<Response, Problem> {
    if let Some(session) = body.session.take() {
        return start(&app, principal, &headers, (ids::session(&session)?, body)).await;
    }
    let key = Key::of(&headers)?;
    let session = key.id(&app.secret, &principal, "POST /v1/runs");
    let open = OpenSessionRequest {
        principal: Some(principal.clone()),
        session: session.clone(),
        agent: body.agent.take().unwrap_or_default(),
        models: body.model.take().map(Models::into_list).unwrap_or_default(),
        title: body.title.take().unwrap_or_default(),
        idempotency_key: key.text().to_owned(),
    };
    run(&app, principal, (&headers, &key), (session, Some(open), body)).await
}

/// `POST /v1/sessions/{id}/runs`
pub(super) async fn in_session(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
    headers: HeaderMap,
    Json(body): Json<RunBody>,
) -> Result<Response, Problem> {
    if body.session.is_some() {
        return Err(Problem::bad_request("The session is in the path; leave `session` out."));
    }
    start(&app, principal, &headers, (ids::session(&session)?, body)).await
}

async fn start(
    app: &App,
    principal: Principal,
    headers: &HeaderMap,
    (session, body): (String, RunBody),
) -> Result<Response, Problem> {
    if body.agent.is_some() || body.model.is_some() || body.title.is_some() {
        let detail = "A session keeps its `agent`, `model` and `title`: leave them out, or begin a \
                      new session with POST /v1/runs.";
        return Err(Problem::bad_request(detail));
    }
    let key = Key::of(headers)?;
    run(app, principal, (headers, &key), (session, None, body)).await
}

async fn run(
    app: &App,
    principal: Principal,
    (headers, key): (&HeaderMap, &Key),
    (session, open, body): (String, Option<OpenSessionRequest>, RunBody),
) -> Result<Response, Problem> {
    check(&body)?;
    let limits = body.limits.unwrap_or_default();
    let is_new = open.is_some() && key.makes_fresh_ids();
    let way = begin::Way::of(headers, body.wait);
    let start = StartRequest {
        principal: Some(principal),
        session,
        open,
        run: ids::fresh(),
        input: body.input,
        idempotency_key: key.text().to_owned(),
        watch: way.watch().into(),
        approver_attached: body.approver,
        approve: body.approve,
        limits: Some(RunLimits {
            max_steps: limits.steps,
            max_calls: limits.calls,
            max_time_ms: limits.time_ms,
            max_tokens: limits.tokens,
        }),
        is_new,
    };
    begin::begin(app, Follow::Run(Box::new(start)), way).await
}

fn check(body: &RunBody) -> Result<(), Problem> {
    if body.input.trim().is_empty() {
        return Err(Problem::bad_request("The `input` is empty; say what you want."));
    }
    if body.input.len() > size::INPUT {
        let limit = size::INPUT / 1024;
        let detail = format!("The `input` is larger than {limit} KiB; put it into a file.");
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    approved(&body.approve)
}

/// Whether the globs of tools approved beforehand are sane.
pub(super) fn approved(globs: &[String]) -> Result<(), Problem> {
    if globs.len() > GLOBS || globs.iter().any(|glob| glob.is_empty() || glob.len() > 256) {
        let detail = format!("`approve` takes at most {GLOBS} globs of 1 to 256 characters.");
        return Err(Problem::bad_request(detail));
    }
    for glob in globs {
        GlobBuilder::new(glob).build().map_err(|error| {
            let detail = format!("`approve` holds `{glob}`, which is no glob: {}.", error.kind());
            Problem::bad_request(detail)
        })?;
    }
    Ok(())
}
