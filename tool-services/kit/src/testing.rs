//! Starts a service on a Unix socket in a folder of its own, so that tools are tested through the
//! gRPC server that orchestrators meet. For tests only: nothing else uses it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use callboard_discovery::{
    Address, Instance,
    transport::{self, Channel, ChannelError},
};
use callboard_proto::{
    size,
    tool::{self as wire, tool_service_client::ToolServiceClient},
};
use serde_json::Value;
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Request, Status};
use uuid::Uuid;

use crate::{Config, ServeError, Service, Workspace, serve};

/// Id of the workspace that [`start_in`] serves.
pub const WORKSPACE: &str = "work";
/// A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why a service could not be started for a test.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be found.
    #[error(transparent)]
    Discovery(#[from] callboard_discovery::Error),
    /// It cannot be called.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// It was not served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// It did not come up, or did not go down.
    #[error("the service did not {0} in time")]
    Slow(&'static str),
}

/// A served service, and a caller of it. Dropping it ends the service without a drain.
#[derive(Debug)]
pub struct Served {
    /// What the service registered.
    pub instance: Instance,
    client: ToolServiceClient<Channel>,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
    _folder: Folder,
}

/// Serves a service without a workspace.
///
/// # Errors
/// [`Error`] if it does not come up.
pub async fn start(service: Service) -> Result<Served, Error> {
    start_with(service, |_| {}).await
}

/// Serves a service with one workspace, [`WORKSPACE`], at `path`.
///
/// # Errors
/// [`Error`] if it does not come up.
pub async fn start_in(service: Service, path: &Path) -> Result<Served, Error> {
    let workspace = Workspace { id: WORKSPACE.to_owned(), path: path.to_owned() };
    start_with(service, |config| config.workspaces.push(workspace)).await
}

/// Serves a service with settings of one's own.
///
/// # Errors
/// [`Error`] if it does not come up.
pub async fn start_with(
    service: Service,
    settings: impl FnOnce(&mut Config),
) -> Result<Served, Error> {
    let folder = Folder::new();
    let discovery = callboard_discovery::connect(callboard_discovery::Config::Directory {
        path: folder.0.clone(),
    })
    .await?;
    let mut config = Config::new(Address::Unix(folder.0.join("tool.sock")));
    settings(&mut config);
    let credentials = config.credentials.clone();
    let shutdown = CancellationToken::new();
    let tasks = TaskTracker::new();
    let mut serving = tasks.spawn(serve(service, config, Arc::clone(&discovery), shutdown.clone()));
    let mut live = discovery.live();
    let instance = tokio::select! {
        ended = &mut serving => {
            return Err(match ended {
                Ok(Err(error)) => Error::Serve(error),
                Ok(Ok(())) | Err(_) => Error::Slow("stay up"),
            });
        }
        found = timeout(PATIENCE, live.wait_for(|live| !live.instances.is_empty())) => match found {
            Ok(Ok(live)) => live.instances.values().next().cloned(),
            Ok(Err(_)) | Err(_) => None,
        },
    };
    let instance = instance.ok_or(Error::Slow("come up"))?;
    let channel = transport::channel(&instance.address, &credentials)?;
    let client = ToolServiceClient::new(channel)
        .max_decoding_message_size(size::MESSAGE)
        .max_encoding_message_size(2 * size::MESSAGE);
    Ok(Served { instance, client, shutdown, serving, _folder: folder })
}

impl Served {
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

    /// Asks the tool first, approves what it shows, then starts the call and waits for its end.
    ///
    /// # Errors
    /// The failure; a call without an outcome is an internal one that says so.
    pub async fn approve_and_invoke(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<wire::Output, wire::Failure> {
        let mut call = self.call(tool, &arguments);
        let verdict = self.preflight(call.clone()).await.map_err(|status| lost(&status))?;
        if let wire::preflight_response::Verdict::Ask(ask) = verdict {
            call.approved_preview = ask.preview_digest;
        }
        self.start(call).await.unwrap_or_else(|status| Err(lost(&status)))
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

    /// Asks for a shutdown and waits for the end of the drain.
    ///
    /// # Errors
    /// What ended it instead.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.shutdown.cancel();
        match timeout(PATIENCE, &mut self.serving).await {
            Ok(Ok(result)) => Ok(result?),
            Ok(Err(_)) | Err(_) => Err(Error::Slow("go down")),
        }
    }

    /// Asks for a shutdown and waits for nothing.
    pub fn shut_down(&self) {
        self.shutdown.cancel();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
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

/// A folder, made by discovery, that is removed with everything in it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        // A socket path has room for 107 bytes.
        let name = format!("cb-{}", &Uuid::new_v4().simple().to_string()[..12]);
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is a temporary folder: what stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
