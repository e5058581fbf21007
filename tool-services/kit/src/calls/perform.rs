//! What happens inside a call's task: parse, judge again, invoke, under the call's own timer. The
//! tool works in a second task, so that one which blocks or panics cannot keep its caller waiting.
//! Judging is the lock of which `Preflight` is the guide: what was not approved is not started.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use callboard_proto::tool as wire;
use callboard_telemetry::{metrics, span};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument as _, Span, error, warn};

use super::{DRAIN_GRACE, undo};
use crate::{
    Failure, FailureKind, Intent, Output, Recovered,
    call::Call,
    convert,
    judge::{Judged, judge},
    served::Served,
    sizes,
};

/// Time in which a call whose time is up may end by itself; what it then says is its outcome.
const DEADLINE_GRACE: Duration = Duration::from_millis(50);
/// The same for a call that was cancelled.
const CANCEL_GRACE: Duration = Duration::from_millis(1500);
/// Time in which dropped work should be gone. Work that blocks its thread is not.
pub(super) const ABORT_GRACE: Duration = Duration::from_millis(20);

/// One call, ready to be worked on.
#[derive(Debug)]
pub(super) struct Work {
    tool: Arc<dyn Served>,
    arguments: Bytes,
    call: Arc<Call>,
    started: Arc<AtomicBool>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) outcome: wire::Outcome,
    /// False if the tool was not even begun: then the same call may be sent again.
    pub(super) started: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Cancelled,
    Deadline,
    Drain,
}

impl Work {
    pub(super) fn new(tool: Arc<dyn Served>, arguments: Bytes, call: Call) -> Self {
        Self { tool, arguments, call: Arc::new(call), started: Arc::default() }
    }

    async fn run(self) -> wire::outcome::Result {
        let prepared = match self.tool.prepare(&self.arguments) {
            Ok(prepared) => prepared,
            Err(failure) => return convert::failure(failure),
        };
        let about = self.tool.about();
        match judge(about, prepared.as_ref(), &self.call).await {
            Judged::Allow => {}
            Judged::Block { reason } => return convert::failure(Failure::blocked(reason)),
            Judged::Ask { preview, digest, .. } => {
                if self.call.approved_preview() != Some(digest.as_str()) {
                    return convert::preview_changed(preview);
                }
            }
        }
        if self.call.cancellation().is_cancelled() {
            return convert::failure(Failure::cancelled("Cancelled; nothing was started."));
        }
        self.started.store(true, Ordering::Release);
        let can_go_back = |call: &Call| about.behaviour.reversible && call.intents().is_kept();
        match prepared.invoke(&self.call).await {
            Ok(output) => told(output, can_go_back(&self.call), self.call.id()),
            Err(failure) => convert::failure(failure),
        }
    }
}

/// Works on a call to its end, which `cancel`, `drain` and its own deadline may bring forward.
pub(super) async fn perform(
    work: Work,
    tasks: &TaskTracker,
    cancel: &CancellationToken,
    drain: &CancellationToken,
) -> Ended {
    let began = Instant::now();
    metrics::tool_started();
    let (call, started) = (Arc::clone(&work.call), Arc::clone(&work.started));
    let read_only = work.tool.about().behaviour.read_only;
    let mut task = tasks.spawn(work.run().instrument(Span::current()));
    let stop = tokio::select! {
        biased;
        result = &mut task => Err(result),
        () = cancel.cancelled() => Ok(Stop::Cancelled),
        () = drain.cancelled() => Ok(Stop::Drain),
        () = sleep_until(call.deadline) => Ok(Stop::Deadline),
    };
    let result = match stop {
        Err(Ok(result)) => result,
        Err(Err(fault)) => crashed(fault, &call),
        Ok(stop) => {
            call.cancellation.cancel();
            stopped(task, stop, &call, Effects { started: &started, read_only }).await
        }
    };
    let (status, elapsed) = (convert::status(&result), began.elapsed());
    metrics::tool_ended(call.tool(), status, elapsed);
    if status != "ok" {
        span::fail(&Span::current(), status, "");
    }
    let outcome = wire::Outcome {
        call_id: call.id().to_owned(),
        duration_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        result: Some(result),
    };
    Ended { outcome, started: started.load(Ordering::Acquire) }
}

/// An output as it goes out, with the key to what is kept of its effect.
pub(super) fn told(mut output: Output, is_kept: bool, call_id: &str) -> wire::outcome::Result {
    if is_kept && output.undo_token.is_none() {
        output.undo_token = Some(undo::token(call_id));
    }
    convert::output(sizes::fit(output))
}

/// Asks a tool what became of a call that an earlier process left in the middle. A tool that fails
/// at it does not know.
pub(super) async fn recover(
    tool: Arc<dyn Served>,
    intent: Option<Intent>,
    call: Call,
    tasks: &TaskTracker,
) -> Recovered {
    let deadline = call.deadline;
    let stop = call.cancellation.clone();
    let task = async move { tool.recover(intent.as_ref(), &call).await };
    let task = tasks.spawn(task.instrument(Span::current()));
    match timeout_at(deadline, task).await {
        Ok(Ok(recovered)) => recovered,
        Ok(Err(fault)) => {
            error!(%fault, "a tool failed inside while it looked into an interrupted call");
            Recovered::Unknown
        }
        Err(_) => {
            stop.cancel();
            Recovered::Unknown
        }
    }
}

struct Effects<'a> {
    started: &'a AtomicBool,
    read_only: bool,
}

/// Lets the tool end by itself for a moment, then drops its work.
async fn stopped(
    mut task: JoinHandle<wire::outcome::Result>,
    stop: Stop,
    call: &Call,
    effects: Effects<'_>,
) -> wire::outcome::Result {
    let grace = match stop {
        Stop::Cancelled => CANCEL_GRACE,
        Stop::Deadline => DEADLINE_GRACE,
        Stop::Drain => DRAIN_GRACE,
    };
    match timeout(grace, &mut task).await {
        Ok(Ok(result)) => return relabel(result, stop),
        Ok(Err(fault)) => return crashed(fault, call),
        Err(_) => task.abort(),
    }
    if timeout(ABORT_GRACE, task).await.is_err() {
        warn!(call_id = call.id(), tool = call.tool(), "a stopped tool blocks its thread");
    }
    let done = if !effects.started.load(Ordering::Acquire) {
        "nothing was started"
    } else if effects.read_only {
        "it changes nothing"
    } else {
        "it may have been done in part: check before repeating it"
    };
    convert::failure(match stop {
        Stop::Cancelled => Failure::cancelled(format!("The call was cancelled; {done}.")),
        Stop::Deadline => {
            Failure::timeout(format!("The call took too long and was stopped; {done}."))
        }
        Stop::Drain => {
            Failure::unavailable(format!("The service shut down during the call; {done}."))
        }
    })
}

/// A tool that notices being stopped calls it cancelled; only we know whose wish it was.
fn relabel(mut result: wire::outcome::Result, stop: Stop) -> wire::outcome::Result {
    if let wire::outcome::Result::Failure(failure) = &mut result
        && failure.kind() == wire::FailureKind::Cancelled
    {
        failure.set_kind(convert::kind(match stop {
            Stop::Cancelled => FailureKind::Cancelled,
            Stop::Deadline => FailureKind::Timeout,
            Stop::Drain => FailureKind::Unavailable,
        }));
    }
    result
}

fn crashed(fault: tokio::task::JoinError, call: &Call) -> wire::outcome::Result {
    let text = match fault.try_into_panic() {
        Ok(payload) => panic_text(payload.as_ref()).to_owned(),
        Err(fault) => fault.to_string(),
    };
    error!(call_id = call.id(), tool = call.tool(), fault = text, "a tool failed inside");
    convert::failure(Failure::internal(
        "The tool failed inside; this is a fault of the service, not of the arguments. \
         It is in the service's log under the id of this call.",
    ))
}

/// What a panic said, for the log.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
