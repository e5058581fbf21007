//! An append, encoded where it was submitted, so that the one who writes for all sessions need not.
//!
//! Left to others: whether it may be written. Next: `queue`.

use prost::Message as _;
use uuid::Uuid;

use crate::run::event::{Event, SessionOpened};

use super::blob::{self, Blob};
use super::chain::{self, Hash};
use super::convert;
use super::{Append, AppendError, Epoch, SessionRow, SessionState};

/// No session gets this far.
const LAST_SEQ: u64 = 1 << 48;

/// An append, encoded where it was submitted so that the writer need not.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) session: String,
    pub(super) partition: u32,
    pub(super) epoch: Epoch,
    pub(super) append_id: Uuid,
    pub(super) expected_seq: u64,
    pub(super) events: Vec<Encoded>,
    pub(super) blobs: Vec<Blob>,
    /// What the first event says of a new session.
    pub(super) opened: Option<Box<SessionOpened>>,
    pub(super) state: SessionState,
    pub(super) wake_at_ms: Option<i64>,
}

/// An event as it is stored.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) kind: &'static str,
    pub(super) wall_ms: i64,
    pub(super) payload: Vec<u8>,
}

impl Prepared {
    /// Encodes an append.
    ///
    /// # Errors
    /// `Backend` if its events are not numbered from `expected_seq` on, `Conflict` where no session
    /// can be.
    pub(super) fn new(append: Append) -> Result<Self, AppendError> {
        if append.expected_seq > LAST_SEQ {
            return Err(AppendError::Conflict);
        }
        let mut events = Vec::with_capacity(append.events.len());
        let mut blobs = Vec::new();
        let mut opened = None;
        for (seq, recorded) in (append.expected_seq..).zip(append.events) {
            if recorded.seq != seq || seq == 0 {
                let found = recorded.seq;
                return Err(AppendError::Backend(format!("event {found} stands at {seq}")));
            }
            if let (1, Event::SessionOpened(event)) = (seq, &recorded.event) {
                opened = Some(Box::new(event.clone()));
            }
            let (kind, wall_ms) = (recorded.event.kind(), recorded.wall_ms);
            let mut wire = convert::to_wire(recorded);
            blobs.extend(blob::detach(&mut wire));
            events.push(Encoded { kind, wall_ms, payload: wire.encode_to_vec() });
        }
        Ok(Self {
            session: append.session.to_string(),
            partition: append.partition,
            epoch: append.epoch,
            append_id: append.append_id,
            expected_seq: append.expected_seq,
            events,
            blobs,
            opened,
            state: append.state,
            wake_at_ms: append.wake_at_ms,
        })
    }

    /// The same as if a newer version had written its last event: field 99, which nobody knows yet.
    #[cfg(test)]
    pub(super) fn of_the_future(mut self) -> Self {
        if let Some(last) = self.events.last_mut() {
            last.kind = "history.compacted";
            last.payload = vec![0x9a, 0x06, 0x02, 0x08, 0x01];
        }
        self
    }

    /// Bytes that it keeps in memory, roughly.
    pub(super) fn size(&self) -> usize {
        self.events.iter().map(|event| event.payload.len() + 128).sum::<usize>() + 256
    }

    /// The row of the session that it opens, before its events are counted; `None` if its first
    /// event opens none.
    pub(super) fn opening_row(&self) -> Option<SessionRow> {
        let (opened, first) = (self.opened.as_ref()?, self.events.first()?);
        Some(SessionRow {
            id: self.session.as_str().into(),
            partition: self.partition,
            team: opened.team.clone(),
            kind: opened.kind,
            agent: opened.agent.clone(),
            title: opened.title.clone(),
            state: self.state,
            wake_at_ms: self.wake_at_ms,
            last_seq: 0,
            opened_ms: first.wall_ms,
            updated_ms: first.wall_ms,
        })
    }

    /// The session's row after this append.
    pub(super) fn after(&self, mut row: SessionRow) -> SessionRow {
        row.last_seq = self.expected_seq + self.events.len() as u64 - 1;
        row.state = self.state;
        row.wake_at_ms = self.wake_at_ms;
        if let Some(last) = self.events.last() {
            row.updated_ms = last.wall_ms;
        }
        row
    }

    /// The links of its events to what comes before them.
    pub(super) fn links(&self, head: Hash) -> Vec<Hash> {
        let mut previous = head;
        let mut links = Vec::with_capacity(self.events.len());
        for (seq, event) in (self.expected_seq..).zip(&self.events) {
            previous = chain::link(
                &previous,
                &chain::Row {
                    session: &self.session,
                    seq,
                    epoch: self.epoch,
                    append_id: self.append_id,
                    kind: event.kind,
                    schema: convert::SCHEMA,
                    wall_ms: event.wall_ms,
                    payload: &event.payload,
                },
            );
            links.push(previous);
        }
        links
    }
}
