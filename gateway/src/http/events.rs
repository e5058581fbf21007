//! `GET /v1/sessions/{id}/events`, and the task behind every event stream: it reads a follower and
//! writes frames until the end, the client's leaving, or ours.

use axum::{Extension, extract::State, response::Response};
use bytes::Bytes;
use callboard_proto::agent::{AttachRequest, Principal, Watch};
use callboard_telemetry::metrics;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{Instrument as _, Span};

use super::{
    App, begin, ids,
    json::{Asked, Place},
    sse::{self, Sender, Sent},
};
use crate::{
    convert::{DirectJson, FactJson, GlimpseJson, RunJson},
    orchestrators::{Follow, Follower, Told},
    problem::Problem,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// Facts with a greater number are wanted.
    after: Option<u64>,
    until: Option<Until>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    Idle,
}

/// `GET /v1/sessions/{id}/events?after=N&until=idle`. A browser that comes back says where it was in
/// `Last-Event-ID`, which counts more than the address that it was given first.
pub(super) async fn stream(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
    Asked(query): Asked<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let session = ids::session(&session)?;
    let last = match headers.get("last-event-id") {
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
            let wrong = || Problem::bad_request("Last-Event-ID is the number of a fact.");
            Some(number.ok_or_else(wrong)?)
        }
        None => query.after,
    };
    let attach = AttachRequest {
        principal: Some(principal),
        session,
        after: last.unwrap_or(0),
        watch: Watch::All.into(),
        until_idle: query.until.is_some(),
    };
    let mut follower = Follower::new(app.orchestrators.clone(), Follow::Events(attach));
    follower.open_now().await?;
    Ok(answer(&app, follower))
}

/// A stream of what the follower tells.
pub(super) fn answer(app: &App, follower: Follower) -> Response {
    let (sender, response) = sse::channel(app.config.slow(), app.config.heartbeat());
    // The server span lives as long as the stream, and whatever is asked on the way is below it.
    app.tasks.spawn(pump(app.clone(), follower, sender).instrument(Span::current()));
    response
}

/// How a stream ended, beside its last frame.
type Cut = Option<&'static str>;

async fn pump(app: App, mut follower: Follower, sender: Sender) {
    metrics::stream_opened();
    let (last, cut) = loop {
        let told = tokio::select! {
            biased;
            () = app.closing.cancelled() => break (Some(moved(&follower)), Some("moved")),
            () = sender.gone() => break (None, Some("gone")),
            told = follower.next() => told,
        };
        match told {
            Ok(Some(told)) => {
                if let Some(end) = tell(&follower, told, &sender).await {
                    break end;
                }
            }
            Ok(None) => break (Some(idle(&follower)), None),
            Err(problem) => break (Some(error(problem, follower.last())), Some("problem")),
        }
    };
    if let Some(last) = last {
        sender.end(last);
    }
    metrics::stream_closed(cut);
}

/// Writes one thing; the end of the stream where it is the last, or cannot be written.
async fn tell(follower: &Follower, told: Told, sender: &Sender) -> Option<(Option<Bytes>, Cut)> {
    let session = follower.session();
    let sent = match told {
        Told::Fact(fact) => {
            let data = FactJson::new(session, &fact);
            sender.send(sse::frame("fact", Some(fact.seq), &data)).await
        }
        Told::Glimpse(glimpse) => {
            sender.offer(sse::frame("glimpse", None, &GlimpseJson::from(&glimpse)))
        }
        Told::Run(run) => {
            return Some((Some(sse::frame("result", None, &RunJson::new(session, &run))), None));
        }
        Told::Direct(direct) => {
            let last = match DirectJson::new(session, &direct) {
                Some(data) => sse::frame("result", None, &data),
                None => error(begin::no_call(), follower.last()),
            };
            return Some((Some(last), None));
        }
    };
    match sent {
        Sent::Taken => None,
        Sent::Gone => Some((None, Some("gone"))),
        Sent::Slow => {
            // This very fact was not taken.
            let after = follower.last().saturating_sub(1);
            let detail = format!("The stream was not read in time. Go on after {after}.");
            let problem = Problem::unavailable(detail).with("reason", "slow");
            Some((Some(error(problem, after)), Some("slow")))
        }
    }
}

fn moved(follower: &Follower) -> Bytes {
    let after = follower.last();
    let detail = format!("The gateway is leaving. Go on after {after}, here or at another one.");
    error(Problem::unavailable(detail).with("reason", "moved"), after)
}

fn error(problem: Problem, after: u64) -> Bytes {
    sse::frame("error", None, &problem.with("resume_after", after).json())
}

/// The last event of a stream that ends because the session has nothing more to do.
fn idle(follower: &Follower) -> Bytes {
    let data: Value = json!({ "last_seq": follower.last() });
    sse::frame("end", None, &data)
}
