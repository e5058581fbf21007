//! A tool service that does what a script says, over real gRPC on a Unix socket.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callboard_proto::reason;
use callboard_proto::tool as wire;
use callboard_proto::tool::tool_service_server::{ToolService, ToolServiceServer};
use sha2::{Digest as _, Sha256};
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// One thing that a service does with a call.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends a message.
    Send(wire::InvokeResponse),
    /// Refuses the call, or ends the stream with a status.
    Fail(Status),
    /// Takes its time.
    Wait(Duration),
    /// Never says anything more.
    Hang,
    /// The process dies: all connections break.
    Die,
}

/// What a service does with its nth call (from 0).
pub(crate) type Script = Arc<dyn Fn(usize, &wire::InvokeRequest) -> Vec<Act> + Send + Sync>;

/// What a service thinks of calls.
type Opinion =
    Arc<dyn Fn(&wire::ToolCall) -> Result<wire::PreflightResponse, Status> + Send + Sync>;

/// What a service says to its nth rollback (from 0).
type WayBack = Arc<dyn Fn(usize) -> Result<wire::rollback_response::Result, Status> + Send + Sync>;

/// A running scripted service. Dropping it kills it.
pub(crate) struct Scripted {
    state: Arc<State>,
    digest: String,
    /// A process of its own, as far as its connections can tell: they break when it ends.
    process: Arc<Mutex<Option<Runtime>>>,
    watching: tokio::task::JoinHandle<()>,
}

struct State {
    tools: Vec<wire::ToolDescriptor>,
    digest: String,
    script: Script,
    opinion: Mutex<Option<Opinion>>,
    seen: Mutex<Vec<wire::InvokeRequest>>,
    timeouts: Mutex<Vec<String>>,
    cancelled: Mutex<Vec<wire::CancelRequest>>,
    judged: Mutex<usize>,
    way_back: Mutex<Option<WayBack>>,
    taken_back: Mutex<Vec<wire::RollbackRequest>>,
    forgotten: Mutex<Vec<wire::ForgetRequest>>,
    /// What it says to the first requests to forget something.
    refusals: Mutex<Vec<Status>>,
    die: mpsc::Sender<()>,
}

#[derive(Clone)]
struct Server(Arc<State>);

impl Scripted {
    pub(crate) fn start(socket: &Path, tools: Vec<wire::ToolDescriptor>, script: Script) -> Self {
        Self::on(silent(socket), tools, script)
    }

    /// The same on a socket that callers may have reached already, and were not answered.
    pub(crate) fn on(
        listener: std::os::unix::net::UnixListener,
        tools: Vec<wire::ToolDescriptor>,
        script: Script,
    ) -> Self {
        let digest = digest_of(&tools);
        let (die, mut killed) = mpsc::channel(1);
        let state = Arc::new(State {
            tools,
            digest: digest.clone(),
            script,
            opinion: Mutex::new(None),
            seen: Mutex::default(),
            timeouts: Mutex::default(),
            cancelled: Mutex::default(),
            judged: Mutex::default(),
            way_back: Mutex::new(None),
            taken_back: Mutex::default(),
            forgotten: Mutex::default(),
            refusals: Mutex::default(),
            die,
        });
        let process = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = ToolServiceServer::new(Server(Arc::clone(&state)))
            .max_encoding_message_size(usize::MAX)
            .max_decoding_message_size(usize::MAX);
        process.spawn(async move {
            let incoming = UnixListenerStream::new(UnixListener::from_std(listener).unwrap());
            let serving = tonic::transport::Server::builder().add_service(server);
            let _ = serving.serve_with_incoming(incoming).await;
        });
        let process = Arc::new(Mutex::new(Some(process)));
        let doomed = Arc::clone(&process);
        let watching = tokio::spawn(async move {
            killed.recv().await;
            kill(&doomed);
        });
        Self { state, digest, process, watching }
    }

    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Calls that came, oldest first.
    pub(crate) fn seen(&self) -> Vec<wire::InvokeRequest> {
        self.state.seen.lock().unwrap().clone()
    }

    /// `start` and `attach`, in the order in which they came.
    pub(crate) fn modes(&self) -> Vec<&'static str> {
        let mode = |request: &wire::InvokeRequest| match request.mode() {
            wire::InvokeMode::Start => "start",
            wire::InvokeMode::Attach => "attach",
            wire::InvokeMode::Unspecified => "unspecified",
        };
        self.seen().iter().map(mode).collect()
    }

    /// `grpc-timeout` of each call.
    pub(crate) fn timeouts(&self) -> Vec<String> {
        self.state.timeouts.lock().unwrap().clone()
    }

    pub(crate) fn cancelled(&self) -> Vec<wire::CancelRequest> {
        self.state.cancelled.lock().unwrap().clone()
    }

    /// How often it was asked for its opinion.
    /// Rollbacks that were asked for, oldest first.
    pub(crate) fn taken_back(&self) -> Vec<wire::RollbackRequest> {
        self.state.taken_back.lock().unwrap().clone()
    }

    pub(crate) fn forgotten(&self) -> Vec<wire::ForgetRequest> {
        self.state.forgotten.lock().unwrap().clone()
    }

    /// Refuses to forget that often first.
    pub(crate) fn set_refusals(&self, refusals: Vec<Status>) {
        *self.state.refusals.lock().unwrap() = refusals;
    }

    pub(crate) fn set_way_back(
        &self,
        way_back: impl Fn(usize) -> Result<wire::rollback_response::Result, Status>
        + Send
        + Sync
        + 'static,
    ) {
        *self.state.way_back.lock().unwrap() = Some(Arc::new(way_back));
    }

    pub(crate) fn judged(&self) -> usize {
        *self.state.judged.lock().unwrap()
    }

    pub(crate) fn set_opinion(
        &self,
        opinion: impl Fn(&wire::ToolCall) -> Result<wire::PreflightResponse, Status>
        + Send
        + Sync
        + 'static,
    ) {
        *self.state.opinion.lock().unwrap() = Some(Arc::new(opinion));
    }
}

/// A socket on which nobody answers yet.
pub(crate) fn silent(socket: &Path) -> std::os::unix::net::UnixListener {
    // It may be left from a service that was there before.
    let _ = std::fs::remove_file(socket);
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn kill(process: &Mutex<Option<Runtime>>) {
    if let Some(process) = process.lock().unwrap().take() {
        process.shutdown_background();
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.watching.abort();
        kill(&self.process);
    }
}

type Pieces = Pin<Box<dyn Stream<Item = Result<wire::InvokeResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ToolService for Server {
    type InvokeStream = Pieces;

    async fn describe(
        &self,
        _: Request<wire::DescribeRequest>,
    ) -> Result<Response<wire::DescribeResponse>, Status> {
        Ok(Response::new(wire::DescribeResponse {
            service: "service".to_owned(),
            version: "1.0.0".to_owned(),
            tools: self.0.tools.clone(),
            digest: self.0.digest.clone(),
        }))
    }

    async fn preflight(
        &self,
        request: Request<wire::PreflightRequest>,
    ) -> Result<Response<wire::PreflightResponse>, Status> {
        *self.0.judged.lock().unwrap() += 1;
        let call = request.into_inner().call.unwrap_or_default();
        let opinion = self.0.opinion.lock().unwrap().clone();
        let allow = wire::preflight_response::Verdict::Allow(wire::Allow {});
        let answer = match opinion {
            Some(opinion) => opinion(&call)?,
            None => wire::PreflightResponse { verdict: Some(allow) },
        };
        Ok(Response::new(answer))
    }

    async fn invoke(
        &self,
        request: Request<wire::InvokeRequest>,
    ) -> Result<Response<Pieces>, Status> {
        let timeout = request.metadata().get("grpc-timeout").and_then(|v| v.to_str().ok());
        self.0.timeouts.lock().unwrap().push(timeout.unwrap_or_default().to_owned());
        let request = request.into_inner();
        let nth = {
            let mut seen = self.0.seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        let acts = (self.0.script)(nth, &request);
        if let [Act::Fail(status)] = acts.as_slice() {
            return Err(status.clone());
        }
        let (pieces, stream) = mpsc::channel(4);
        tokio::spawn(act(acts, pieces, self.0.die.clone()));
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }

    async fn cancel(
        &self,
        request: Request<wire::CancelRequest>,
    ) -> Result<Response<wire::CancelResponse>, Status> {
        self.0.cancelled.lock().unwrap().push(request.into_inner());
        Ok(Response::new(wire::CancelResponse { known: true }))
    }

    async fn rollback(
        &self,
        request: Request<wire::RollbackRequest>,
    ) -> Result<Response<wire::RollbackResponse>, Status> {
        let nth = {
            let mut taken_back = self.0.taken_back.lock().unwrap();
            taken_back.push(request.into_inner());
            taken_back.len() - 1
        };
        let way_back = self.0.way_back.lock().unwrap().clone();
        let way_back = way_back.ok_or_else(|| Status::unimplemented("no way back"))?;
        Ok(Response::new(wire::RollbackResponse { result: Some(way_back(nth)?) }))
    }

    async fn forget(
        &self,
        request: Request<wire::ForgetRequest>,
    ) -> Result<Response<wire::ForgetResponse>, Status> {
        let nth = {
            let mut forgotten = self.0.forgotten.lock().unwrap();
            forgotten.push(request.into_inner());
            forgotten.len() - 1
        };
        let refusal = self.0.refusals.lock().unwrap().get(nth).cloned();
        refusal.map_or(Ok(Response::new(wire::ForgetResponse {})), Err)
    }
}

async fn act(
    acts: Vec<Act>,
    pieces: mpsc::Sender<Result<wire::InvokeResponse, Status>>,
    die: mpsc::Sender<()>,
) {
    for act in acts {
        let sent = match act {
            Act::Send(message) => pieces.send(Ok(message)).await,
            Act::Fail(status) => pieces.send(Err(status)).await,
            Act::Wait(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Act::Hang => return pieces.closed().await,
            Act::Die => {
                let _ = die.send(()).await;
                return pieces.closed().await;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// An outcome with this text, of the call that was asked for.
pub(crate) fn output(request: &wire::InvokeRequest, content: &str) -> Act {
    let call_id = request.call.as_ref().map(|call| call.call_id.clone()).unwrap_or_default();
    let output = wire::Output { content: content.to_owned(), ..wire::Output::default() };
    output_of(&call_id, wire::outcome::Result::Output(output))
}

/// An outcome of some call.
pub(crate) fn output_of(call_id: &str, result: wire::outcome::Result) -> Act {
    let outcome =
        wire::Outcome { call_id: call_id.to_owned(), result: Some(result), duration_us: 1 };
    Act::Send(wire::InvokeResponse { piece: Some(wire::invoke_response::Piece::Outcome(outcome)) })
}

/// A refusal with one of our reasons.
pub(crate) fn refusal(code: Code, reason: &str) -> Act {
    let details =
        ErrorDetails::with_error_info(reason, reason::DOMAIN, std::collections::HashMap::new());
    Act::Fail(Status::with_error_details(code, "no", details))
}

/// Under which digest a service of these tools registers.
pub(crate) fn digest_of(tools: &[wire::ToolDescriptor]) -> String {
    use prost::Message as _;
    let mut hash = Sha256::new();
    for tool in tools {
        hash.update(tool.encode_to_vec());
    }
    crate::digest::hex(&hash.finalize())
}
