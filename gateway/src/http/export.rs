//! `GET /v1/sessions/{id}/export`: a session whole, one JSON document a line: first what it is, then
//! every event with all that a fold needs. Nothing else is needed to replay it.

use axum::{
    Extension,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use callboard_proto::{
    agent::{AttachRequest, GetSessionRequest, Principal, Session, Watch},
    reason,
};
use futures_util::stream;
use http::header;
use serde_json::json;

use super::{App, ids, json::Place};
use crate::{
    convert::{RecordedJson, SessionJson},
    orchestrators::{Follow, Follower, Told},
    problem::{Kind, Problem},
};

/// Version of the format.
const FORMAT: u32 = 1;

/// The route.
pub(super) async fn whole(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place(session): Place<String>,
) -> Result<Response, Problem> {
    let session = ids::session(&session)?;
    let get = GetSessionRequest {
        principal: Some(principal.clone()),
        session: session.clone(),
        without_runs: true,
        ..GetSessionRequest::default()
    };
    let of = app.orchestrators.page(&get).await?.session.unwrap_or_default();
    let attach = AttachRequest {
        principal: Some(principal),
        session,
        after: 0,
        watch: Watch::Facts.into(),
        until_idle: false,
    };
    let mut follower = Follower::new(app.orchestrators.clone(), Follow::Events(attach));
    follower.open_now().await?;
    let body = Body::from_stream(lines(follower, &of));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// Line by line up to the last event that there was when it was asked for; of a session that is
/// refused up to the last that can be read, and then a line that says why. What else ends the stream
/// early breaks the answer off, so that nobody takes a part for the whole.
fn lines(
    follower: Follower,
    of: &Session,
) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> + use<> {
    let head = json!({ "format": FORMAT, "session": SessionJson::from(of) });
    let begin = (follower, Some(head.to_string()), of.last_seq);
    stream::try_unfold(begin, async |(mut follower, head, last)| {
        if let Some(head) = head {
            return Ok(Some((line(head), (follower, None, last))));
        }
        if follower.last() >= last {
            return Ok(None);
        }
        let told = match follower.next().await {
            Err(problem) if problem.is_about(reason::SESSION_DAMAGED) => {
                let refused = json!({ "refused": problem.to_string(), "after": follower.last() });
                return Ok(Some((line(refused.to_string()), (follower, None, 0))));
            }
            told => told.map_err(std::io::Error::other)?,
        };
        let Some(Told::Fact(fact)) = told else {
            let broke = Problem::new(Kind::Internal, "The session's events ended early.");
            return Err(std::io::Error::other(broke));
        };
        let json = serde_json::to_string(&RecordedJson::from(&fact))?;
        Ok(Some((line(json), (follower, None, last))))
    })
}

fn line(json: String) -> Bytes {
    Bytes::from(json + "\n")
}
