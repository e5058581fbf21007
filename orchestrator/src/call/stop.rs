//! Ends a call that is no longer wanted: asks its instance to end it, and says what became of it.
//!
//! `cancelled` is said only where somebody knows it; what may have been done stays unknown. How a
//! call is carried to a normal end is in `attempts`.

use std::sync::Arc;
use std::time::Duration;

use callboard_proto::tool::tool_service_client::ToolServiceClient;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::attempts::wire;
use super::deadline::{Deadline, RESERVE};
use super::failure::{Failure, Kind};
use super::outcome::Ending;
use super::record::{Abandoned, Recorder};
use super::settle::Settling;
use super::{CallContext, CallPath, Job, Made, Runnable};
use crate::catalog::Instance;
use crate::run::event::{AttemptStarted, CallSettled, Class};

/// How long the instance may take to end the call and say so.
const WITHIN: Duration = Duration::from_secs(2);

impl CallPath {
    /// Asks the instance of an attempt to end the call; does not wait for what becomes of it.
    pub async fn cancel(&self, attempt: &AttemptStarted, context: &CallContext) {
        let snapshot = self.catalog().snapshot();
        let Some(instance) = snapshot.instance(attempt) else { return };
        send_cancel(&instance, context).await;
    }

    /// Ends a call that is no longer wanted, after the future of [`CallPath::run`] was dropped:
    /// asks the instance of its open attempt (`resume`) to end it and waits at most 2 s for what
    /// became of it. The attempt is ended through `recorder`. A call without an open attempt is
    /// cancelled at once.
    ///
    /// # Errors
    /// [`Abandoned`] as in [`CallPath::run`].
    pub async fn stop(
        &self,
        call: &Runnable,
        context: &CallContext,
        recorder: &Recorder,
    ) -> Result<CallSettled, Abandoned> {
        let begun = Instant::now();
        let made = match &call.resume {
            None => Made { ending: cancelled("it had not begun"), attempts: call.attempts },
            Some(attempt) => {
                self.cancel(attempt, context).await;
                let deadline = Deadline::new(begun, WITHIN + RESERVE, WITHIN);
                let (progress, _) = mpsc::channel(1);
                let job = Job { call, context, deadline, recorder, progress: &progress };
                self.attempts.attach_only(job, attempt).await?
            }
        };
        // What only reads has changed nothing, whoever knows how it ended.
        let ending = match made.ending {
            Ending::Unknown { .. } if call.planned.class == Class::Read => {
                cancelled("it changes nothing")
            }
            ending => ending,
        };
        let checks = self.catalog().snapshot().checks(&context.team, &call.planned.service);
        let settling = Settling {
            planned: &call.planned,
            checks: &checks,
            team: &context.team,
            session: &context.session,
            result_chars: None,
            is_open_world: false,
            attempts: made.attempts,
            took: begun.elapsed(),
        };
        Ok(self.settler.settle(ending, settling).await)
    }
}

async fn send_cancel(instance: &Arc<Instance>, context: &CallContext) {
    let mut request = tonic::Request::new(wire::cancel(context));
    request.set_timeout(WITHIN);
    let mut client = ToolServiceClient::new(instance.channel());
    let answer = timeout(WITHIN, client.cancel(request)).await;
    if !matches!(answer, Ok(Ok(_))) {
        tracing::warn!(call = %context.call_id, instance = %instance.id, "cancel not heard");
    }
}

fn cancelled(why: &str) -> Ending {
    Ending::Failed(Failure::new(Kind::Cancelled, format!("the call was cancelled; {why}")))
}
