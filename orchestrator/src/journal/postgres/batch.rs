//! Which appends of a batch fit onto what the journal has, and what each session's rows become.
//! Pure: nothing is read or written here.
//!
//! Left to others: the statement that writes it. Next: `append`.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::journal::blob::Blob;
use crate::journal::chain::{GENESIS, Hash};
use crate::journal::prepared::{Encoded, Prepared};
use crate::journal::row::StoredSession;
use crate::journal::{AppendError, Epoch, SessionRow};

/// What the journal has of a session.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// Nothing.
    Missing,
    /// Rows that cannot be trusted.
    Damaged,
    /// This.
    Stored(StoredSession),
}

/// What is known before a batch is planned.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// What the journal has, by session; one that is not here is missing.
    pub(super) sessions: HashMap<String, Known>,
    /// Ids of the appends that events came with, for those that may be repeated.
    pub(super) append_ids: HashMap<(String, u64), Uuid>,
}

/// A batch as it would be written.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// What happens to each append.
    pub(super) fates: Vec<Fate>,
    /// What changes, a session each.
    pub(super) changes: Vec<Change<'a>>,
}

/// What happens to an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing is to be written for it.
    Known(Result<u64, AppendError>),
    /// It is part of this change, and then the session's last event has this number.
    Part(usize, u64),
}

/// What becomes of a session.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// The session.
    pub(super) session: &'a str,
    /// Its rows now; none of a session that is opened.
    pub(super) before: Option<StoredSession>,
    /// Its row afterwards.
    pub(super) after: SessionRow,
    /// Link of its last event afterwards.
    pub(super) head: Hash,
    /// Its new events.
    pub(super) events: Vec<NewEvent<'a>>,
    /// Texts that they share with others.
    pub(super) blobs: Vec<&'a Blob>,
}

/// An event as it will be stored.
#[derive(Debug)]
pub(super) struct NewEvent<'a> {
    pub(super) seq: u64,
    pub(super) epoch: Epoch,
    pub(super) append_id: Uuid,
    pub(super) encoded: &'a Encoded,
    pub(super) previous: Hash,
    pub(super) link: Hash,
}

/// The events whose append must be known before `batch` is planned: those at which a repeat would
/// begin and end.
pub(super) fn repeats<'a>(
    batch: &[&'a Prepared],
    sessions: &HashMap<String, Known>,
) -> Vec<(&'a str, u64)> {
    let mut events = Vec::new();
    for append in batch {
        let Some(Known::Stored(stored)) = sessions.get(&append.session) else { continue };
        if let Some(last) = last_seq(append)
            && append.expected_seq <= stored.row.last_seq
        {
            events.push((append.session.as_str(), append.expected_seq));
            events.push((append.session.as_str(), last));
        }
    }
    events
}

/// Plans a batch. `claimed` are the epochs under which this process owns partitions; sessions in
/// `failed` have an append before this batch that was refused, which takes later ones along.
pub(super) fn plan<'a>(
    batch: &[&'a Prepared],
    before: &Before,
    claimed: impl Fn(u32) -> Option<Epoch>,
    failed: &mut HashSet<&'a str>,
) -> Plan<'a> {
    let mut plan = Plan::default();
    let mut at: HashMap<&str, usize> = HashMap::new();
    for append in batch {
        let session = append.session.as_str();
        let fate = if failed.contains(session) {
            Fate::Known(Err(AppendError::Conflict))
        } else if claimed(append.partition) != Some(append.epoch) {
            Fate::Known(Err(AppendError::Fenced))
        } else {
            let change = at.get(session).copied();
            fate(append, before, (change, &mut plan.changes))
        };
        match &fate {
            Fate::Known(Err(_)) => {
                failed.insert(session);
            }
            Fate::Known(Ok(_)) => {}
            Fate::Part(index, _) => {
                at.insert(session, *index);
            }
        }
        plan.fates.push(fate);
    }
    plan
}

fn fate<'a>(
    append: &'a Prepared,
    before: &Before,
    (change, changes): (Option<usize>, &mut Vec<Change<'a>>),
) -> Fate {
    let known = before.sessions.get(&append.session).unwrap_or(&Known::Missing);
    if let Some(index) = change
        && let Some(found) = changes.get_mut(index)
    {
        return match fits(append, &found.after) {
            Fit::Next => Fate::Part(index, found.add(append)),
            Fit::Elsewhere => Fate::Known(Err(elsewhere(append, &found.after))),
            Fit::Not => Fate::Known(repeated(append, known, before)),
        };
    }
    match known {
        Known::Damaged => Fate::Known(Err(AppendError::Conflict)),
        Known::Missing => match open(append) {
            Ok(row) => Fate::Part(changes.len(), push(changes, None, row, append)),
            Err(error) => Fate::Known(Err(error)),
        },
        Known::Stored(stored) => match fits(append, &stored.row) {
            Fit::Next => {
                let row = stored.row.clone();
                Fate::Part(changes.len(), push(changes, Some(stored.clone()), row, append))
            }
            Fit::Elsewhere => Fate::Known(Err(elsewhere(append, &stored.row))),
            Fit::Not => Fate::Known(repeated(append, known, before)),
        },
    }
}

enum Fit {
    Next,
    /// The session lies in another partition.
    Elsewhere,
    Not,
}

fn fits(append: &Prepared, row: &SessionRow) -> Fit {
    if row.partition != append.partition {
        Fit::Elsewhere
    } else if row.last_seq.wrapping_add(1) == append.expected_seq {
        Fit::Next
    } else {
        Fit::Not
    }
}

fn elsewhere(append: &Prepared, row: &SessionRow) -> AppendError {
    let (is, was) = (row.partition, append.partition);
    AppendError::Backend(format!("the session lies in partition {is}, not {was}"))
}

fn open(append: &Prepared) -> Result<SessionRow, AppendError> {
    if append.expected_seq != 1 {
        return Err(AppendError::Conflict);
    }
    append
        .opening_row()
        .ok_or_else(|| AppendError::Backend("the first event of a session must open it".to_owned()))
}

fn push<'a>(
    changes: &mut Vec<Change<'a>>,
    before: Option<StoredSession>,
    row: SessionRow,
    append: &'a Prepared,
) -> u64 {
    let head = before.as_ref().map_or(GENESIS, |stored| stored.head);
    let session = append.session.as_str();
    let (events, blobs) = (Vec::new(), Vec::new());
    let mut change = Change { session, before, after: row, head, events, blobs };
    let last_seq = change.add(append);
    changes.push(change);
    last_seq
}

impl<'a> Change<'a> {
    /// Adds an append that fits; gives the session's last sequence number after it.
    fn add(&mut self, append: &'a Prepared) -> u64 {
        let links = append.links(self.head);
        for ((seq, encoded), link) in (append.expected_seq..).zip(&append.events).zip(links) {
            self.events.push(NewEvent {
                seq,
                epoch: append.epoch,
                append_id: append.append_id,
                encoded,
                previous: self.head,
                link,
            });
            self.head = link;
        }
        self.blobs.extend(&append.blobs);
        self.after = append.after(self.after.clone());
        self.after.last_seq
    }
}

fn last_seq(append: &Prepared) -> Option<u64> {
    let count = append.events.len() as u64;
    (count > 0).then(|| append.expected_seq.wrapping_add(count).wrapping_sub(1))
}

/// An append that does not fit is either a repeat of one that is already in, or a conflict.
fn repeated(append: &Prepared, known: &Known, before: &Before) -> Result<u64, AppendError> {
    let id_at = |seq| before.append_ids.get(&(append.session.clone(), seq)).copied();
    match (known, last_seq(append)) {
        (Known::Stored(stored), Some(last))
            if last <= stored.row.last_seq
                && id_at(append.expected_seq) == Some(append.append_id)
                && id_at(last) == Some(append.append_id) =>
        {
            Ok(last)
        }
        _ => Err(AppendError::Conflict),
    }
}

#[cfg(test)]
mod tests;
