//! The rules by which calls are judged: those in force, and what they say of a call.

use axum::{
    Extension, Json as JsonAnswer,
    extract::State,
    response::{IntoResponse as _, Response},
};
use callboard_proto::agent::{ListRulesRequest, PolicyRule, Principal, TestRulesRequest};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    App,
    json::{Json, Shape},
    tools,
};
use crate::{
    orchestrators::{Ask, Client, request},
    problem::Problem,
};

/// `GET /v1/policy`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Problem> {
    let list = ListRulesRequest { principal: Some(principal) };
    let send = async |mut client: Client| client.list_rules(request(list.clone())).await;
    let listed = app.orchestrators.ask(Ask::any(), send).await?;
    let rules: Vec<Value> = listed.rules.iter().map(shown).collect();
    let answer = json!({"profile": listed.profile, "rules": rules, "refused": listed.refused});
    Ok(JsonAnswer(answer).into_response())
}

fn shown(rule: &PolicyRule) -> Value {
    json!({
        "name": rule.name, "team": rule.team, "agent": rule.agent, "tool": rule.tool,
        "effect": rule.effect, "annotations": rule.annotations, "condition": rule.condition,
        "expires": rule.expires, "verdict": rule.verdict, "reason": rule.reason,
        "warning": rule.warning,
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct TestBody {
    tool: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    arguments_text: Option<String>,
    #[serde(default)]
    team: String,
    #[serde(default)]
    agent: String,
}

impl Shape for TestBody {
    const FIELDS: &'static [&'static str] =
        &["tool", "arguments", "arguments_text", "team", "agent"];
}

/// `POST /v1/policy/test`
pub(super) async fn test(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Json(body): Json<TestBody>,
) -> Result<Response, Problem> {
    let arguments = tools::arguments(body.arguments, body.arguments_text)?;
    let test = TestRulesRequest {
        principal: Some(principal),
        tool: body.tool,
        arguments: arguments.into_bytes(),
        team: body.team,
        agent: body.agent,
    };
    let send = async |mut client: Client| client.test_rules(request(test.clone())).await;
    let tested = app.orchestrators.ask(Ask::any(), send).await?;
    let answer = json!({
        "tool": tested.tool, "verdict": tested.verdict, "rule": tested.rule,
        "reason": tested.reason, "denied_effects": tested.denied_effects,
        "has_preflight": tested.has_preflight,
    });
    Ok(JsonAnswer(answer).into_response())
}
