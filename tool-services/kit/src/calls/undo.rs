//! Takes back one call at a time: what is kept of it, whether this wish was granted before, then
//! the tool's own way back, in a task that a lost caller does not end.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tokio::time::timeout_at;
use tracing::{Instrument as _, Span, error};

use super::{Calls, Refusal, Shared, panic_text};
use crate::{
    Rollback, Undo, UndoMode,
    call::Call,
    fence::Owner,
    outcomes::{Key, Known},
    served::Served,
    store::{Began, Fault, Wish},
};

/// What the kit's own tokens begin with; the rest is the call's id.
const TOKEN: &str = "kept:";

/// A rollback as it was asked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) owner: Owner,
    pub(crate) incarnation: String,
    pub(crate) key: Key,
    pub(crate) tool: Arc<dyn Served>,
    pub(crate) call: Call,
    pub(crate) token: String,
    pub(crate) id: String,
    pub(crate) dry_run: bool,
    pub(crate) mode: UndoMode,
    /// Calls that a dry run takes for taken back.
    pub(crate) assumed: Vec<Key>,
}

/// Why there is no answer to a rollback.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undoing {
    /// Nothing was done.
    Refused(Refusal),
    /// It was stopped in the middle; asked again, it goes on.
    TooLong,
    /// A fault inside the tool.
    Crashed,
}

/// The right to take back one call; dropping it gives the right back.
struct Turn {
    shared: Arc<Shared>,
    key: Key,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.ledger().undoing.remove(&self.key);
    }
}

/// The token of a call of which an intent was kept.
pub(super) fn token(call_id: &str) -> String {
    format!("{TOKEN}{call_id}")
}

impl Calls {
    /// Takes a call back, under the same rules as a call that starts.
    pub(crate) async fn undo(&self, wanted: Wanted) -> Result<Rollback, Undoing> {
        let shared = &self.shared;
        shared.admit(&wanted.owner, &wanted.incarnation).await.map_err(Undoing::Refused)?;
        let turn = self.turn(&wanted.owner, &wanted.key).map_err(Undoing::Refused)?;
        let work = async move {
            let ended = turn.work(wanted).await;
            drop(turn);
            ended
        };
        let task = shared.tasks.spawn(work.instrument(Span::current()));
        task.await.unwrap_or_else(|fault| {
            error!(%fault, "a rollback failed inside");
            Err(Undoing::Crashed)
        })
    }

    fn turn(&self, owner: &Owner, key: &Key) -> Result<Turn, Refusal> {
        let mut ledger = self.shared.ledger();
        ledger.fence.pass(owner).map_err(Refusal::Fenced)?;
        if ledger.draining {
            return Err(Refusal::Draining);
        }
        let is_running = matches!(ledger.outcomes.find(key), Some(Known::Running(_)));
        if is_running || !ledger.undoing.insert(key.clone()) {
            return Err(Refusal::Busy);
        }
        Ok(Turn { shared: Arc::clone(&self.shared), key: key.clone() })
    }
}

impl Turn {
    async fn work(&self, wanted: Wanted) -> Result<Rollback, Undoing> {
        let Wanted { tool, call, token, id, dry_run, mode, assumed, .. } = wanted;
        let mut undo = Undo { token, dry_run, mode, intent: None, assumed: Vec::new() };
        let wish = Wish {
            key: Arc::new(self.key.clone()),
            id,
            dry_run,
            takes_back: mode != UndoMode::Beside,
        };
        let store = self.shared.store.as_ref();
        let began = match store {
            Some(store) => store.begin_undo(wish.clone()).await.map_err(refused)?,
            None => Began::Nothing,
        };
        match began {
            Began::Ready(intent) => undo.intent = Some(intent),
            Began::Answered(answer) => return Ok(Rollback::Undone(answer)),
            Began::TakenBack(answer) => {
                return Ok(Rollback::Undone(format!("It was taken back already: {answer}")));
            }
            Began::Elsewhere => return Err(Undoing::Refused(Refusal::Busy)),
            Began::Nothing if undo.token.is_empty() => {
                return Ok(Rollback::NotReversible("There is nothing to take back.".to_owned()));
            }
            Began::Nothing if undo.token.starts_with(TOKEN) => {
                return Ok(Rollback::NotReversible(
                    "What it takes to go back is no longer kept: such records are dropped when \
                     they are old, or when there are too many."
                        .to_owned(),
                ));
            }
            // The tool keeps its own.
            Began::Nothing => {}
        }
        if let Some(store) = store.filter(|_| dry_run && !assumed.is_empty()) {
            undo.assumed = store.facts(assumed).await.map_err(refused)?;
        }
        let is_kept = undo.intent.is_some();
        let ended = ask(tool.as_ref(), &undo, &call).await;
        let Some(store) = store.filter(|_| is_kept && !dry_run) else { return ended };
        match &ended {
            Ok(Rollback::Undone(text)) => {
                let recorded = store.end_undo(wish, Some(text.clone())).await;
                // Asked again, the tool finds that it is done.
                recorded.unwrap_or_else(|fault| error!(%fault, "a rollback is not recorded"));
            }
            Ok(Rollback::Conflict(_) | Rollback::NotReversible(_)) => {
                let recorded = store.end_undo(wish, None).await;
                recorded.unwrap_or_else(|fault| error!(%fault, "a rollback is not recorded"));
            }
            // It may be done in part: the mark stays, and the next wish goes on.
            Err(_) => {}
        }
        ended
    }
}

async fn ask(tool: &dyn Served, undo: &Undo, call: &Call) -> Result<Rollback, Undoing> {
    let asked = AssertUnwindSafe(tool.rollback(undo, call)).catch_unwind();
    match timeout_at(call.deadline, asked).await {
        Ok(Ok(rollback)) => Ok(rollback),
        Ok(Err(payload)) => {
            let fault = panic_text(payload.as_ref());
            error!(call_id = call.id(), tool = call.tool(), fault, "a rollback failed inside");
            Err(Undoing::Crashed)
        }
        Err(_) => {
            call.cancellation().cancel();
            Err(Undoing::TooLong)
        }
    }
}

fn refused(fault: Fault) -> Undoing {
    Undoing::Refused(Refusal::Store(fault))
}
