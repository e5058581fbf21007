//! `GET /`: what answers here and where to go on, for a person who followed the address that a
//! gateway printed. The routes themselves are in `http.rs`.

use axum::Json;
use serde_json::{Value, json};

/// What can be asked, in the order in which a newcomer needs it.
const PATHS: [&str; 18] = [
    "POST /v1/runs",
    "GET /v1/sessions",
    "POST /v1/sessions",
    "GET /v1/sessions/{session}",
    "DELETE /v1/sessions/{session}",
    "POST /v1/sessions/{session}/runs",
    "GET /v1/sessions/{session}/events",
    "POST /v1/sessions/{session}/approvals/{call}",
    "POST /v1/sessions/{session}/cancel",
    "POST /v1/sessions/{session}/rollback",
    "GET /v1/sessions/{session}/artifacts/{artifact}",
    "GET /v1/sessions/{session}/trace",
    "GET /v1/tools",
    "POST /v1/tools/{tool}/invoke",
    "GET /v1/policy",
    "POST /v1/policy/test",
    "GET /v1/status",
    "GET /metrics",
];

/// The route.
pub(super) async fn show() -> Json<Value> {
    Json(json!({
        "name": "callboard",
        "version": env!("CARGO_PKG_VERSION"),
        "about": "The gateway of Callboard, which runs LLM agents as durable sessions. Show its \
                  token as `Authorization: Bearer …`, or as `?token=` where you only read.",
        "paths": PATHS,
    }))
}
