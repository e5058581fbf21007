//! Requests that bring an input: open, run, call a tool.

use callboard_proto::{agent, reason, size};
use futures_util::{StreamExt as _, stream};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{Agents, Streamed};
use crate::{
    convert,
    run::{
        context::cut,
        event::{Input, InputReceived, SessionKind, SessionOpened},
        ids::SessionId,
    },
    session::{Notice, SessionError, SessionHandle, Start, Started},
};

/// Characters of an input that become the title of its session.
const TITLE_CHARS: usize = 60;

impl Agents {
    pub(super) async fn open(
        &self,
        request: agent::OpenSessionRequest,
    ) -> Result<agent::OpenSessionResponse, Status> {
        let id = SessionId::from(request.session.as_str());
        let team = request.principal.clone().unwrap_or_default().team;
        let (key, body_digest) = (request.idempotency_key.clone(), convert::open_digest(&request));
        let opened = self.opened(request, SessionKind::Chat, "")?;
        let opened = SessionOpened { key, body_digest, ..opened };
        self.sessions
            .with(&id, |handle| {
                let opened = opened.clone();
                async move { handle.open(opened).await }
            })
            .await
            .map_err(|error| self.status(&error, &id))?;
        let journal = &*self.sessions.shared().journal;
        let row = crate::query::owned_row(journal, &team, &id)
            .await
            .map_err(|error| self.status(&error, &id))?;
        Ok(agent::OpenSessionResponse { session: Some(convert::session(&row)) })
    }

    pub(super) async fn start_run(
        &self,
        request: agent::StartRequest,
    ) -> Result<Streamed<agent::StartResponse>, Status> {
        if request.input.len() > size::INPUT {
            let limit = size::INPUT / 1024;
            let text = format!("the input is over {limit} KiB; put it into a file");
            return Err(convert::invalid(text, reason::TOO_LARGE));
        }
        if request.input.trim().is_empty() {
            return Err(Status::invalid_argument("the input is empty; say what you want"));
        }
        // What `auto` means for this run is what it means now, not when the process started.
        self.sessions.shared().models.probe().await;
        let id = SessionId::from(request.session.as_str());
        let principal = request.principal.clone().unwrap_or_default();
        if request.open.is_none() {
            let journal = &*self.sessions.shared().journal;
            let row = crate::query::owned_row(journal, &principal.team, &id).await;
            row.map_err(|error| self.status(&error, &id))?;
        }
        let mut open = request.open.clone().unwrap_or_default();
        open.principal = Some(principal.clone());
        let body_digest = convert::start_digest(&request);
        let opened = self.opened(open, SessionKind::Chat, &request.input)?;
        let opened = SessionOpened { key: request.idempotency_key.clone(), ..opened };
        let input = InputReceived {
            run: request.run.as_str().into(),
            body_digest,
            input: Input::Text(request.input),
            key: request.idempotency_key,
            approver_attached: request.approver_attached,
            approve: request.approve,
            limits: convert::limits(request.limits),
            principal: principal.name,
        };
        let start = (&opened, &input, request.watch);
        let started = self.started(&id, start, request.is_new).await?;
        let begun = agent::StartResponse { notice: Some(convert::begun(&started)) };
        let stream = ReceiverStream::new(started.notices).map(move |notice| {
            let notice = convert::notice(notice, id.as_str());
            Ok(agent::StartResponse { notice: Some(notice) })
        });
        Ok(Box::pin(stream::iter([Ok(begun)]).chain(stream)))
    }

    pub(super) async fn start_direct(
        &self,
        request: agent::InvokeToolRequest,
    ) -> Result<Streamed<agent::InvokeToolResponse>, Status> {
        if request.arguments.len() > size::ARGUMENTS {
            let text = "the arguments are over 1 MiB; put large content into a file";
            return Err(convert::invalid(text, reason::TOO_LARGE));
        }
        let arguments = String::from_utf8(request.arguments.clone())
            .map_err(|_| Status::invalid_argument("the arguments are not UTF-8"))?;
        let id = SessionId::from(request.session.as_str());
        let principal = request.principal.clone().unwrap_or_default();
        let open = agent::OpenSessionRequest {
            principal: Some(principal.clone()),
            ..agent::OpenSessionRequest::default()
        };
        let opened = self.opened(open, SessionKind::Direct, &request.tool)?;
        let input = InputReceived {
            run: request.run.as_str().into(),
            body_digest: convert::direct_digest(&request, &arguments),
            input: Input::Direct { tool: request.tool, arguments },
            approver_attached: request.approver_attached,
            approve: request.approve,
            principal: principal.name,
            ..InputReceived::default()
        };
        let start = (&opened, &input, request.watch);
        let started = self.started(&id, start, request.is_new).await?;
        let piece = agent::invoke_tool_response::Piece::Notice(convert::begun(&started));
        let begun = agent::InvokeToolResponse { piece: Some(piece) };
        let stream =
            ReceiverStream::new(started.notices).map(move |notice| Ok(direct(notice, &id)));
        Ok(Box::pin(stream::iter([Ok(begun)]).chain(stream)))
    }

    async fn started(
        &self,
        id: &SessionId,
        (open, input, watch): (&SessionOpened, &InputReceived, i32),
        is_new: bool,
    ) -> Result<Started, Status> {
        let is_uuid = uuid::Uuid::try_parse(id.as_str()).is_ok();
        if !is_uuid || uuid::Uuid::try_parse(input.run.as_str()).is_err() {
            return Err(Status::invalid_argument("session and run ids are UUIDs"));
        }
        let trace_context = callboard_telemetry::propagate::traceparent();
        let start = |handle: SessionHandle| {
            let start = Start {
                open: open.clone(),
                input: input.clone(),
                trace_context: trace_context.clone(),
                watch: convert::watch(watch),
            };
            async move { handle.start(start).await }
        };
        let answer = if is_new {
            self.sessions.with_new(id, start).await
        } else {
            self.sessions.with(id, start).await
        };
        answer.map_err(|error: SessionError| self.status(&error, id))
    }

    /// How a session would be opened, checked against what there is.
    fn opened(
        &self,
        request: agent::OpenSessionRequest,
        kind: SessionKind,
        first_input: &str,
    ) -> Result<SessionOpened, Status> {
        let shared = self.sessions.shared();
        let agent = &shared.config.agent.name;
        if !request.agent.is_empty() && request.agent != *agent {
            let text = format!("no agent is named `{}`; there is `{agent}`", request.agent);
            return Err(convert::invalid(text, reason::UNKNOWN_AGENT));
        }
        if !request.models.is_empty() {
            let resolved = shared.models.resolve(&request.models);
            resolved.map_err(|error| convert::invalid(error.to_string(), reason::UNKNOWN_MODEL))?;
        }
        let title = if request.title.is_empty() { first_input } else { &request.title };
        Ok(SessionOpened {
            team: request.principal.unwrap_or_default().team,
            kind,
            agent: agent.clone(),
            title: cut(title, TITLE_CHARS),
            models: request.models,
            ..SessionOpened::default()
        })
    }
}

fn direct(notice: Notice, session: &SessionId) -> agent::InvokeToolResponse {
    use agent::invoke_tool_response::Piece;
    let piece = match notice {
        Notice::Ended(run) => Piece::Result(agent::DirectResult {
            call: convert::calls(&run).next(),
            trace_id: convert::trace_id(&run.trace_context),
        }),
        other => Piece::Notice(convert::notice(other, session.as_str())),
    };
    agent::InvokeToolResponse { piece: Some(piece) }
}
