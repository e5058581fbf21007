//! A scripted orchestrator: the wire's `AgentService` over a shared journal, on a Unix socket, with
//! faults on demand. It plays every run by itself unless it is told to leave that to the test.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex},
};

use callboard_discovery::{
    Address, Discovery, Instance, InstanceId, Registration, Role, State,
    transport::{self, Credentials, Guard},
};
use callboard_proto::{
    PARTITIONS,
    agent::{
        self as wire,
        agent_service_server::{AgentService, AgentServiceServer},
        invoke_tool_response::Piece,
        notice::Kind,
    },
};
use serde_json::json;
use tokio::{
    runtime::{Builder, Runtime},
    sync::{oneshot, watch},
};
use tokio_stream::{Stream, StreamExt as _, wrappers::ReceiverStream};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::journal::{Journal, Kept};

type Answer<T> = Result<Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Its behaviour, and what it was asked.
#[derive(Clone, Default)]
pub(super) struct Script {
    pub(super) journal: Journal,
    shared: Arc<Mutex<Shared>>,
    /// Streams of facts that somebody reads now.
    streams: watch::Sender<usize>,
    /// Changes with each request that may hang.
    asked: watch::Sender<usize>,
}

/// One stream of facts, for as long as somebody reads it.
struct Reading(watch::Sender<usize>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

#[derive(Default)]
struct Shared {
    /// Runs are left to the test.
    is_manual: bool,
    /// Answers, in place of the real ones, to the next requests of a name.
    refusals: BTreeMap<&'static str, VecDeque<Status>>,
    /// Requests of a name that are never answered.
    hangs: Vec<&'static str>,
    /// Pieces after which the next streams break.
    cuts: VecDeque<usize>,
    /// Names of the requests, with the trace that they came with.
    asked: Vec<(&'static str, String)>,
    decided: Option<wire::DecideRequest>,
    started: Vec<wire::StartRequest>,
    invoked: Vec<wire::InvokeToolRequest>,
}

impl Script {
    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.shared.lock().unwrap())
    }

    pub(super) fn leave_runs_to_the_test(&self) {
        self.with(|shared| shared.is_manual = true);
    }

    pub(super) fn refuse(&self, name: &'static str, status: Status) {
        self.with(|shared| shared.refusals.entry(name).or_default().push_back(status));
    }

    pub(super) fn hang(&self, name: &'static str) {
        self.with(|shared| shared.hangs.push(name));
    }

    async fn answers(&self, name: &'static str) {
        self.asked.send_modify(|asked| *asked += 1);
        if self.with(|shared| shared.hangs.contains(&name)) {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until a request that may hang has arrived.
    pub(super) async fn wait_for_request(&self, name: &'static str) {
        let mut asked = self.asked.subscribe();
        let waited = asked.wait_for(|_| self.asked().contains(&name));
        tokio::time::timeout(super::client::DEADLINE, waited).await.unwrap().unwrap();
    }

    pub(super) fn cut_after(&self, pieces: usize) {
        self.with(|shared| shared.cuts.push_back(pieces));
    }

    pub(super) fn asked(&self) -> Vec<&'static str> {
        self.with(|shared| shared.asked.iter().map(|(name, _)| *name).collect())
    }

    pub(super) fn traces(&self) -> Vec<String> {
        self.with(|shared| shared.asked.iter().map(|(_, trace)| trace.clone()).collect())
    }

    pub(super) fn started(&self) -> Vec<wire::StartRequest> {
        self.with(|shared| shared.started.clone())
    }

    pub(super) fn invoked(&self) -> Vec<wire::InvokeToolRequest> {
        self.with(|shared| shared.invoked.clone())
    }

    pub(super) async fn wait_for_streams(&self, count: usize) {
        let mut streams = self.streams.subscribe();
        let waited = streams.wait_for(|open| *open == count);
        tokio::time::timeout(super::client::DEADLINE, waited).await.unwrap().unwrap();
    }

    fn note(&self, name: &'static str, metadata: &MetadataMap) -> Result<(), Status> {
        let trace = metadata.get("traceparent").and_then(|value| value.to_str().ok());
        let trace = trace.unwrap_or_default().to_owned();
        self.with(|shared| {
            shared.asked.push((name, trace));
            let refusal = shared.refusals.get_mut(name).and_then(VecDeque::pop_front);
            refusal.map_or(Ok(()), Err)
        })
    }

    fn cut(&self) -> Option<usize> {
        self.with(|shared| shared.cuts.pop_front())
    }

    /// A whole run: one model call, one tool call, an answer.
    fn play(&self, session: &str, run: &str) {
        let journal = &self.journal;
        journal.append(session, run, "run.started", &json!({ "run": run, "agent": "default" }));
        let asked = json!({ "run": run, "request": 1, "model": "offline" });
        journal.append(session, run, "model.requested", &asked);
        let planned = json!({ "call_id": "c-1", "tool": "calculate" });
        journal.append(session, run, "call.planned", &planned);
        let settled = json!({ "call_id": "c-1", "status": "ok" });
        journal.append(session, run, "call.settled", &settled);
        journal.end(session, run, played);
    }

    /// The facts of a session after a number, as they come, until `is_last`.
    fn facts(
        &self,
        session: String,
        after: u64,
        is_last: impl Fn(&wire::Fact, &Kept) -> bool + Send + 'static,
    ) -> Streamed<wire::Fact> {
        let mut sessions = self.journal.watch();
        let (pieces, stream) = tokio::sync::mpsc::channel(4);
        let cut = self.cut();
        self.streams.send_modify(|open| *open += 1);
        let reading = Reading(self.streams.clone());
        let telling = async move {
            let _reading = reading;
            let (mut next, mut told) = (usize::try_from(after).unwrap(), 0);
            loop {
                let kept = sessions.borrow_and_update().get(&session).cloned().unwrap_or_default();
                while let Some(fact) = kept.facts.get(next) {
                    if cut == Some(told) {
                        let _ = pieces.send(Err(Status::unavailable("cut by the script"))).await;
                        return;
                    }
                    next += 1;
                    told += 1;
                    let is_end = is_last(fact, &kept);
                    if pieces.send(Ok(fact.clone())).await.is_err() || is_end {
                        return;
                    }
                }
                tokio::select! {
                    changed = sessions.changed() => if changed.is_err() { return },
                    () = pieces.closed() => return,
                }
            }
        };
        let telling = futures_util::FutureExt::into_stream(telling).filter_map(|()| None);
        Box::pin(ReceiverStream::new(stream).merge(telling))
    }

    fn begun(&self, session: &str, run: &str, is_earlier: bool) -> Kind {
        let kept = self.journal.session(session).unwrap_or_default();
        let is_over = kept.runs.iter().any(|known| known.id == run && known.status == "completed");
        Kind::Begun(wire::Begun { run: run.to_owned(), is_earlier, is_over })
    }

    /// A run from its beginning, or, for one that was begun before, from now on.
    fn of_run(&self, session: &str, run: &str, is_new: bool) -> Streamed<Kind> {
        let kept = self.journal.session(session).unwrap_or_default();
        let ended = kept.runs.iter().find(|known| known.id == run && known.status == "completed");
        if let (Some(ended), false) = (ended, is_new) {
            return Box::pin(tokio_stream::once(Ok(result(session, Some(ended.clone())))));
        }
        let before = if is_new {
            kept.facts.iter().position(|fact| fact.run == run).unwrap_or(0) as u64
        } else {
            kept.session.last_seq
        };
        let (id, journal) = (session.to_owned(), self.journal.clone());
        let run = run.to_owned();
        let is_end = move |fact: &wire::Fact, _: &Kept| fact.r#type == "run.ended";
        let facts = self.facts(session.to_owned(), before, is_end);
        let notices = facts.map(move |fact| {
            let fact = fact?;
            let mut notices = Vec::new();
            if fact.r#type == "model.requested" {
                let text = "thinking".to_owned();
                let run = run.clone();
                notices.push(Kind::Glimpse(wire::Glimpse {
                    run,
                    request: 1,
                    text,
                    ..wire::Glimpse::default()
                }));
            }
            let is_end = fact.r#type == "run.ended";
            notices.push(Kind::Fact(fact));
            if is_end {
                let runs = journal.session(&id).unwrap_or_default().runs;
                let run = runs.into_iter().find(|known| known.id == run);
                notices.push(result(&id, run));
            }
            Ok::<_, Status>(notices)
        });
        Box::pin(notices.flat_map_results())
    }
}

/// Turns a stream of lists into a stream of their elements.
trait FlatMapResults: Stream<Item = Result<Vec<Kind>, Status>> + Sized + Send + 'static {
    fn flat_map_results(self) -> Streamed<Kind> {
        use futures_util::StreamExt as _;
        Box::pin(self.flat_map(|notices| {
            futures_util::stream::iter(match notices {
                Ok(notices) => notices.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(status) => vec![Err(status)],
            })
        }))
    }
}

impl<S: Stream<Item = Result<Vec<Kind>, Status>> + Send + 'static> FlatMapResults for S {}

/// A run in pages of one call, as if each call were large.
fn pieces(run: wire::RunSummary) -> Vec<wire::RunSummary> {
    if run.calls.is_empty() {
        return vec![run];
    }
    let with =
        |call: &wire::CallSummary| wire::RunSummary { calls: vec![call.clone()], ..run.clone() };
    run.calls.iter().map(with).collect()
}

/// The result of a run, with the first page of it.
fn result(session: &str, run: Option<wire::RunSummary>) -> Kind {
    let mut pages = run.map(pieces).unwrap_or_default();
    let next_page_token = if pages.len() > 1 { "1".to_owned() } else { String::new() };
    let run = (!pages.is_empty()).then(|| pages.remove(0));
    Kind::Result(wire::RunResult { session: session.to_owned(), run, next_page_token })
}

/// What a run has become after [`Script::play`].
fn played(run: &mut wire::RunSummary) {
    run.answer = "45".to_owned();
    run.model = "offline".to_owned();
    run.steps = 2;
    run.input_tokens = 10;
    run.output_tokens = 3;
    run.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736".to_owned();
    run.duration_ms = 12;
    run.calls = vec![call()];
}

pub(super) fn call() -> wire::CallSummary {
    wire::CallSummary {
        call_id: "c-1".to_owned(),
        tool: "calculate".to_owned(),
        arguments: r#"{"expression": "40+5", "digits": 10000000000000001}"#.to_owned(),
        status: "ok".to_owned(),
        instance: "calculator-1".to_owned(),
        duration_ms: 3,
        attempts: 1,
        verdict: "allow".to_owned(),
        content: "45".to_owned(),
        structured: r#"{"value":"45"}"#.to_owned(),
        step: 1,
        rule: "default: read-only".to_owned(),
        waited_ms: 2,
        ..wire::CallSummary::default()
    }
}

#[tonic::async_trait]
impl AgentService for Script {
    type StartStream = Streamed<wire::StartResponse>;
    type AttachStream = Streamed<wire::AttachResponse>;
    type InvokeToolStream = Streamed<wire::InvokeToolResponse>;

    async fn open_session(
        &self,
        request: Request<wire::OpenSessionRequest>,
    ) -> Answer<wire::OpenSessionResponse> {
        self.note("open", request.metadata())?;
        let open = request.into_inner();
        self.journal.open(session(&open.session, &open.title));
        self.journal.append(&open.session, "", "session.opened", &json!({ "models": open.models }));
        let session = self.journal.session(&open.session).map(|kept| kept.session);
        Ok(Response::new(wire::OpenSessionResponse { session }))
    }

    async fn get_session(
        &self,
        request: Request<wire::GetSessionRequest>,
    ) -> Answer<wire::GetSessionResponse> {
        self.note("get", request.metadata())?;
        self.answers("get").await;
        let asked = request.into_inner();
        let kept = self.journal.session(&asked.session).ok_or_else(|| missing(&asked.session))?;
        let all = kept.runs.into_iter().filter(|run| asked.run.is_empty() || run.id == asked.run);
        let pages: Vec<_> = all.flat_map(pieces).collect();
        let from = asked.page_token.parse().unwrap_or(0);
        let next = if from + 1 < pages.len() { (from + 1).to_string() } else { String::new() };
        let runs = pages.into_iter().skip(from).take(1).collect();
        let session = Some(kept.session);
        Ok(Response::new(wire::GetSessionResponse { session, runs, next_page_token: next }))
    }

    async fn list_sessions(
        &self,
        request: Request<wire::ListSessionsRequest>,
    ) -> Answer<wire::ListSessionsResponse> {
        self.note("list", request.metadata())?;
        let limit = usize::try_from(request.into_inner().limit).unwrap();
        let ids = self.journal.ids().into_iter().take(if limit == 0 { 50 } else { limit });
        let sessions = ids.filter_map(|id| self.journal.session(&id)).map(|kept| kept.session);
        Ok(Response::new(wire::ListSessionsResponse { sessions: sessions.collect() }))
    }

    async fn delete_session(
        &self,
        request: Request<wire::DeleteSessionRequest>,
    ) -> Answer<wire::DeleteSessionResponse> {
        self.note("delete", request.metadata())?;
        let id = request.into_inner().session;
        self.journal.session(&id).ok_or_else(|| missing(&id))?;
        self.journal.remove(&id);
        Ok(Response::new(wire::DeleteSessionResponse {}))
    }

    async fn start(&self, request: Request<wire::StartRequest>) -> Answer<Self::StartStream> {
        self.note("start", request.metadata())?;
        let start = request.into_inner();
        self.with(|shared| shared.started.push(start.clone()));
        let kept = self.journal.session(&start.session);
        if kept.is_none() && start.open.is_none() {
            return Err(missing(&start.session));
        }
        self.journal.open(session(&start.session, &start.input));
        let same_key = kept.and_then(|kept| {
            let of = |run: &wire::RunSummary| run.reason == start.idempotency_key;
            kept.runs.into_iter().find(of)
        });
        let run = same_key.map_or(start.run.clone(), |run| run.id);
        let is_new =
            self.journal.session(&start.session).is_none_or(|k| k.runs.iter().all(|r| r.id != run));
        if is_new {
            self.journal.begin(
                &start.session,
                &wire::RunSummary {
                    id: run.clone(),
                    status: "working".to_owned(),
                    input: start.input.clone(),
                    // Where a real one keeps it is none of the wire's business.
                    reason: start.idempotency_key.clone(),
                    ..wire::RunSummary::default()
                },
            );
            if !self.with(|shared| shared.is_manual) {
                self.play(&start.session, &run);
            }
        }
        let watch = start.watch();
        let notices = self.of_run(&start.session, &run, is_new).filter(move |kind| match kind {
            Ok(Kind::Fact(_)) => watch != wire::Watch::Result,
            Ok(Kind::Glimpse(_)) => watch == wire::Watch::All,
            Ok(Kind::Result(_) | Kind::Begun(_)) | Err(_) => true,
        });
        let begun = self.begun(&start.session, &run, run != start.run);
        let pieces = tokio_stream::once(Ok(begun)).chain(notices).map(|kind| {
            let notice = Some(wire::Notice { kind: Some(kind?) });
            Ok(wire::StartResponse { notice })
        });
        Ok(Response::new(Box::pin(pieces)))
    }

    async fn attach(&self, request: Request<wire::AttachRequest>) -> Answer<Self::AttachStream> {
        self.note("attach", request.metadata())?;
        let attach = request.into_inner();
        let kept = self.journal.session(&attach.session).ok_or_else(|| missing(&attach.session))?;
        let (until_idle, is_idle) = (attach.until_idle, kept.session.state == "idle");
        if until_idle && is_idle && kept.session.last_seq <= attach.after {
            return Ok(Response::new(Box::pin(tokio_stream::empty())));
        }
        let is_end = move |fact: &wire::Fact, kept: &Kept| {
            until_idle && kept.session.state == "idle" && fact.seq >= kept.session.last_seq
        };
        let facts = self.facts(attach.session, attach.after, is_end);
        let pieces = facts.map(|fact| {
            let notice = Some(wire::Notice { kind: Some(Kind::Fact(fact?)) });
            Ok(wire::AttachResponse { notice })
        });
        Ok(Response::new(Box::pin(pieces)))
    }

    async fn decide(&self, request: Request<wire::DecideRequest>) -> Answer<wire::DecideResponse> {
        self.note("decide", request.metadata())?;
        let asked = request.into_inner();
        let first = self.with(|shared| {
            let is_first = shared.decided.is_none();
            (is_first, shared.decided.get_or_insert_with(|| asked.clone()).approve)
        });
        Ok(Response::new(wire::DecideResponse { first: first.0, approved: first.1 }))
    }

    async fn choose(&self, request: Request<wire::ChooseRequest>) -> Answer<wire::ChooseResponse> {
        self.note("choose", request.metadata())?;
        let choice = request.into_inner().choice;
        let run = if choice == "repeat" { "r-2".to_owned() } else { String::new() };
        Ok(Response::new(wire::ChooseResponse { first: true, choice, run }))
    }

    async fn cancel(&self, request: Request<wire::CancelRequest>) -> Answer<wire::CancelResponse> {
        self.note("cancel", request.metadata())?;
        let asked = request.into_inner();
        let kept = self.journal.session(&asked.session).ok_or_else(|| missing(&asked.session))?;
        Ok(Response::new(wire::CancelResponse { was_running: kept.session.state == "active" }))
    }

    async fn rollback(
        &self,
        request: Request<wire::RollbackRequest>,
    ) -> Answer<wire::RollbackResponse> {
        self.note("rollback", request.metadata())?;
        self.answers("rollback").await;
        let asked = request.into_inner();
        let call_id = match asked.what {
            Some(wire::rollback_request::What::CallId(call)) => call,
            Some(wire::rollback_request::What::ToStep(step)) => format!("after step {step}"),
            None => String::new(),
        };
        let status = match call_id.as_str() {
            "c-changed" => "conflict",
            _ if asked.dry_run => "would_undo",
            _ => "undone",
        };
        let message = "notes.md is as it was".to_owned();
        let step = wire::RollbackStep { call_id, status: status.to_owned(), message };
        Ok(Response::new(wire::RollbackResponse { steps: vec![step], goes_on: false }))
    }

    async fn invoke_tool(
        &self,
        request: Request<wire::InvokeToolRequest>,
    ) -> Answer<Self::InvokeToolStream> {
        self.note("invoke", request.metadata())?;
        let invoke = request.into_inner();
        self.with(|shared| shared.invoked.push(invoke.clone()));
        if invoke.tool != "calculate" {
            let text = format!("there is no tool `{}`; did you mean `calculate`?", invoke.tool);
            return Err(Status::not_found(text));
        }
        self.journal.open(session(&invoke.session, &invoke.tool));
        let kept = self.journal.session(&invoke.session).unwrap_or_default();
        let is_new = kept.runs.iter().all(|run| run.id != invoke.run);
        if is_new {
            let run = wire::RunSummary { id: invoke.run.clone(), ..wire::RunSummary::default() };
            self.journal.begin(&invoke.session, &run);
            if !self.with(|shared| shared.is_manual) {
                self.play(&invoke.session, &invoke.run);
            }
        }
        let watch = invoke.watch();
        let notices =
            self.of_run(&invoke.session, &invoke.run, is_new).filter_map(move |kind| match kind {
                Ok(Kind::Result(result)) => {
                    let run = result.run.unwrap_or_default();
                    let call = run.calls.into_iter().next();
                    Some(Ok(Piece::Result(wire::DirectResult { call, trace_id: run.trace_id })))
                }
                Ok(_) if watch == wire::Watch::Result => None,
                Ok(kind) => Some(Ok(Piece::Notice(wire::Notice { kind: Some(kind) }))),
                Err(status) => Some(Err(status)),
            });
        let begun = self.begun(&invoke.session, &invoke.run, false);
        let begun = Piece::Notice(wire::Notice { kind: Some(begun) });
        let pieces = tokio_stream::once(Ok(begun))
            .chain(notices)
            .map(|piece| Ok(wire::InvokeToolResponse { piece: Some(piece?) }));
        Ok(Response::new(Box::pin(pieces)))
    }

    async fn list_tools(
        &self,
        request: Request<wire::ListToolsRequest>,
    ) -> Answer<wire::ListToolsResponse> {
        self.note("tools", request.metadata())?;
        let tool = wire::CatalogTool {
            name: "calculate".to_owned(),
            service: "calculator".to_owned(),
            team: "shared".to_owned(),
            version: "0.1.0".to_owned(),
            description: "Arithmetic. 计算".to_owned(),
            input_schema: r#"{"type":"object","required":["expression"]}"#.to_owned(),
            read_only: true,
            idempotent: true,
            instances: vec![wire::ToolInstance {
                id: "calculator-1".to_owned(),
                state: "serving".to_owned(),
                in_flight: 2,
            }],
            examples: vec![wire::ToolExample {
                request: "2+2?".to_owned(),
                arguments: r#"{"expression":"2+2"}"#.to_owned(),
            }],
            ..wire::CatalogTool::default()
        };
        Ok(Response::new(wire::ListToolsResponse { tools: vec![tool] }))
    }

    async fn list_rules(
        &self,
        request: Request<wire::ListRulesRequest>,
    ) -> Answer<wire::ListRulesResponse> {
        self.note("rules", request.metadata())?;
        let rule = wire::PolicyRule {
            name: "drafts".to_owned(),
            tool: "write_file".to_owned(),
            condition: r#"args.path.startsWith("drafts/")"#.to_owned(),
            verdict: "allow".to_owned(),
            annotations: [("destructive".to_owned(), false)].into(),
            ..wire::PolicyRule::default()
        };
        Ok(Response::new(wire::ListRulesResponse {
            profile: "development".to_owned(),
            rules: vec![rule],
            refused: "`orchestrator.policy.rules[0].tool`: no pattern".to_owned(),
        }))
    }

    async fn test_rules(
        &self,
        request: Request<wire::TestRulesRequest>,
    ) -> Answer<wire::TestRulesResponse> {
        self.note("test", request.metadata())?;
        let test = request.into_inner();
        Ok(Response::new(wire::TestRulesResponse {
            verdict: "ask".to_owned(),
            rule: "drafts".to_owned(),
            reason: format!("{} as {}/{}", test.tool, test.team, test.agent),
            denied_effects: vec![String::from_utf8(test.arguments).unwrap_or_default()],
            tool: test.tool,
            has_preflight: true,
        }))
    }

    async fn get_status(
        &self,
        request: Request<wire::GetStatusRequest>,
    ) -> Answer<wire::GetStatusResponse> {
        self.note("status", request.metadata())?;
        Ok(Response::new(wire::GetStatusResponse {
            uptime_seconds: 60,
            runs_total: 8,
            runs_failed: 2,
            tokens_total: 100,
            last_active_ms: 1_700_000_000_000,
            active_runs: 1,
            models: vec!["offline".to_owned()],
            paused: String::new(),
            refused_sessions: 1,
            refused: vec![wire::RefusedSession {
                session: "s".to_owned(),
                reason: "event 3".to_owned(),
            }],
        }))
    }

    async fn read_artifact(
        &self,
        request: Request<wire::ReadArtifactRequest>,
    ) -> Answer<wire::ReadArtifactResponse> {
        self.note("artifact", request.metadata())?;
        let asked = request.into_inner();
        let whole = artifact();
        let from = usize::try_from(asked.offset).unwrap().min(whole.len());
        let to = (from + usize::try_from(asked.limit).unwrap()).min(whole.len());
        let (content, size) = (whole[from..to].to_vec(), whole.len() as u64);
        Ok(Response::new(wire::ReadArtifactResponse { content, size }))
    }
}

/// The one artifact: larger than two pages.
pub(super) fn artifact() -> Vec<u8> {
    (0..600_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

fn session(id: &str, title: &str) -> wire::Session {
    wire::Session {
        id: id.to_owned(),
        title: title.to_owned(),
        agent: "default".to_owned(),
        kind: "chat".to_owned(),
        state: "idle".to_owned(),
        opened_ms: 1_000,
        updated_ms: 2_000,
        last_seq: 0,
    }
}

fn missing(id: &str) -> Status {
    Status::not_found(format!("there is no session {id}"))
}

/// A running orchestrator. Dropping it is its death: its connections break, its lock is freed.
pub(super) struct Agent {
    pub(super) id: InstanceId,
    registration: Registration,
    owned: watch::Receiver<callboard_discovery::Held>,
    /// Its own, so that its death ends whatever it does, connections that it has accepted too.
    runtime: Option<Runtime>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Agent {
    /// Serves `script`, is known to all and owns whatever is free.
    pub(super) async fn start(
        name: &str,
        script: &Script,
        discovery: &Arc<dyn Discovery>,
        folder: &std::path::Path,
    ) -> Self {
        let agent = Self::stand_by(name, script, discovery, folder).await;
        agent.wait_for_all().await;
        agent
    }

    /// As `start`, but does not wait until it owns everything.
    pub(super) async fn stand_by(
        name: &str,
        script: &Script,
        discovery: &Arc<dyn Discovery>,
        folder: &std::path::Path,
    ) -> Self {
        let address = Address::Unix(folder.join(format!("{name}.sock")));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (script, listen) = (script.clone(), address.clone());
        let (bound, is_bound) = oneshot::channel();
        runtime.spawn(async move {
            let credentials = Credentials::default();
            let incoming = transport::bind(&listen, &credentials).await.unwrap().incoming();
            bound.send(()).unwrap();
            let router = tonic::transport::Server::builder()
                .layer(Guard::new(&credentials))
                .add_service(AgentServiceServer::new(script));
            router.serve_with_incoming(incoming).await.unwrap();
        });
        is_bound.await.unwrap();
        let id = InstanceId::new(name);
        let registration = discovery.register(instance(&id, address)).await.unwrap();
        let owned = discovery.claim(&registration, PARTITIONS).await.unwrap();
        Self { id, registration, owned, runtime: Some(runtime) }
    }

    pub(super) async fn wait_for_all(&self) {
        let mut owned = self.owned.clone();
        owned.wait_for(|owned| owned.len() == PARTITIONS as usize).await.unwrap();
    }

    /// Says that it takes nothing new.
    pub(super) async fn drain(&self) {
        self.registration.set_state(State::Draining).await.unwrap();
    }
}

fn instance(id: &InstanceId, address: Address) -> Instance {
    Instance {
        id: id.clone(),
        role: Role::Orchestrator,
        team: "default".to_owned(),
        name: "orchestrator".to_owned(),
        address,
        version: "0.1.0".to_owned(),
        zone: String::new(),
        capacity: 0,
        state: State::Serving,
        descriptors: String::new(),
        incarnation: uuid::Uuid::new_v4().to_string(),
        store: String::new(),
        workspaces: Vec::new(),
        pid: 1,
    }
}
