//! What is held of a call at work: how to stop it, and where it tells what it does, whether it was
//! let in, and how it ended. A stream's view of it is `subscription.rs`.

use std::sync::Arc;

use callboard_proto::tool as wire;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::Refusal;
use crate::{call::Glimpse, outcomes::Digest};

/// A call at work.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) digest: Digest,
    /// False for a call that is only looked for, by somebody who did not say what it is.
    pub(super) is_stated: bool,
    /// Whether its tool can change something.
    pub(crate) changes: bool,
    pub(super) cancel: CancellationToken,
    pub(super) glimpses: broadcast::Sender<Glimpse>,
    pub(super) admission: watch::Receiver<Admission>,
    pub(super) settled: watch::Receiver<Option<Arc<wire::Outcome>>>,
}

/// Whether a call was let in; the store may have to be asked first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Asked,
    Given,
    Refused(Refusal),
}

/// The ends of a call's channels that its task holds.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) admission: watch::Sender<Admission>,
    pub(super) settle: watch::Sender<Option<Arc<wire::Outcome>>>,
}

impl Running {
    /// Waits until the call was let in.
    pub(super) async fn admitted(&self) -> Result<(), Refusal> {
        let mut admission = self.admission.clone();
        match admission.wait_for(|admission| *admission != Admission::Asked).await.as_deref() {
            Ok(Admission::Refused(refusal)) => Err(refusal.clone()),
            Ok(Admission::Given | Admission::Asked) => Ok(()),
            // The task is gone, by a fault of ours: nothing is known.
            Err(_) => Err(Refusal::OutcomeGone),
        }
    }

    /// A call that nobody works on or listens to.
    #[cfg(test)]
    pub(crate) fn unheard(digest: Digest, changes: bool) -> Arc<Self> {
        let (glimpses, settled) = (broadcast::Sender::new(1), watch::channel(None).1);
        let admission = watch::channel(Admission::Given).1;
        let cancel = CancellationToken::new();
        Arc::new(Self { digest, is_stated: true, changes, cancel, glimpses, admission, settled })
    }
}
