//! What running effects report to their actor while they run. Their channels are there as long as
//! something runs: a session that is idle needs none.

use std::task::{Context, Poll};

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

/// Both ends of the channels: one for facts, which their effects hand over themselves, one for what
/// is only shown.
#[derive(Debug, Default)]
pub(super) struct Reports {
    records: Option<Ends<Record>>,
    shown: Option<Ends<Report>>,
}

type Ends<T> = (mpsc::Sender<T>, mpsc::Receiver<T>);

impl Reports {
    /// Where an effect that is to be started hands its facts over.
    pub(super) fn records(&mut self) -> mpsc::Sender<Record> {
        self.records.get_or_insert_with(|| mpsc::channel(CAPACITY)).0.clone()
    }

    /// Where it shows what it does.
    pub(super) fn shown(&mut self) -> mpsc::Sender<Report> {
        self.shown.get_or_insert_with(|| mpsc::channel(CAPACITY)).0.clone()
    }

    /// The next report. Only what is shown wakes the actor: facts come while it runs.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Report> {
        if let Some(record) = self.record() {
            return Poll::Ready(record);
        }
        match self.shown.as_mut().map(|(_, receiver)| receiver.poll_recv(context)) {
            Some(Poll::Ready(Some(report))) => Poll::Ready(report),
            Some(Poll::Ready(None) | Poll::Pending) | None => Poll::Pending,
        }
    }

    /// The next fact, if there is one.
    pub(super) fn record(&mut self) -> Option<Report> {
        self.records.as_mut()?.1.try_recv().ok().map(Report::Record)
    }

    /// The next report, if it is there already.
    pub(super) fn now(&mut self) -> Option<Report> {
        self.record().or_else(|| self.shown.as_mut()?.1.try_recv().ok())
    }

    /// True if nothing was reported that the actor has not seen.
    pub(super) fn is_empty(&self) -> bool {
        self.records.as_ref().is_none_or(|(_, receiver)| receiver.is_empty())
            && self.shown.as_ref().is_none_or(|(_, receiver)| receiver.is_empty())
    }

    /// Gives the channels up, once nothing runs.
    pub(super) fn rest(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }
}
