//! `AgentService` over gRPC: decode, call the session's handle, encode. Next: `session`.

mod attach;
mod choose;
mod figures;
mod policy;
mod rollback;
mod start;

use std::{pin::Pin, sync::Arc};

use callboard_proto::{
    agent::{self, agent_service_server::AgentService},
    size,
};
use futures_util::Stream;
use tonic::{Request, Response, Status};

use crate::{
    artifacts::{ArtifactError, ArtifactId, Artifacts},
    convert::{self, Place},
    query::{self, Folded},
    run::ids::SessionId,
    session::{Decision, SessionError, Sessions},
};

/// Sessions listed where no limit is asked for, and at most.
const LISTED: (u32, u32) = (50, 500);

type Answer<T> = Result<Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The service of one orchestrator.
#[derive(Clone)]
pub struct Agents {
    sessions: Arc<Sessions>,
    artifacts: Arc<dyn Artifacts>,
    folded: Arc<Folded>,
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents").finish_non_exhaustive()
    }
}

impl Agents {
    /// The service over the sessions of this process.
    pub fn new(sessions: Arc<Sessions>, artifacts: Arc<dyn Artifacts>) -> Self {
        Self { sessions, artifacts, folded: Arc::default() }
    }

    fn status(&self, error: &SessionError, session: &SessionId) -> Status {
        let shared = self.sessions.shared();
        let partition = shared.partitions.of(session);
        let owner = shared.discovery.owners().borrow().get(&partition).cloned();
        if let SessionError::Damaged(what) = error {
            self.sessions.refuse(session, what);
        }
        convert::of_session(error, session, owner)
    }
}

#[tonic::async_trait]
impl AgentService for Agents {
    type StartStream = Streamed<agent::StartResponse>;
    type AttachStream = Streamed<agent::AttachResponse>;
    type InvokeToolStream = Streamed<agent::InvokeToolResponse>;

    async fn open_session(
        &self,
        request: Request<agent::OpenSessionRequest>,
    ) -> Answer<agent::OpenSessionResponse> {
        self.open(request.into_inner()).await.map(Response::new)
    }

    async fn get_session(
        &self,
        request: Request<agent::GetSessionRequest>,
    ) -> Answer<agent::GetSessionResponse> {
        let request = request.into_inner();
        let (team, id) = (team(request.principal), SessionId::from(request.session));
        let place = Place::read(&request.page_token)
            .ok_or_else(|| Status::invalid_argument("the page token is none of ours"))?;
        let journal = &*self.sessions.shared().journal;
        let found = async {
            let row = query::owned_row(journal, &team, &id).await?;
            if request.without_runs {
                return Ok((row, None));
            }
            let fold = query::fold(journal, &id, place.last());
            let session = self.folded.session(&id, place.last(), fold).await?;
            Ok((row, Some(session)))
        };
        let (row, session) = found.await.map_err(|error: SessionError| self.status(&error, &id))?;
        let of = Some(convert::session(&row));
        let mut answer = agent::GetSessionResponse { session: of, ..Default::default() };
        if let Some(session) = session {
            (answer.runs, answer.next_page_token) = convert::page(&session, &request.run, place);
            self.folded.told(&id, session, !answer.next_page_token.is_empty());
        }
        Ok(Response::new(answer))
    }

    async fn list_sessions(
        &self,
        request: Request<agent::ListSessionsRequest>,
    ) -> Answer<agent::ListSessionsResponse> {
        let request = request.into_inner();
        let limit = if request.limit == 0 { LISTED.0 } else { request.limit.min(LISTED.1) };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let journal = &self.sessions.shared().journal;
        let rows = journal
            .sessions(&team(request.principal), limit)
            .await
            .map_err(|error| convert::of_journal(&error))?;
        let sessions = rows.iter().map(convert::session).collect();
        Ok(Response::new(agent::ListSessionsResponse { sessions }))
    }

    async fn delete_session(
        &self,
        request: Request<agent::DeleteSessionRequest>,
    ) -> Answer<agent::DeleteSessionResponse> {
        let request = request.into_inner();
        let (team, id) = (team(request.principal), SessionId::from(request.session));
        self.sessions.delete(&team, &id).await.map_err(|error| self.status(&error, &id))?;
        self.folded.forget(&id);
        if let Err(error) = self.artifacts.delete(&team, &id).await {
            tracing::warn!(session = %id, %error, "artifacts of a removed session stay");
        }
        Ok(Response::new(agent::DeleteSessionResponse {}))
    }

    async fn start(&self, request: Request<agent::StartRequest>) -> Answer<Self::StartStream> {
        self.start_run(request.into_inner()).await.map(Response::new)
    }

    async fn attach(&self, request: Request<agent::AttachRequest>) -> Answer<Self::AttachStream> {
        self.follow(request.into_inner()).await.map(Response::new)
    }

    async fn decide(
        &self,
        request: Request<agent::DecideRequest>,
    ) -> Answer<agent::DecideResponse> {
        let request = request.into_inner();
        let id = SessionId::from(request.session.as_str());
        let principal = request.principal.clone().unwrap_or_default();
        let (first, approved) = self
            .sessions
            .with(&id, |handle| {
                let team = principal.team.clone();
                let decision = Decision {
                    call: request.call_id.as_str().into(),
                    approve: request.approve,
                    by: principal.name.clone(),
                    note: request.note.clone(),
                    key: request.idempotency_key.clone(),
                    body_digest: convert::decision_digest(&request),
                    preview_digest: request.preview_digest.clone(),
                };
                async move { handle.decide(team, decision).await }
            })
            .await
            .map_err(|error| self.status(&error, &id))?;
        Ok(Response::new(agent::DecideResponse { first, approved }))
    }

    async fn choose(
        &self,
        request: Request<agent::ChooseRequest>,
    ) -> Answer<agent::ChooseResponse> {
        self.choose_outcome(request.into_inner()).await.map(Response::new)
    }

    async fn cancel(
        &self,
        request: Request<agent::CancelRequest>,
    ) -> Answer<agent::CancelResponse> {
        let request = request.into_inner();
        let (team, id) = (team(request.principal), SessionId::from(request.session));
        let was_running = self
            .sessions
            .with(&id, |handle| {
                let (team, reason) = (team.clone(), request.reason.clone());
                async move { handle.cancel(team, reason).await }
            })
            .await
            .map_err(|error| self.status(&error, &id))?;
        Ok(Response::new(agent::CancelResponse { was_running }))
    }

    async fn rollback(
        &self,
        request: Request<agent::RollbackRequest>,
    ) -> Answer<agent::RollbackResponse> {
        self.roll_back(request.into_inner()).await.map(Response::new)
    }

    async fn invoke_tool(
        &self,
        request: Request<agent::InvokeToolRequest>,
    ) -> Answer<Self::InvokeToolStream> {
        self.start_direct(request.into_inner()).await.map(Response::new)
    }

    async fn list_tools(
        &self,
        request: Request<agent::ListToolsRequest>,
    ) -> Answer<agent::ListToolsResponse> {
        let snapshot = self.sessions.shared().calls.catalog().snapshot();
        let tools = snapshot.tools(&team(request.into_inner().principal));
        let tools = tools.iter().map(|tool| convert::tool(tool)).collect();
        Ok(Response::new(agent::ListToolsResponse { tools }))
    }

    async fn list_rules(
        &self,
        _: Request<agent::ListRulesRequest>,
    ) -> Answer<agent::ListRulesResponse> {
        Ok(Response::new(self.rules()))
    }

    async fn test_rules(
        &self,
        request: Request<agent::TestRulesRequest>,
    ) -> Answer<agent::TestRulesResponse> {
        self.rehearsed(request.into_inner()).map(Response::new)
    }

    async fn get_status(
        &self,
        request: Request<agent::GetStatusRequest>,
    ) -> Answer<agent::GetStatusResponse> {
        Ok(Response::new(self.figures(request.into_inner()).await))
    }

    async fn read_artifact(
        &self,
        request: Request<agent::ReadArtifactRequest>,
    ) -> Answer<agent::ReadArtifactResponse> {
        let request = request.into_inner();
        let (team, id) = (team(request.principal), SessionId::from(request.session));
        let limit = match usize::try_from(request.limit).unwrap_or(usize::MAX) {
            0 => size::CHUNK,
            limit => limit.min(size::CHUNK),
        };
        let artifact = ArtifactId::from(request.artifact);
        let read = self.artifacts.read(&team, &id, &artifact, request.offset, limit).await;
        let (content, size) = read.map_err(|error| match error {
            ArtifactError::NotFound(_) => Status::not_found(error.to_string()),
            other => {
                tracing::error!(error = %other, "artifact unavailable");
                Status::unavailable("the artifact cannot be read now")
            }
        })?;
        Ok(Response::new(agent::ReadArtifactResponse { content: content.to_vec(), size }))
    }
}

fn team(principal: Option<agent::Principal>) -> String {
    principal.unwrap_or_default().team
}
