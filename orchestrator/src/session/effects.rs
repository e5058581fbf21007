//! Performs what the fold asks for: each effect is a future of the actor's own (`running`). What it
//! brings back becomes events in `outcome`.

use std::{future::Future, sync::Arc, time::Duration};

use callboard_telemetry::span;
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use super::{actor::SessionActor, report::Report};
use crate::{
    call::{Abandoned, CallContext, Progress, Recorder, Runnable},
    crash::crash_point,
    model::{Delta, Reply, error::ModelError},
    run::{
        call::Call,
        context,
        effect::{Effect, Key},
        event::{
            AttemptStarted, CallSettled, Event, ModelFailed, ModelReplied, ModelRequested,
            RollbackEnded, Verdict, WantedCall,
        },
        ids::{CallId, RunId},
        state::Run,
    },
};

/// Reports of one effect that may be on their way.
const CHANNEL_CAPACITY: usize = 64;

/// Calls of one reply that are kept, however few a run may make. Where it may make more, one more
/// than these is kept: then the run ends at its limit, and says so, before any other call is missed.
const MIN_CALLS_KEPT: usize = 256;

/// What an effect brings back.
#[derive(Debug)]
pub(super) enum Done {
    /// Facts, in order.
    Events(Vec<Event>),
    /// A call's outcome.
    Settled(Result<CallSettled, Abandoned>),
    /// What came of taking a call back.
    Undone(Result<RollbackEnded, Abandoned>),
    /// Whoever kept something of a removed session has forgotten it.
    Forgotten,
    /// Nobody decided.
    Lapsed(CallId),
    /// The working time is used up.
    Expired,
    /// What it waited for will never be durable.
    Closed,
}

impl SessionActor {
    pub(super) fn start(&mut self, key: Key, effect: Effect) {
        match effect {
            Effect::CallModel { request, with_tools } => self.call_model(key, request, with_tools),
            Effect::Judge(call) => self.judge(key, &call),
            Effect::Invoke(call) => self.invoke(key, &call),
            Effect::Undo { rollback, call } => self.undo(key, &rollback, &call),
            Effect::Forget => self.forget(key),
            Effect::Stop { call, attempt } => self.stop(key, &call, attempt),
            Effect::Lapse { call, at_ms } => {
                let left =
                    u64::try_from(at_ms.saturating_sub(self.shared.clock.now_ms())).unwrap_or(0);
                self.spawn(key, async move {
                    tokio::time::sleep(Duration::from_millis(left)).await;
                    Done::Lapsed(call)
                });
            }
            Effect::Expire { at_elapsed_ms } => {
                let left =
                    Duration::from_millis(at_elapsed_ms).saturating_sub(self.clock.elapsed());
                self.spawn(key, async move {
                    tokio::time::sleep(left).await;
                    Done::Expired
                });
            }
            Effect::Record(_) | Effect::StartRun(_) => {}
        }
    }

    pub(super) fn spawn(&mut self, key: Key, work: impl Future<Output = Done> + Send + 'static) {
        let span = self.span.clone().unwrap_or_else(Span::none);
        self.running.start(key, span, work);
    }

    /// While our ownership is unconfirmed, or the last append failed, what starts waits for an
    /// accepted append.
    fn gate(&mut self) -> Option<oneshot::Receiver<()>> {
        let is_confirmed = self.shared.discovery.is_confirmed() && !self.is_unproven;
        (!is_confirmed).then(|| self.log.tail_is_durable())
    }

    fn call_model(&mut self, key: Key, request: u32, with_tools: bool) {
        let Some(run) = &self.session.current else { return };
        let offer = self.shared.offers.next(&self.shared, &self.session, with_tools);
        let messages = context::build(&self.session, offer.tokens);
        let most = usize::try_from(run.started.limits.max_calls).unwrap_or(usize::MAX);
        let most = most.saturating_add(1).max(MIN_CALLS_KEPT);
        // What `auto` means is settled here, so that what is noted is what is asked.
        let resolved = self.shared.models.resolve(&run.started.models);
        let names = resolved.unwrap_or_else(|_| run.started.models.clone());
        let run = run.input.run.clone();
        let asked = offer.request(messages, &self.shared);
        self.glimpsed = 0;
        self.record(Event::ModelRequested(ModelRequested {
            run: run.clone(),
            request,
            model: names.first().cloned().unwrap_or_default(),
            offered: offer.names.clone(),
            offered_digest: offer.digest.clone(),
            prompt_digest: context::digest(&asked.messages),
            tool_tokens: offer.tokens,
        }));
        let gate = self.gate();
        let models = Arc::clone(&self.shared.models);
        let (sender, shown) = self.deltas(request);
        let model = names.first().cloned().unwrap_or_default();
        let work = async move {
            if !passed(gate).await {
                return Done::Closed;
            }
            crash_point!("model.before_call");
            let call = async {
                let answer = models.call(&names, &asked, &sender).await;
                drop(sender);
                answer
            };
            let answer = beside(call, shown).await;
            crash_point!("model.after_reply");
            Done::Events(vec![match answer {
                Ok(reply) => Event::ModelReplied(replied(run, request, reply, most)),
                Err(error) => Event::ModelFailed(failed(run, request, &error)),
            }])
        };
        let parent = self.span.clone().unwrap_or_else(Span::none);
        let (provider, name) = model.split_once(':').unwrap_or(("callboard", &model));
        let chat = parent.in_scope(|| span::model_call(provider, name));
        self.spawn(key, work.instrument(chat));
    }

    /// Where the pieces of a reply go, and the work of showing them; both end together.
    fn deltas(&mut self, request: u32) -> (mpsc::Sender<Delta>, Option<Shown>) {
        if !self.watchers.want_glimpses() {
            return (self.shared.unseen.deltas.clone(), None);
        }
        let (sender, mut deltas) = mpsc::channel(CHANNEL_CAPACITY);
        let reports = self.reports.shown();
        let show = async move {
            while let Some(delta) = deltas.recv().await {
                if reports.send(Report::Delta { request, delta }).await.is_err() {
                    return;
                }
            }
        };
        (sender, Some(show.boxed()))
    }

    fn judge(&mut self, key: Key, id: &CallId) {
        let Some((call, context)) = self.call_in_context(id) else { return };
        let wanted = call.wanted.clone();
        let (calls, gate) = (Arc::clone(&self.shared.calls), self.gate());
        self.spawn(key, async move {
            if !passed(gate).await {
                return Done::Closed;
            }
            crash_point!("call.before_judge");
            let judged = calls.judge(&wanted, &context).await;
            crash_point!("call.after_judge");
            Done::Events(judged)
        });
    }

    fn invoke(&mut self, key: Key, id: &CallId) {
        let Some((call, context)) = self.call_in_context(id) else { return };
        let runnable = runnable(call);
        let (calls, gate) = (Arc::clone(&self.shared.calls), self.gate());
        let recorder = Recorder::new(self.reports.records());
        let (progress, shown) = self.progress();
        self.spawn(key, async move {
            if !passed(gate).await {
                return Done::Closed;
            }
            let call = calls.run(&runnable, &context, &recorder, progress);
            let settled = beside(call, shown).await;
            crash_point!("call.after_settled");
            Done::Settled(settled)
        });
    }

    fn stop(&mut self, key: Key, id: &CallId, attempt: AttemptStarted) {
        let Some((call, context)) = self.call_in_context(id) else { return };
        let runnable = Runnable { resume: Some(attempt), ..runnable(call) };
        let calls = Arc::clone(&self.shared.calls);
        let recorder = Recorder::new(self.reports.records());
        self.spawn(
            key,
            async move { Done::Settled(calls.stop(&runnable, &context, &recorder).await) },
        );
    }

    fn call_in_context(&self, id: &CallId) -> Option<(&Call, CallContext)> {
        let run = self.session.current.as_ref()?;
        Some((run.call(id)?, self.context_of(run, id)?))
    }

    /// Under which conditions a call of a run is made, or taken back.
    pub(super) fn context_of(&self, run: &Run, id: &CallId) -> Option<CallContext> {
        let limit = Duration::from_millis(run.started.limits.max_time_ms);
        Some(CallContext {
            deployment: self.shared.config.deployment.clone(),
            session: self.id.clone(),
            run: run.input.run.clone(),
            call_id: id.clone(),
            partition: self.ownership.partition,
            epoch: self.ownership.epoch,
            team: self.session.opened.as_ref()?.team.clone(),
            agent: run.started.agent.clone(),
            workspace: self.shared.config.workspace.clone(),
            approver_attached: run.input.approver_attached,
            approve: run.input.approve.clone(),
            remaining: limit.saturating_sub(self.clock.elapsed()),
            now_ms: self.shared.clock.now_ms(),
        })
    }

    /// Where a call's signs of life go, and the work of showing them; both end together.
    fn progress(&mut self) -> (mpsc::Sender<Progress>, Option<Shown>) {
        if !self.watchers.want_glimpses() {
            return (self.shared.unseen.progress.clone(), None);
        }
        let (sender, mut progress) = mpsc::channel(CHANNEL_CAPACITY);
        let reports = self.reports.shown();
        let show = async move {
            while let Some(progress) = progress.recv().await {
                // Progress may be lost.
                let _ = reports.try_send(Report::Progress(progress));
            }
        };
        (sender, Some(show.boxed()))
    }
}

/// Shows what an effect does as long as it runs.
type Shown = BoxFuture<'static, ()>;

/// Senders to nobody, for what is not watched.
#[derive(Debug)]
pub struct Unseen {
    deltas: mpsc::Sender<Delta>,
    progress: mpsc::Sender<Progress>,
}

impl Default for Unseen {
    fn default() -> Self {
        Self { deltas: mpsc::channel(1).0, progress: mpsc::channel(1).0 }
    }
}

/// Works, and shows meanwhile, if anybody looks.
async fn beside<T>(work: impl Future<Output = T>, shown: Option<Shown>) -> T {
    match shown {
        Some(shown) => tokio::join!(work, shown).0,
        None => work.await,
    }
}

fn runnable(call: &Call) -> Runnable {
    let judged = call.judged.as_ref();
    Runnable {
        planned: call.planned.clone().unwrap_or_default(),
        approved_preview: call.asked.as_ref().map_or(String::new(), |a| a.preview_digest.clone()),
        denied_effects: judged.map_or(Vec::new(), |judged| judged.denied_effects.clone()),
        verdict: judged.map_or(Verdict::default(), |judged| judged.verdict),
        rule: judged.map_or(String::new(), |judged| judged.rule.clone()),
        attempts: u32::try_from(call.attempts.len()).unwrap_or(u32::MAX),
        resume: call.open_attempt().cloned(),
    }
}

/// Waits for a gate; false if it will never open.
pub(super) async fn passed(gate: Option<oneshot::Receiver<()>>) -> bool {
    match gate {
        Some(durable) => durable.await.is_ok(),
        None => true,
    }
}

fn replied(run: RunId, request: u32, reply: Reply, most: usize) -> ModelReplied {
    span::set(&Span::current(), callboard_telemetry::names::RESPONSE_MODEL, reply.model.clone());
    let calls = reply.calls.into_iter().take(most).map(|wanted| WantedCall {
        call_id: Uuid::now_v7().to_string().into(),
        model_id: wanted.model_id,
        name: wanted.name,
        arguments: wanted.arguments,
    });
    ModelReplied {
        run,
        request,
        text: reply.text,
        reasoning: reply.reasoning,
        calls: calls.collect(),
        input_tokens: reply.input_tokens,
        output_tokens: reply.output_tokens,
        finish: reply.finish,
        model: reply.model,
    }
}

fn failed(run: RunId, request: u32, error: &ModelError) -> ModelFailed {
    let (kind, message) = (error.kind.as_str().to_owned(), error.message.clone());
    span::fail(&Span::current(), &kind, "the model call failed");
    ModelFailed { run, request, kind, message }
}
