//! The oracle of what was done: a tool service on raw gRPC, without the kit. Each call that it starts
//! is a line with the call's id in a file of its own, written and synced before the work begins. It
//! keeps the contract of the wire: outcomes by call id, attach, and a floor under epochs. A call that is
//! taken back is a line too, so that it can be counted. The same on the kit is `ledger/on_kit.rs`.

mod described;
mod on_kit;
mod process;

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use callboard_discovery::{
    Address, Discovery, Instance, InstanceId, Registration, Role, State,
    transport::{self, Credentials, Guard},
};
use callboard_proto::{
    reason,
    tool::{
        self as wire, InvokeMode,
        tool_service_server::{ToolService, ToolServiceServer},
    },
};
use futures_util::Stream;
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use self::described::description;
pub(crate) use self::process::Place;
pub use self::process::ledger_if_asked;
use crate::{Proxy, etcd::free_port};

/// Its tools: one that only reads, one that may be repeated, one that is neither.
pub const LEDGER_TOOLS: [&str; 3] = ["ledger_read", "ledger_put", "ledger_add"];

/// Another one, whose lines are struck out again when its calls are taken back.
pub const LEDGER_KEEP: &str = "ledger_keep";
/// How the line begins that strikes out the line of a call.
const STRUCK: &str = "struck ";

/// A running ledger; gone when dropped.
pub struct Ledger {
    book: Arc<Book>,
    _registration: Option<Registration>,
    _discovery: Arc<dyn Discovery>,
    server: JoinHandle<()>,
    proxy: Option<Proxy>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("path", &self.book.path).finish_non_exhaustive()
    }
}

/// What the ledger knows.
struct Book {
    path: PathBuf,
    incarnation: String,
    state: Mutex<Entries>,
    repeats: AtomicU64,
}

#[derive(Default)]
struct Entries {
    floors: HashMap<(String, u32), (u64, u64)>,
    calls: HashMap<String, watch::Receiver<Option<String>>>,
    struck: HashSet<String>,
    changed: HashSet<String>,
    /// How long it takes to strike out a line.
    striking: Duration,
}

impl Entries {
    /// Lets nobody in who is no owner any more.
    fn admit(&mut self, call: &wire::ToolCall) -> Result<(), Status> {
        let epoch = call.epoch.unwrap_or_default();
        let epoch = (epoch.generation, epoch.revision);
        let floor = self.floors.entry((call.deployment.clone(), call.partition)).or_default();
        if epoch < *floor {
            return Err(refuse(Code::FailedPrecondition, reason::STALE_OWNER));
        }
        *floor = epoch;
        Ok(())
    }
}

impl Ledger {
    /// Starts it in `folder`, listening on TCP with the deployment token, and registers it.
    pub async fn start(
        discovery: Arc<dyn Discovery>,
        credentials: &Credentials,
        folder: &Path,
    ) -> Self {
        Self::start_at(discovery, credentials, folder, None).await
    }

    /// The same, reached through a proxy alone.
    pub async fn behind_proxy(
        discovery: Arc<dyn Discovery>,
        credentials: &Credentials,
        folder: &Path,
    ) -> Self {
        let port = free_port();
        let proxy = Proxy::start(port).await;
        Self::start_at(discovery, credentials, folder, Some((port, proxy))).await
    }

    /// The proxy that it is reached through.
    pub fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("it was started behind one")
    }

    async fn start_at(
        discovery: Arc<dyn Discovery>,
        credentials: &Credentials,
        folder: &Path,
        proxy: Option<(u16, Proxy)>,
    ) -> Self {
        let book = Book::new(folder);
        let port = proxy.as_ref().map_or(0, |(port, _)| *port);
        let listen = format!("tcp:127.0.0.1:{port}").parse().unwrap();
        let bound = transport::bind(&listen, credentials).await.unwrap();
        let proxy = proxy.map(|(_, proxy)| proxy);
        let address = proxy.as_ref().map_or(bound.address().clone(), |proxy| {
            Address::Tcp(format!("127.0.0.1:{}", proxy.port()))
        });
        let service = ToolServiceServer::new(Service { book: Arc::clone(&book) });
        let server = tonic::transport::Server::builder()
            .layer(Guard::new(credentials))
            .add_service(service)
            .serve_with_incoming(bound.incoming());
        let server = tokio::spawn(async move { server.await.unwrap() });
        let registration = discovery
            .register(Instance {
                id: InstanceId::new("ledger"),
                role: Role::Tool,
                team: "default".to_owned(),
                name: "ledger".to_owned(),
                address,
                version: "0.1.0".to_owned(),
                zone: String::new(),
                capacity: 0,
                state: State::Serving,
                descriptors: description().digest,
                incarnation: book.incarnation.clone(),
                store: String::new(),
                workspaces: Vec::new(),
                pid: std::process::id(),
            })
            .await
            .unwrap();
        Self { book, _registration: Some(registration), _discovery: discovery, server, proxy }
    }

    /// The same ledger on the kit, which registers it.
    pub fn on_kit(discovery: Arc<dyn Discovery>, credentials: &Credentials, folder: &Path) -> Self {
        let book = Book::new(folder);
        let mut config = callboard_tool::Config::new("tcp:127.0.0.1:0".parse().unwrap());
        config.credentials = credentials.clone();
        config.store = Some(callboard_tool::StoreSettings::new(folder.join("ledger-store")));
        let service = on_kit::service(&book.path);
        let of_kit = Arc::clone(&discovery);
        let server = callboard_tool::serve(service, config, of_kit, CancellationToken::new());
        let server = tokio::spawn(async move { server.await.unwrap() });
        Self { book, _registration: None, _discovery: discovery, server, proxy: None }
    }

    /// The file alone: ledgers that are processes of their own write to it.
    pub fn of_processes(discovery: Arc<dyn Discovery>, folder: &Path) -> Self {
        let server = tokio::spawn(std::future::pending());
        let book = Book::new(folder);
        Self { book, _registration: None, _discovery: discovery, server, proxy: None }
    }

    /// The file of the lines.
    pub(crate) fn path(&self) -> &Path {
        &self.book.path
    }

    /// The ids of the calls that were started, in order, read from the file.
    pub fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.book.path).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// How often each call was started.
    pub fn counts(&self) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for line in self.lines().into_iter().filter(|line| !line.starts_with(STRUCK)) {
            *counts.entry(line).or_default() += 1;
        }
        counts
    }

    /// The ids of the calls that were taken back, each time that one was, in order.
    pub fn struck(&self) -> Vec<String> {
        let lines = self.lines();
        lines.iter().filter_map(|line| line.strip_prefix(STRUCK)).map(str::to_owned).collect()
    }

    /// From now on a look says that the call can be taken back, and it cannot.
    pub fn let_change(&self, call_id: &str) {
        self.book.state.lock().unwrap().changed.insert(call_id.to_owned());
    }

    /// From now on each line takes so long to strike out.
    pub fn strike_slowly(&self, each: Duration) {
        self.book.state.lock().unwrap().striking = each;
    }

    /// How many requests met a call that was there already.
    pub fn repeats(&self) -> u64 {
        self.book.repeats.load(Ordering::SeqCst)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.server.abort();
    }
}

struct Service {
    book: Arc<Book>,
}

type Answers = Pin<Box<dyn Stream<Item = Result<wire::InvokeResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ToolService for Service {
    type InvokeStream = Answers;

    async fn describe(
        &self,
        _: Request<wire::DescribeRequest>,
    ) -> Result<Response<wire::DescribeResponse>, Status> {
        Ok(Response::new(description()))
    }

    async fn preflight(
        &self,
        _: Request<wire::PreflightRequest>,
    ) -> Result<Response<wire::PreflightResponse>, Status> {
        let verdict = Some(wire::preflight_response::Verdict::Allow(wire::Allow {}));
        Ok(Response::new(wire::PreflightResponse { verdict }))
    }

    async fn invoke(
        &self,
        request: Request<wire::InvokeRequest>,
    ) -> Result<Response<Answers>, Status> {
        let request = request.into_inner();
        let mode = request.mode();
        let call = request.call.unwrap();
        let id = call.call_id.clone();
        let mut outcome = self.book.enter(call, mode)?;
        let answer = async move {
            let content = outcome.wait_for(Option::is_some).await.unwrap().clone().unwrap();
            let output = wire::Output { content, ..wire::Output::default() };
            let result = Some(wire::outcome::Result::Output(output));
            let outcome = wire::Outcome { call_id: id, result, duration_us: 1 };
            let piece = Some(wire::invoke_response::Piece::Outcome(outcome));
            Ok(wire::InvokeResponse { piece })
        };
        Ok(Response::new(Box::pin(futures_util::stream::once(answer))))
    }

    async fn cancel(
        &self,
        request: Request<wire::CancelRequest>,
    ) -> Result<Response<wire::CancelResponse>, Status> {
        let known = self.book.state.lock().unwrap().calls.contains_key(&request.get_ref().call_id);
        Ok(Response::new(wire::CancelResponse { known }))
    }

    async fn rollback(
        &self,
        request: Request<wire::RollbackRequest>,
    ) -> Result<Response<wire::RollbackResponse>, Status> {
        let asked = request.into_inner();
        let striking = self.book.state.lock().unwrap().striking;
        if !asked.dry_run {
            tokio::time::sleep(striking).await;
        }
        let result = Some(self.book.strike(&asked)?);
        Ok(Response::new(wire::RollbackResponse { result }))
    }

    async fn forget(
        &self,
        _: Request<wire::ForgetRequest>,
    ) -> Result<Response<wire::ForgetResponse>, Status> {
        Ok(Response::new(wire::ForgetResponse {}))
    }
}

impl Book {
    fn new(folder: &Path) -> Arc<Self> {
        let path = folder.join("ledger");
        File::create(&path).unwrap();
        Arc::new(Self {
            path,
            incarnation: uuid::Uuid::new_v4().to_string(),
            state: Mutex::default(),
            repeats: AtomicU64::default(),
        })
    }

    /// Lets a call in, and starts it where it is new and may be started.
    fn enter(
        self: &Arc<Self>,
        call: wire::ToolCall,
        mode: InvokeMode,
    ) -> Result<watch::Receiver<Option<String>>, Status> {
        let mut state = self.state.lock().unwrap();
        state.admit(&call)?;
        if let Some(known) = state.calls.get(&call.call_id) {
            self.repeats.fetch_add(1, Ordering::SeqCst);
            return Ok(known.clone());
        }
        if mode == InvokeMode::Attach {
            return Err(refuse(Code::NotFound, reason::UNKNOWN_CALL));
        }
        if call.incarnation != self.incarnation {
            return Err(refuse(Code::Unavailable, reason::NOT_ADMITTED));
        }
        self.note(&call.call_id);
        let arguments: Value = serde_json::from_slice(&call.arguments).unwrap();
        let work = Duration::from_millis(arguments["work_ms"].as_u64().unwrap_or(0));
        let note = arguments["note"].as_str().unwrap_or_default().to_owned();
        let (sender, outcome) = watch::channel(None);
        state.calls.insert(call.call_id, outcome.clone());
        // As in every service a lost caller ends nothing.
        tokio::spawn(async move {
            tokio::time::sleep(work).await;
            let _ = sender.send(Some(format!("noted {note}")));
        });
        Ok(outcome)
    }

    /// Strikes out the line of a call, or says whether it could be. The oracle asks for the name of
    /// the wish, and does not rely on it: whoever strikes twice is seen.
    fn strike(
        &self,
        asked: &wire::RollbackRequest,
    ) -> Result<wire::rollback_response::Result, Status> {
        use wire::rollback_response::Result as Answer;
        let call = asked.call.clone().unwrap_or_default();
        let mut state = self.state.lock().unwrap();
        state.admit(&call)?;
        if call.tool != LEDGER_KEEP {
            return Ok(Answer::NotReversible("What is written stays.".to_owned()));
        }
        if !asked.dry_run && state.changed.contains(&call.call_id) {
            return Ok(Answer::Conflict("Its line was changed.".to_owned()));
        }
        let name = format!("{} {}", asked.rollback_id, call.call_id);
        if !asked.dry_run && state.struck.insert(name) {
            self.note(&format!("{STRUCK}{}", call.call_id));
        }
        Ok(Answer::Undone("Its line is struck out.".to_owned()))
    }

    fn note(&self, line: &str) {
        let mut file = File::options().append(true).open(&self.path).unwrap();
        writeln!(file, "{line}").unwrap();
        file.sync_data().unwrap();
    }
}

fn refuse(code: Code, reason: &str) -> Status {
    let details = ErrorDetails::with_error_info(reason, reason::DOMAIN, HashMap::new());
    Status::with_error_details(code, reason, details)
}
