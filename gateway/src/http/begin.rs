//! Begins a run or a direct call and answers in the way that the client chose: with its ids as soon
//! as it is in the journal, with its result, or with its stream (`http/events.rs`).
//!
//! A client that leaves ends nothing: only the watching stops.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use callboard_proto::agent::Watch;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;

use super::{App, events, sse};
use crate::{
    convert::{DirectJson, RunJson},
    orchestrators::{Follow, Follower, Told},
    problem::{Kind, Problem},
};

/// Headers of every answer about a run, so that a client can act on it before its first event.
const SESSION: HeaderName = HeaderName::from_static("callboard-session");
const RUN: HeaderName = HeaderName::from_static("callboard-run");

/// How a client wants to hear of what it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The ids, at once.
    Ids,
    /// The result, when it is there.
    Result,
    /// Everything, as it happens.
    Stream,
}

impl Way {
    /// An `Accept` of event streams says more than `wait`.
    pub(super) fn of(headers: &HeaderMap, waits: bool) -> Self {
        match (sse::is_wanted(headers), waits) {
            (true, _) => Self::Stream,
            (false, true) => Self::Result,
            (false, false) => Self::Ids,
        }
    }

    pub(super) fn watch(self) -> Watch {
        match self {
            Self::Ids => Watch::Facts,
            Self::Result => Watch::Result,
            Self::Stream => Watch::All,
        }
    }
}

/// Begins what the request says, and answers. A repeat under a client's key is answered as the first
/// request was, once the run is over; while it works, who waits for it or watches it is attached to
/// it, and who only wants to hear that it has begun is told where it is.
pub(super) async fn begin(app: &App, follow: Follow, way: Way) -> Result<Response, Problem> {
    let mut follower = Follower::new(app.orchestrators.clone(), follow);
    match way {
        Way::Stream => {
            follower.begun().await?;
            let ids = Ids::of(&follower);
            Ok(ids.mark(events::answer(app, follower)))
        }
        Way::Result => {
            let response = result(app, &mut follower).await?;
            Ok(Ids::of(&follower).mark(response))
        }
        Way::Ids => {
            // Until it is in the journal: what is promised with its ids must outlive this process.
            let begun = follower.begun().await?;
            let ids = Ids::of(&follower);
            if begun.is_earlier && !begun.is_over {
                return Ok(ids.clone().mark(ids.works().into_response()));
            }
            let body = json!({ "session": ids.session, "run": ids.run });
            Ok(ids.mark((StatusCode::ACCEPTED, Json(body)).into_response()))
        }
    }
}

async fn result(app: &App, follower: &mut Follower) -> Result<Response, Problem> {
    loop {
        let told = tokio::select! {
            told = follower.next() => told?,
            () = app.ending.cancelled() => return Err(leaving(follower)),
        };
        match told {
            Some(Told::Run(run)) => {
                return Ok(Json(RunJson::new(follower.session(), &run)).into_response());
            }
            Some(Told::Direct(direct)) => {
                let json = DirectJson::new(follower.session(), &direct);
                return Ok(Json(json.ok_or_else(no_call)?).into_response());
            }
            Some(Told::Fact(_) | Told::Glimpse(_)) => {}
            None => return Err(Problem::new(Kind::Internal, "The run has no result.")),
        }
    }
}

/// A result without its call, which an orchestrator never sends.
pub(super) fn no_call() -> Problem {
    Problem::new(Kind::Internal, "The call ended, but its result is missing.")
}

fn leaving(follower: &Follower) -> Problem {
    let (session, run) = (follower.session(), follower.run());
    let detail =
        format!("The gateway is leaving; the run goes on. Ask for /v1/sessions/{session}.");
    Problem::unavailable(detail).with("session", session).with("run", run)
}

/// What a client needs to act on a run: to cancel it, to approve a call, to come back.
#[derive(Clone)]
struct Ids {
    session: String,
    run: String,
}

impl Ids {
    fn of(follower: &Follower) -> Self {
        Self { session: follower.session().to_owned(), run: follower.run().to_owned() }
    }

    /// The run that an earlier request under the same key began, and that works.
    fn works(&self) -> Problem {
        let detail = "The run that this key began still works: the Location header says where. Ask \
                      with `wait`, or for its events, to hear how it ends.";
        Problem::new(Kind::Conflict, detail)
            .with("reason", "run_works")
            .with("session", self.session.as_str())
            .with("run", self.run.as_str())
    }

    fn mark(self, mut response: Response) -> Response {
        let location = format!("/v1/sessions/{}", self.session);
        let headers = [(header::LOCATION, location), (SESSION, self.session), (RUN, self.run)];
        for (name, text) in headers {
            if let Ok(value) = HeaderValue::try_from(text) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
