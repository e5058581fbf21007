//! \[8\] of the path of a tool call: the `ToolService` adapter. Each handler decodes, calls inward and
//! encodes; who may act and what may run is decided in `calls.rs` and `judge.rs`. Next is the tool
//! itself: `tool.rs` here, and \[9\] `tool-services/calculator/src/lib.rs` as an example.

use std::{collections::HashMap, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use callboard_proto::{
    size,
    tool::{self as wire, tool_service_server::ToolService},
};
use callboard_telemetry::span;
use futures_util::{FutureExt as _, Stream};
use tokio::time::{Instant, timeout_at};
use tonic::{Code, Request, Response, Status};
use tracing::{Span, error, warn};

use crate::{
    Failure, Rollback, Service, Workspace,
    call::Call,
    calls::{Calls, Mode, Refusal, Start, Subscription, Undoing, Wanted, WantedBack, panic_text},
    convert, deadline,
    judge::judge,
    refusal,
    request::{self, Asked},
    served::Served,
};

/// Most ids in one `Forget`.
const FORGET: usize = 1000;

/// The adapter between the wire and one service.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    tools: Arc<HashMap<String, Arc<dyn Served>>>,
    description: Arc<wire::DescribeResponse>,
    workspaces: Arc<[Workspace]>,
    calls: Calls,
}

impl Server {
    pub(crate) fn new(
        service: &Service,
        description: wire::DescribeResponse,
        workspaces: &[Workspace],
        calls: Calls,
    ) -> Self {
        let tools = service.tools().map(|(tool, _)| (tool.about().name.clone(), Arc::clone(tool)));
        Self {
            tools: Arc::new(tools.collect()),
            description: Arc::new(description),
            workspaces: workspaces.into(),
            calls,
        }
    }

    fn tool(&self, name: &str) -> Result<&Arc<dyn Served>, Status> {
        self.tools.get(name).ok_or_else(refusal::unknown_tool)
    }
}

type InvokeStream = Pin<Box<dyn Stream<Item = Result<wire::InvokeResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ToolService for Server {
    type InvokeStream = InvokeStream;

    async fn describe(
        &self,
        _: Request<wire::DescribeRequest>,
    ) -> Result<Response<wire::DescribeResponse>, Status> {
        Ok(Response::new(wire::DescribeResponse::clone(&self.description)))
    }

    async fn preflight(
        &self,
        request: Request<wire::PreflightRequest>,
    ) -> Result<Response<wire::PreflightResponse>, Status> {
        let limit = deadline::timeout(request.metadata());
        let asked = request::read(request.into_inner().call, &self.workspaces)?;
        let tool = self.tool(&asked.facts.tool)?;
        if let Some(failure) = too_large(&asked) {
            return Err(refusal::invalid(&failure));
        }
        let prepared = tool.prepare(&asked.arguments).map_err(|f| refusal::invalid(&f))?;
        let intents = self.calls.intents(asked.key, &asked.facts.tool);
        let call = Call::new(asked.facts, ends(limit, tool.as_ref())).noting(intents);
        let judging =
            AssertUnwindSafe(judge(tool.about(), prepared.as_ref(), &call)).catch_unwind();
        match timeout_at(call.deadline, judging).await {
            Ok(Ok(judged)) => Ok(Response::new(convert::verdict(judged))),
            Ok(Err(payload)) => {
                let fault = panic_text(payload.as_ref());
                error!(call_id = call.id(), tool = call.tool(), fault, "a tool failed inside");
                Err(Status::internal("the tool failed inside while it judged the call"))
            }
            Err(_) => Err(Status::deadline_exceeded("judging the call took too long")),
        }
    }

    async fn invoke(
        &self,
        request: Request<wire::InvokeRequest>,
    ) -> Result<Response<InvokeStream>, Status> {
        let limit = deadline::timeout(request.metadata());
        let message = request.into_inner();
        let mode = message.mode();
        let asked = request::read(message.call, &self.workspaces)?;
        let call_id = asked.facts.id.clone();
        span::become_tool(&Span::current(), &asked.facts.tool, &call_id);
        if let Some(failure) = too_large(&asked) {
            return Ok(answer(failed(call_id, failure)));
        }
        let wanted = self.wanted(asked, mode, limit)?;
        match self.calls.invoke(wanted).await {
            Ok(subscription) => Ok(answer(subscription)),
            Err(Refusal::OtherArguments) => {
                let failure = Failure::conflict(
                    "Another call has this id: its tool, workspace or arguments differ. \
                     Nothing was started.",
                );
                Ok(answer(failed(call_id, failure)))
            }
            Err(refusal) => {
                warn!(call_id, ?refusal, "call refused");
                Err(refusal.into())
            }
        }
    }

    async fn cancel(
        &self,
        request: Request<wire::CancelRequest>,
    ) -> Result<Response<wire::CancelResponse>, Status> {
        let message = request.into_inner();
        let key = request::key(&message.team, &message.session, &message.call_id)?;
        let owner = request::owner(message.deployment, message.partition, message.epoch)?;
        let known = self.calls.cancel(&owner, &key).await?;
        Ok(Response::new(wire::CancelResponse { known }))
    }

    async fn rollback(
        &self,
        request: Request<wire::RollbackRequest>,
    ) -> Result<Response<wire::RollbackResponse>, Status> {
        let limit = deadline::timeout(request.metadata());
        let message = request.into_inner();
        let mode = message.mode();
        let asked = request::read(message.call, &self.workspaces)?;
        let tool = Arc::clone(self.tool(&asked.facts.tool)?);
        if !tool.about().behaviour.reversible {
            let nothing = Rollback::NotReversible("The tool has no way back.".to_owned());
            return Ok(Response::new(convert::rollback(nothing)));
        }
        request::token(&message.undo_token, "undo_token")?;
        request::token(&message.rollback_id, "rollback_id")?;
        let assumed = request::assumed(&message.assumed_undone, &asked.key)?;
        let wanted = WantedBack {
            owner: asked.owner,
            incarnation: asked.incarnation,
            key: asked.key,
            call: Call::new(asked.facts, ends(limit, tool.as_ref())),
            tool,
            mode: convert::undo_mode(mode),
            token: message.undo_token,
            id: message.rollback_id,
            dry_run: message.dry_run,
            assumed,
        };
        match self.calls.undo(wanted).await {
            Ok(rollback) => Ok(Response::new(convert::rollback(rollback))),
            Err(Undoing::Refused(refusal)) => Err(refusal.into()),
            Err(Undoing::TooLong) => Err(Status::deadline_exceeded("the rollback took too long")),
            Err(Undoing::Crashed) => {
                Err(Status::internal("the tool failed inside during the rollback"))
            }
        }
    }

    async fn forget(
        &self,
        request: Request<wire::ForgetRequest>,
    ) -> Result<Response<wire::ForgetResponse>, Status> {
        let message = request.into_inner();
        if message.call_ids.len() > FORGET {
            return Err(Status::invalid_argument(format!("more than {FORGET} call ids")));
        }
        if message.whole_session {
            let (team, session) = request::session(message.team, message.session)?;
            let forgotten = self.calls.forget_session(&team, &session).await;
            forgotten.map_err(|fault| Status::from(Refusal::Store(fault)))?;
            return Ok(Response::new(wire::ForgetResponse {}));
        }
        let keys: Result<Vec<_>, _> = message
            .call_ids
            .iter()
            .map(|call_id| request::key(&message.team, &message.session, call_id))
            .collect();
        self.calls.forget(keys?).await;
        Ok(Response::new(wire::ForgetResponse {}))
    }
}

impl Server {
    fn wanted(
        &self,
        asked: Asked,
        mode: wire::InvokeMode,
        limit: Option<Duration>,
    ) -> Result<Wanted, Status> {
        let Asked { owner, incarnation, key, digest, facts, arguments } = asked;
        let tool = self.tool(&facts.tool).map(Arc::clone);
        let mode = match mode {
            wire::InvokeMode::Start => {
                if let Err(unknown) = tool {
                    return Err(unknown);
                }
                if limit.is_some_and(|limit| limit.is_zero()) {
                    return Err(Status::deadline_exceeded("no time was left to start the call"));
                }
                Mode::Start
            }
            wire::InvokeMode::Attach => Mode::Attach { has_arguments: !arguments.is_empty() },
            wire::InvokeMode::Unspecified => {
                return Err(Status::new(Code::InvalidArgument, "the mode is missing"));
            }
        };
        let start = tool.ok().map(|tool| {
            let deadline = ends(limit, tool.as_ref());
            Box::new(Start { tool, arguments, facts, deadline })
        });
        Ok(Wanted { owner, incarnation, key, digest, mode, start })
    }
}

/// When the work must have ended: whatever the caller waits, at most the tool's own limit.
fn ends(limit: Option<Duration>, tool: &dyn Served) -> Instant {
    let own = tool.about().timeout;
    Instant::now() + limit.map_or(own, |limit| limit.min(own))
}

fn too_large(asked: &Asked) -> Option<Failure> {
    let bytes = asked.arguments.len();
    (bytes > size::ARGUMENTS).then(|| {
        Failure::too_large(format!(
            "The arguments have {bytes} bytes, the limit is {}. Nothing was started.",
            size::ARGUMENTS
        ))
    })
}

/// A failure of a call that was not started, and that nobody remembers.
fn failed(call_id: String, failure: Failure) -> Subscription {
    let result = Some(convert::failure(failure));
    Subscription::settled(Arc::new(wire::Outcome { call_id, result, duration_us: 0 }))
}

fn answer(subscription: Subscription) -> Response<InvokeStream> {
    Response::new(Box::pin(subscription.into_stream()))
}

#[cfg(test)]
mod tests;
