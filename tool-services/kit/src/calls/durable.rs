//! A call of a service with a store, from claim to outcome. The claim is durable before any work;
//! what an earlier process left in the middle is looked into by the tool itself, and is started
//! again only if the tool proves that nothing was changed. Next: `perform.rs`.

use std::{sync::Arc, time::Duration};

use callboard_proto::tool as wire;
use tokio::time::{Instant, sleep};
use tracing::{error, info, warn};

use super::{
    Admission, Ends, Mode, Refusal, Running, Shared, Start,
    perform::{Ended, Work, perform, recover},
};
use crate::{
    Intent, Intents, Recovered,
    call::Call,
    fence::{Fenced, Owner},
    outcomes::Key,
    store::{Claim, Found, Store},
};

/// Between two looks at a call that another process works on. The store tells nobody of changes.
const LOOK: Duration = Duration::from_millis(50);
/// How long it is looked at for a caller that gives no deadline.
const LOOKS: Duration = Duration::from_secs(30);

/// A call that is claimed in this process, and now in the store.
pub(super) struct Claimed {
    pub(super) shared: Arc<Shared>,
    pub(super) store: Store,
    pub(super) key: Arc<Key>,
    pub(super) ends: Ends,
    pub(super) running: Arc<Running>,
}

impl Claimed {
    /// Finds out what is known of the call, and works on it if it may be started.
    pub(super) async fn run(self, owner: Owner, mode: Mode, start: Option<Box<Start>>) {
        let may_start = mode == Mode::Start;
        let is_stated = may_start || mode == Mode::Attach { has_arguments: true };
        let claim = Claim {
            owner: owner.clone(),
            key: Arc::clone(&self.key),
            digest: is_stated.then_some(self.running.digest),
            may_start,
        };
        let until = start.as_ref().map_or_else(|| Instant::now() + LOOKS, |start| start.deadline);
        match self.claim(claim, until).await {
            Ok(Found::Nothing) if may_start => self.begin(start).await,
            Ok(Found::Nothing) => self.refuse(Refusal::UnknownCall),
            Ok(Found::Interrupted(intent)) => self.resume(mode, start, intent).await,
            Ok(Found::Settled(outcome)) => self.answer(outcome),
            Ok(Found::Gone) => self.refuse(Refusal::OutcomeGone),
            Ok(Found::Elsewhere) => self.refuse(Refusal::Busy),
            Ok(Found::OtherArguments) => self.refuse(Refusal::OtherArguments),
            Ok(Found::Stale(seen)) => {
                // It is higher than what was let in.
                let _ = self.shared.ledger().fence.pass(&Owner { epoch: seen, ..owner });
                self.refuse(Refusal::Fenced(Fenced::Stale { seen }));
            }
            Ok(Found::Full) => self.refuse(Refusal::Full),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Claims the call. While another process works on it, waits for what becomes of it there.
    async fn claim(&self, claim: Claim, until: Instant) -> Result<Found, Refusal> {
        loop {
            let found = self.store.claim(claim.clone()).await.map_err(Refusal::Store)?;
            if found != Found::Elsewhere || Instant::now() >= until {
                return Ok(found);
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                () = self.running.cancel.cancelled() => return Ok(found),
                () = self.shared.stop.cancelled() => return Ok(found),
            }
        }
    }

    /// Works on a call that is claimed.
    async fn begin(self, start: Option<Box<Start>>) {
        let Some(start) = start else { return self.refuse(Refusal::UnknownCall) };
        self.ends.admission.send_replace(Admission::Given);
        let Start { tool, arguments, facts, deadline } = *start;
        let intents = Intents::new(self.store.clone(), Arc::clone(&self.key), &facts.tool);
        let call = Call::telling(facts, deadline, self.running.glimpses.clone());
        let work = Work::new(tool, arguments, call.noting(intents));
        let cancel = self.running.cancel.clone();
        let ended = perform(work, &self.shared.tasks, &cancel, &self.shared.stop).await;
        self.settle(ended).await;
    }

    /// Finds out what became of a call whose process died in the middle.
    async fn resume(self, mode: Mode, start: Option<Box<Start>>, intent: Option<Intent>) {
        let Some(start) = start else { return self.refuse(Refusal::OutcomeGone) };
        let intents = Intents::new(self.store.clone(), Arc::clone(&self.key), &start.facts.tool);
        let call = Call::new(start.facts.clone(), start.deadline).noting(intents);
        let call_id = call.id().to_owned();
        let tasks = &self.shared.tasks;
        let is_reversible = start.tool.about().behaviour.reversible && intent.is_some();
        let recovered = recover(Arc::clone(&start.tool), intent, call, tasks).await;
        info!(call_id, tool = start.facts.tool, ?recovered, "a call had been interrupted");
        match recovered {
            Recovered::Done(output) => {
                let result = super::perform::told(output, is_reversible, &call_id);
                let outcome = wire::Outcome { call_id, result: Some(result), duration_us: 0 };
                self.settle(Ended { outcome, started: true }).await;
            }
            Recovered::Untouched if mode == Mode::Start => self.begin(Some(start)).await,
            Recovered::Untouched => {
                // Left as it is, it would be looked into again, with the same result.
                let released = self.store.release(&self.key).await;
                released.unwrap_or_else(|fault| warn!(%fault, "a claim was not released"));
                self.refuse(Refusal::UnknownCall);
            }
            // Repeating it changes nothing more, whatever was done before.
            Recovered::Unknown
                if mode == Mode::Start && start.tool.about().behaviour.idempotent =>
            {
                self.begin(Some(start)).await;
            }
            Recovered::Unknown => self.refuse(Refusal::OutcomeGone),
        }
    }

    /// Makes the outcome durable, then tells it.
    async fn settle(self, ended: Ended) {
        if !ended.started {
            let released = self.store.release(&self.key).await;
            released.unwrap_or_else(|fault| warn!(%fault, "a claim was not released"));
            self.answer(Arc::new(ended.outcome));
            return;
        }
        let outcome = Arc::new(ended.outcome);
        match self.store.settle(&self.key, Arc::clone(&outcome)).await {
            Ok(()) => self.answer(outcome),
            Err(fault) => {
                // The effect was had and must be told; this process remembers it.
                error!(call_id = self.key.call_id, %fault, "an outcome is held in memory only");
                let outcome = (*outcome).clone();
                let outcome = self.shared.settle(&self.key, Ended { outcome, started: true });
                self.ends.settle.send_replace(Some(outcome));
                self.ends.admission.send_replace(Admission::Given);
            }
        }
    }

    /// Tells an outcome that the store holds, or that nobody needs to remember.
    fn answer(self, outcome: Arc<wire::Outcome>) {
        self.shared.ledger().outcomes.release(&self.key);
        self.ends.settle.send_replace(Some(outcome));
        self.ends.admission.send_replace(Admission::Given);
    }

    fn refuse(self, refusal: Refusal) {
        self.shared.ledger().outcomes.release(&self.key);
        self.ends.admission.send_replace(Admission::Refused(refusal));
    }
}
