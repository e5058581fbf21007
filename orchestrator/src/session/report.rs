//! What running effects report to their actor while they run. Their channel is there as long as
//! something runs: a session that is idle needs none.

use tokio::sync::mpsc;

use crate::{
    call::{Progress, Record},
    model::Delta,
};

/// Reports that the actor may be behind.
const CAPACITY: usize = 256;

/// A report of a running effect.
#[derive(Debug)]
pub(super) enum Report {
    /// A fact to append.
    Record(Record),
    /// A sign of life of a call.
    Progress(Progress),
    /// A piece of a reply.
    Delta { request: u32, delta: Delta },
}

/// Both ends of the channel.
#[derive(Debug, Default)]
pub(super) struct Reports {
    channel: Option<(mpsc::Sender<Report>, mpsc::Receiver<Report>)>,
}

impl Reports {
    /// Where an effect that is to be started reports to.
    pub(super) fn sender(&mut self) -> mpsc::Sender<Report> {
        self.channel.get_or_insert_with(|| mpsc::channel(CAPACITY)).0.clone()
    }

    /// The next report; pending for ever while nothing runs.
    pub(super) async fn next(&mut self) -> Report {
        if let Some((_, receiver)) = &mut self.channel
            && let Some(report) = receiver.recv().await
        {
            return report;
        }
        std::future::pending().await
    }

    /// The next report, if it is there already.
    pub(super) fn now(&mut self) -> Option<Report> {
        self.channel.as_mut()?.1.try_recv().ok()
    }

    /// True if nothing was reported that the actor has not seen.
    pub(super) fn is_empty(&self) -> bool {
        self.channel.as_ref().is_none_or(|(_, receiver)| receiver.is_empty())
    }

    /// Gives the channel up, once nothing runs.
    pub(super) fn rest(&mut self) {
        if self.is_empty() {
            self.channel = None;
        }
    }
}
