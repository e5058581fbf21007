//! `GET /v1/sessions/{id}/artifacts/{artifact}`: a result that was too large for the context, whole
//! or by page.

use axum::{
    Extension,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use callboard_proto::{
    agent::{Principal, ReadArtifactRequest, ReadArtifactResponse},
    size,
};
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderName, header};
use serde::Deserialize;
use tracing::warn;

use super::{
    App, ids,
    json::{Asked, Place},
};
use crate::{
    orchestrators::{Ask, Client, request},
    problem::Problem,
};

/// Size of the whole in bytes.
const WHOLE: HeaderName = HeaderName::from_static("callboard-artifact-size");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    /// First byte; 0 if absent.
    offset: Option<u64>,
    /// Bytes at most; to the end if absent.
    limit: Option<u64>,
}

/// The route.
pub(super) async fn read(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Place((session, artifact)): Place<(String, String)>,
    Asked(query): Asked<PageQuery>,
) -> Result<Response, Problem> {
    let session = ids::session(&session)?;
    let is_id = artifact.len() == 64
        && artifact.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_id {
        let detail =
            format!("There is no artifact {artifact:?}: ids are 64 lower-case hex digits.");
        return Err(Problem::not_found(detail));
    }
    let mut pages = Pages {
        app,
        ask: ReadArtifactRequest {
            principal: Some(principal),
            session,
            artifact,
            offset: query.offset.unwrap_or(0),
            limit: 0,
        },
        left: query.limit.unwrap_or(u64::MAX),
    };
    let first = pages.next().await?.unwrap_or_default();
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (WHOLE, first.size.to_string()),
    ];
    let rest = stream::try_unfold(pages, |mut pages| async move {
        // The head is gone: all that can still be said is that the body is not whole.
        let page = pages.next().await.inspect_err(|_| warn!("an artifact broke off"));
        let page = page.map_err(|_| std::io::Error::other("the artifact broke off"))?;
        Ok(page.map(|page| (page.content, pages)))
    });
    let body = stream::once(async { Ok::<_, std::io::Error>(first.content) }).chain(rest);
    Ok((headers, Body::from_stream(body)).into_response())
}

struct Pages {
    app: App,
    ask: ReadArtifactRequest,
    left: u64,
}

impl Pages {
    async fn next(&mut self) -> Result<Option<ReadArtifactResponse>, Problem> {
        if self.left == 0 {
            return Ok(None);
        }
        let limit = self.left.min(size::CHUNK as u64);
        self.ask.limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let send = async |mut client: Client| client.read_artifact(request(self.ask.clone())).await;
        let page = self.app.orchestrators.ask(Ask::about(&self.ask.session), send).await?;
        let read = page.content.len() as u64;
        self.ask.offset += read;
        self.left -= read.min(self.left);
        if read == 0 || self.ask.offset >= page.size {
            self.left = 0;
        }
        Ok(Some(page))
    }
}
