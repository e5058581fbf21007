//! What became of an attempt whose answer was lost: asks, and never starts anything.
//!
//! Whoever may know is found in `place`; what follows from the answer is decided by `retry`.

use callboard_proto::tool::InvokeMode;
use tokio::time::Instant;

use super::classify::{Classified, Pushback};
use super::send::Sending;
use super::tally::{Open, Tally};
use super::{Attempts, Job, Made, place, trace};
use crate::call::failure::{Failure, Kind};
use crate::call::outcome::{Ending, Output};
use crate::call::record::Abandoned;
use crate::call::retry::{AttemptError, Lost};
use crate::run::event::{AttemptStarted, AttemptStatus};

impl Attempts {
    /// Asks what became of an attempt, once, and starts nothing.
    pub(in crate::call) async fn attach_only(
        &self,
        job: Job<'_>,
        attempt: &AttemptStarted,
    ) -> Result<Made, Abandoned> {
        let mut tally = Tally::new(job.call.attempts, self.bound);
        let open = Open { started: attempt.clone(), sent_ms: job.context.now_ms };
        let (ending, status, detail) = match self.attach(job, &mut tally, &open).await {
            Ok(output) => (Ending::Done(output), AttemptStatus::Answered, String::new()),
            Err(Classified { error: AttemptError::Fenced, .. }) => return Err(Abandoned::Fenced),
            Err(Classified { error, detail, .. }) => {
                let ending = match &error {
                    AttemptError::Failed(failure) => Ending::Failed(failure.clone()),
                    AttemptError::UnknownCall => Ending::Failed(Failure::new(
                        Kind::Cancelled,
                        "the call was cancelled before it began",
                    )),
                    _ => Ending::Unknown { started_ms: open.sent_ms },
                };
                (ending, error.status(), detail)
            }
        };
        job.end(&open, status, detail).await?;
        Ok(Made { ending, attempts: tally.made })
    }

    /// Asks the place that an attempt went to, or one with the same store, what became of it.
    pub(super) async fn attach(
        &self,
        job: Job<'_>,
        tally: &mut Tally,
        open: &Open,
    ) -> Result<Output, Classified> {
        tally.attaches += 1;
        let lost = |lost, detail: &str| {
            Err(Classified {
                error: AttemptError::Unanswered(lost),
                pushback: Pushback::None,
                detail: detail.to_owned(),
            })
        };
        let Some(instance) = place::of(&self.catalog.snapshot(), job, &open.started) else {
            return lost(Lost::Gone, "nobody is left who knows the call");
        };
        let Some(timeout) = job.deadline.left(Instant::now()) else {
            return lost(Lost::TimedOut, "no time is left to ask what became of it");
        };
        let sending = Sending::new(job, &open.started, &instance, InvokeMode::Attach);
        match trace::send(job, &open.started, sending.within(timeout)).await {
            // The question was not heard or not answered, which says nothing about the call.
            Err(classified) if !classified.error.tells_of_the_call() => {
                lost(Lost::Gone, &classified.detail)
            }
            answer => answer,
        }
    }

    /// Where outcomes are kept in a store, whoever starts next over it knows what became of the
    /// call: it is given a moment to come.
    pub(super) async fn wait_for_heir(&self, job: Job<'_>, open: &Open) {
        if !open.started.store.is_empty() {
            self.wait_for_instance(job, Some(open), None).await;
        }
    }
}
