//! \[7\] The attempts of a call: pick, record, send, decide. The only place that records attempts and
//! sends calls.
//!
//! Decisions are made elsewhere, by pure functions: `pick`, `retry`, `eject`. What a lost answer
//! came to is asked first (attach) and never guessed. The other end is \[8\],
//! `tool-services/kit/src/server.rs`; how an ending is worded is next: `settle`.

use std::sync::Arc;

use callboard_proto::tool::InvokeMode;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::deadline::Deadline;
use super::failure::{Failure, Kind};
use super::outcome::{Ending, Output};
use super::record::{Abandoned, Progress, Recorder};
use super::retry::{self, AttemptError, Budgets, Decision, decide};
use super::{CallContext, Runnable};
use crate::catalog::{Catalog, Instance, Snapshot};
use crate::crash::crash_point;
use crate::run::event::{AttemptEnded, AttemptStarted, AttemptStatus, Class, Event};
use crate::session::wall_ms;

mod attach;
pub(super) mod chooser;
pub(super) mod classify;
pub(super) mod place;
mod send;
mod tally;
mod trace;
pub(super) mod wire;

use self::chooser::Chooser;
use self::classify::{Classified, Pushback};
use self::send::Sending;
use self::tally::{Open, Tally};

/// What attempts share, over all calls.
pub(super) struct Attempts {
    pub(super) catalog: Arc<Catalog>,
    pub(super) chooser: Chooser,
    budgets: Budgets,
    bound: u32,
}

/// A call whose attempts are made.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) call: &'a Runnable,
    pub(super) context: &'a CallContext,
    pub(super) deadline: Deadline,
    pub(super) recorder: &'a Recorder,
    pub(super) progress: &'a mpsc::Sender<Progress>,
}

/// How the attempts of a call went.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) ending: Ending,
    /// Attempts, those of earlier owners included.
    pub(super) attempts: u32,
}

/// What to do next.
enum Step {
    /// Start the call; `only` where its outcome would be known had it been started before.
    Start { only: Option<Open> },
    /// Ask what became of an attempt.
    Attach(Open),
    /// Nothing more.
    End(Ending),
}

/// How starting an attempt went.
enum Started {
    /// It was recorded and, as far as there was time, sent.
    Sent(Open, Result<Output, Classified>),
    /// There was nowhere, or no time, to send it.
    Nowhere(AttemptError),
}

impl Attempts {
    pub(super) fn new(catalog: Arc<Catalog>, max_attempts: u32, seed: u64) -> Self {
        Self {
            catalog,
            chooser: Chooser::new(seed),
            budgets: Budgets::default(),
            bound: max_attempts.max(1),
        }
    }

    /// Makes attempts until the call has an ending.
    pub(super) async fn run(&self, job: Job<'_>) -> Result<Made, Abandoned> {
        let planned = &job.call.planned;
        self.budgets.earn(&job.context.team, &planned.service, Instant::now());
        let mut tally = Tally::new(job.call.attempts, self.bound);
        let mut step = match &job.call.resume {
            Some(started) => {
                let open = Open { started: started.clone(), sent_ms: job.context.now_ms };
                tally.unclear = Some(open.clone());
                Step::Attach(open)
            }
            None => Step::Start { only: None },
        };
        loop {
            let (open, answer) = match step {
                Step::Start { only } => match self.start(job, &mut tally, only).await? {
                    Started::Sent(open, answer) => (open, answer),
                    Started::Nowhere(error) => {
                        let ending = tally.give_up(&error, planned.class);
                        return Ok(Made { ending, attempts: tally.made });
                    }
                },
                Step::Attach(open) => {
                    let answer = self.attach(job, &mut tally, &open).await;
                    (open, answer)
                }
                Step::End(ending) => return Ok(Made { ending, attempts: tally.made }),
            };
            step = match answer {
                Ok(output) => {
                    job.end(&open, AttemptStatus::Answered, String::new()).await?;
                    Step::End(Ending::Done(output))
                }
                Err(classified) => self.next(job, &mut tally, open, classified).await?,
            };
        }
    }

    /// Picks an instance, records the attempt, sends it.
    async fn start(
        &self,
        job: Job<'_>,
        tally: &mut Tally,
        only: Option<Open>,
    ) -> Result<Started, Abandoned> {
        let avoid = tally.avoid.take();
        let is_hopeless = match tally.kept_from() {
            Some(dead) if only.is_none() => {
                !self.wait_for_another(job, dead, avoid.as_deref()).await
            }
            Some(_) | None => false,
        };
        let found = self.wait_for_instance(job, only.as_ref(), avoid.as_deref()).await;
        let Some(instance) = found else {
            let error = place::why_none(&self.catalog.snapshot(), job);
            return Ok(Started::Nowhere(error));
        };
        let Some(timeout) = job.deadline.left(Instant::now()) else {
            let error = AttemptError::Failed(out_of_time());
            return Ok(Started::Nowhere(if is_hopeless { AttemptError::NotSent } else { error }));
        };
        tally.made += 1;
        let open = Open {
            started: AttemptStarted {
                call_id: job.call.planned.call_id.clone(),
                attempt: tally.made,
                instance: instance.id.to_string(),
                incarnation: instance.incarnation.clone(),
                store: instance.store.clone(),
                timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            },
            sent_ms: wall_ms(),
        };
        let event = Event::AttemptStarted(open.started.clone());
        crash_point!("attempt.before_record");
        // Reading twice harms nobody, unless somebody else may own the session by now.
        if job.call.planned.class == Class::Read && self.catalog.is_confirmed() {
            job.recorder.record(event).await?;
        } else {
            job.recorder.record_durably(event).await?;
        }
        crash_point!("attempt.before_send");
        // Waiting for the journal took time, too.
        let answer = match job.deadline.left(Instant::now()) {
            Some(timeout) => {
                let sending = Sending::new(job, &open.started, &instance, InvokeMode::Start);
                trace::send(job, &open.started, sending.within(timeout)).await
            }
            None => Err(Classified {
                error: AttemptError::NotSent,
                pushback: Pushback::Never,
                detail: "the time was over before it was sent".to_owned(),
            }),
        };
        Ok(Started::Sent(open, answer))
    }

    /// After an attempt that gave no success: what the table says, within the bounds of the call.
    async fn next(
        &self,
        job: Job<'_>,
        tally: &mut Tally,
        open: Open,
        classified: Classified,
    ) -> Result<Step, Abandoned> {
        let is_unreachable = classified.is_unreachable();
        tally.unreachable = is_unreachable.then(|| open.started.incarnation.clone());
        let Classified { error, pushback, detail } = classified;
        let (planned, now) = (&job.call.planned, Instant::now());
        if error.status() == AttemptStatus::Unanswered {
            tally.unclear = Some(open.clone());
        }
        if error.status() == AttemptStatus::Unanswered && planned.class != Class::Read {
            self.wait_for_heir(job, &open).await;
        }
        let reach = place::reach(&self.catalog.snapshot(), job, &open.started);
        let decision = tally.bounded(decide(&error, planned.class, reach), planned.class);
        let asked_for = match (&error, pushback) {
            (_, Pushback::After(wait)) => Some(wait),
            (AttemptError::Failed(failure), _) => failure.retry_after,
            _ => None,
        };
        let draw = self.chooser.draw();
        let at = now + retry::backoff(tally.rounds(decision.as_ref()), draw, asked_for);
        let is_refused = match decision {
            Some(Decision::Retry | Decision::RetryOnce | Decision::RetryThere) => {
                pushback == Pushback::Never
                    || job.deadline.left(at).is_none()
                    || !self.budgets.spend(&job.context.team, &planned.service, now)
            }
            Some(Decision::Attach) => job.deadline.left(at).is_none(),
            Some(Decision::Settle(_) | Decision::Stop) | None => false,
        };
        let step = match decision.filter(|_| !is_refused) {
            Some(Decision::Stop) => return Err(Abandoned::Fenced),
            Some(Decision::Attach) => {
                sleep_until(at).await;
                return Ok(Step::Attach(open));
            }
            Some(Decision::Settle(settlement)) => {
                Step::End(tally.settle(settlement, planned.class, &open))
            }
            Some(Decision::RetryThere) => Step::Start { only: Some(open.clone()) },
            Some(Decision::Retry | Decision::RetryOnce) => {
                tally.avoid = Some(open.started.instance.clone());
                Step::Start { only: tally.bound_to(planned.class) }
            }
            None => Step::End(tally.give_up(&error, planned.class)),
        };
        job.end(&open, error.status(), detail).await?;
        if matches!(step, Step::Start { .. }) {
            sleep_until(at).await;
        }
        Ok(step)
    }

    /// Waits a moment for an instance other than `dead`, which is gone, though discovery has not
    /// said so yet, or is coming back. False if there is none.
    async fn wait_for_another(&self, job: Job<'_>, dead: &str, avoid: Option<&str>) -> bool {
        let find = |snapshot: &Snapshot| {
            let tool = place::tool(snapshot, job);
            let picked = tool.and_then(|tool| self.chooser.pick(tool, job.context, avoid));
            let is_over = picked.is_some_and(|one| one.incarnation != dead);
            (is_over || place::is_another(snapshot, job)).then_some(())
        };
        let call = &job.call.planned.call_id;
        self.catalog.wait_for(call, job.deadline.at(), find).await.is_some()
    }

    /// The instance for an attempt; waits a moment for one where none can take it now.
    async fn wait_for_instance(
        &self,
        job: Job<'_>,
        only: Option<&Open>,
        avoid: Option<&str>,
    ) -> Option<Arc<Instance>> {
        let find = |snapshot: &Snapshot| {
            let found = match only {
                Some(open) => place::of(snapshot, job, &open.started),
                None => place::tool(snapshot, job)
                    .and_then(|tool| self.chooser.pick(tool, job.context, avoid)),
            };
            let is_over = found.is_some() || (only.is_none() && place::is_another(snapshot, job));
            is_over.then_some(found)
        };
        let call = &job.call.planned.call_id;
        self.catalog.wait_for(call, job.deadline.at(), find).await.flatten()
    }
}

impl Job<'_> {
    /// Records the end of an attempt.
    async fn end(
        &self,
        open: &Open,
        status: AttemptStatus,
        detail: String,
    ) -> Result<(), Abandoned> {
        let ended = AttemptEnded {
            call_id: open.started.call_id.clone(),
            attempt: open.started.attempt,
            status,
            detail,
        };
        self.recorder.record(Event::AttemptEnded(ended)).await
    }
}

fn out_of_time() -> Failure {
    Failure::new(Kind::Timeout, "there was no time left to make the call")
}

#[cfg(test)]
mod tests;
