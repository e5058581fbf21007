//! A caller of a service, as an orchestrator would be one.

use callboard_discovery::{
    Instance,
    transport::{self, Channel, ChannelError, Credentials},
};
use callboard_proto::{
    size,
    tool::{self as wire, tool_service_client::ToolServiceClient},
};
use serde_json::Value;
use tonic::{Request, Status};
use uuid::Uuid;

/// Calls the tools of one instance.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What the service registered.
    pub instance: Instance,
    client: ToolServiceClient<Channel>,
}

impl Caller {
    pub(super) fn new(instance: Instance, credentials: &Credentials) -> Result<Self, ChannelError> {
        let channel = transport::channel(&instance.address, credentials)?;
        let client = ToolServiceClient::new(channel)
            .max_decoding_message_size(size::MESSAGE)
            .max_encoding_message_size(2 * size::MESSAGE);
        Ok(Self { instance, client })
    }

    /// The client, for what has no shorter way here.
    pub fn client(&self) -> ToolServiceClient<Channel> {
        self.client.clone()
    }

    /// A new call as an orchestrator would send it, without an approval.
    pub fn call(&self, tool: &str, arguments: &Value) -> wire::ToolCall {
        wire::ToolCall {
            deployment: "test".to_owned(),
            call_id: Uuid::now_v7().to_string(),
            attempt: 1,
            session: "session".to_owned(),
            partition: 1,
            epoch: Some(wire::Epoch { generation: 1, revision: 10 }),
            incarnation: self.instance.incarnation.clone(),
            team: "default".to_owned(),
            workspace: self.instance.workspaces.first().cloned().unwrap_or_default(),
            tool: tool.to_owned(),
            arguments: arguments.to_string().into(),
            approved_preview: String::new(),
            denied_effects: Vec::new(),
        }
    }

    /// What the tool thinks of a call.
    ///
    /// # Errors
    /// The status, if there is no verdict.
    pub async fn preflight(
        &self,
        call: wire::ToolCall,
    ) -> Result<wire::preflight_response::Verdict, Status> {
        let request = wire::PreflightRequest { call: Some(call) };
        let response = self.client().preflight(request).await?.into_inner();
        response.verdict.ok_or_else(|| Status::internal("no verdict"))
    }

    /// Starts a call and waits for its end.
    ///
    /// # Errors
    /// The status, if there is no outcome.
    pub async fn start(
        &self,
        call: wire::ToolCall,
    ) -> Result<Result<wire::Output, wire::Failure>, Status> {
        let (_, outcome) = self.send(call, wire::InvokeMode::Start).await?;
        match outcome.result {
            Some(wire::outcome::Result::Output(output)) => Ok(Ok(output)),
            Some(wire::outcome::Result::Failure(failure)) => Ok(Err(failure)),
            None => Err(Status::internal("an outcome without a result")),
        }
    }

    /// Starts a new call without an approval and waits for its end.
    ///
    /// # Errors
    /// The failure; a call without an outcome is an internal one that says so.
    pub async fn invoke(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<wire::Output, wire::Failure> {
        self.start(self.call(tool, &arguments)).await.unwrap_or_else(|status| Err(lost(&status)))
    }

    /// A new call that is approved as the tool shows it now.
    ///
    /// # Errors
    /// The status, if there is no verdict.
    pub async fn approved(&self, tool: &str, arguments: &Value) -> Result<wire::ToolCall, Status> {
        let mut call = self.call(tool, arguments);
        if let wire::preflight_response::Verdict::Ask(ask) = self.preflight(call.clone()).await? {
            call.approved_preview = ask.preview_digest;
        }
        Ok(call)
    }

    /// Asks the tool first, approves what it shows, then starts the call and waits for its end.
    ///
    /// # Errors
    /// The failure; a call without an outcome is an internal one that says so.
    pub async fn approve_and_invoke(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<wire::Output, wire::Failure> {
        let call = self.approved(tool, &arguments).await.map_err(|status| lost(&status))?;
        self.start(call).await.unwrap_or_else(|status| Err(lost(&status)))
    }

    /// Sends a call and waits for its outcome.
    ///
    /// # Errors
    /// The status, if there is none.
    pub async fn outcome(
        &self,
        call: &wire::ToolCall,
        mode: wire::InvokeMode,
    ) -> Result<wire::Outcome, Status> {
        self.send(call.clone(), mode).await.map(|(_, outcome)| outcome)
    }

    /// Sends a call and collects its stream: what it told on the way, and its outcome.
    ///
    /// # Errors
    /// The status, if there is no outcome.
    pub async fn send(
        &self,
        call: wire::ToolCall,
        mode: wire::InvokeMode,
    ) -> Result<(Vec<wire::invoke_response::Piece>, wire::Outcome), Status> {
        let request = wire::InvokeRequest { call: Some(call), mode: mode.into() };
        collect(self.client().invoke(Request::new(request)).await?.into_inner()).await
    }

    /// Takes a call back, under a name of the wish.
    ///
    /// # Errors
    /// The status, if there is no answer.
    pub async fn undo(
        &self,
        call: &wire::ToolCall,
        rollback_id: &str,
    ) -> Result<wire::rollback_response::Result, Status> {
        let request = wire::RollbackRequest {
            call: Some(wire::ToolCall { arguments: Vec::new().into(), ..call.clone() }),
            rollback_id: rollback_id.to_owned(),
            ..wire::RollbackRequest::default()
        };
        self.roll_back(request).await
    }

    /// Sends a rollback.
    ///
    /// # Errors
    /// The status, if there is no answer.
    pub async fn roll_back(
        &self,
        request: wire::RollbackRequest,
    ) -> Result<wire::rollback_response::Result, Status> {
        let response = self.client().rollback(request).await?.into_inner();
        response.result.ok_or_else(|| Status::internal("no answer"))
    }
}

/// Reads a stream to its end: what it told on the way, and its outcome.
///
/// # Errors
/// The status, if there is no outcome.
pub async fn collect(
    mut stream: tonic::Streaming<wire::InvokeResponse>,
) -> Result<(Vec<wire::invoke_response::Piece>, wire::Outcome), Status> {
    let mut pieces = Vec::new();
    while let Some(response) = stream.message().await? {
        match response.piece {
            Some(wire::invoke_response::Piece::Outcome(outcome)) => return Ok((pieces, outcome)),
            Some(piece) => pieces.push(piece),
            None => return Err(Status::internal("an empty message")),
        }
    }
    Err(Status::internal("the stream ended without an outcome"))
}

fn lost(status: &Status) -> wire::Failure {
    wire::Failure {
        kind: wire::FailureKind::Internal.into(),
        message: format!("no outcome: {status}"),
        ..wire::Failure::default()
    }
}
