//! `GET /v1/sessions/{id}/trace`: the tree of a session's work, drawn from its journal; `trace.rs`
//! folds it.

use axum::{Extension, Json, extract::State};
use callboard_proto::agent::{AttachRequest, Principal, Watch};
use serde_json::{Value, json};

use super::{App, ids, json::Place};
use crate::{
    orchestrators::{Follow, Follower, Told},
    problem::Problem,
    trace,
};

/// Facts that one tree is drawn from; a longer session is drawn up to there.
const FACTS: usize = 20_000;

/// The route.
pub(super) async fn show(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
) -> Result<Json<Value>, Problem> {
    let session = ids::session(&session)?;
    let found = app.orchestrators.session(Some(principal.clone()), &session, "").await?;
    let last = found.session.map_or(0, |session| session.last_seq);
    let attach = AttachRequest {
        principal: Some(principal),
        session: session.clone(),
        watch: Watch::Facts.into(),
        ..AttachRequest::default()
    };
    let mut follower = Follower::new(app.orchestrators.clone(), Follow::Events(attach));
    let mut facts = Vec::new();
    while follower.last() < last && facts.len() < FACTS {
        match follower.next().await? {
            Some(Told::Fact(fact)) => facts.push(fact),
            Some(Told::Glimpse(_) | Told::Run(_) | Told::Direct(_)) => {}
            None => break,
        }
    }
    let mut runs = trace::fold(&facts);
    for run in &mut runs {
        if let Some(of) = found.runs.iter().find(|of| of.id == run.id()) {
            run.set_trace(&of.trace_id);
        }
    }
    Ok(Json(json!({ "session": session, "is_whole": follower.last() >= last, "runs": runs })))
}
