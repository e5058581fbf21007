//! Commits a part of a batch: asks for what the plan needs to know, has it planned and written, and
//! keeps what is known now.
//!
//! Left to others: a server that does not answer. Next: `claim`.

use std::collections::HashSet;

use crate::journal::fault::Fault;
use crate::journal::prepared::Prepared;
use crate::journal::row::StoredSession;
use crate::journal::{AppendError, Epoch};

use super::append::{self, Done, Own};
use super::batch::{self, Before, Change, Fate, Plan};
use super::upkeep::not_connected;
use super::writer::Writer;

/// How often a session is planned anew whose rows were not as they were thought to be.
const ROUNDS: usize = 3;

impl Writer {
    /// Writes a part of a batch; sessions that turn out to be elsewhere are planned anew.
    pub(super) async fn write<'a>(
        &mut self,
        part: &[&'a Prepared],
        failed: &mut HashSet<&'a str>,
    ) -> Result<Vec<Result<u64, AppendError>>, Fault> {
        let mut results: Vec<Option<Result<u64, AppendError>>> = vec![None; part.len()];
        for round in 0..ROUNDS {
            let open: Vec<usize> =
                (0..part.len()).filter(|index| results.get(*index) == Some(&None)).collect();
            let appends: Vec<&'a Prepared> =
                open.iter().filter_map(|index| part.get(*index).copied()).collect();
            if appends.is_empty() {
                break;
            }
            let before = self.before(&appends, round > 0).await?;
            let claimed = |partition| self.epoch(partition);
            let plan = batch::plan(&appends, &before, claimed, failed);
            let fates = self.carry_out(&plan, failed).await?;
            for (index, fate) in open.into_iter().zip(fates) {
                if let Some(result) = results.get_mut(index) {
                    *result = fate;
                }
            }
        }
        let raced = |(append, result): (&&'a Prepared, Option<_>)| {
            result.unwrap_or_else(|| {
                failed.insert(append.session.as_str());
                Err(AppendError::Conflict)
            })
        };
        Ok(part.iter().zip(results).map(raced).collect())
    }

    fn epoch(&self, partition: u32) -> Option<Epoch> {
        self.claimed.get(&partition).map(|claimed| claimed.epoch)
    }

    /// What the plan needs to know. Sessions that seem to be new are not asked for at first.
    async fn before(&self, appends: &[&Prepared], is_again: bool) -> Result<Before, Fault> {
        let ready = self.ready.as_ref().ok_or_else(not_connected)?;
        let client = &ready.link.client;
        let mut before = Before::default();
        let mut wanted = HashSet::new();
        for append in appends {
            let session = append.session.as_str();
            match self.head(session) {
                Some(known) => {
                    before.sessions.insert(session.to_owned(), known);
                }
                None if is_again || append.expected_seq != 1 => {
                    wanted.insert(session);
                }
                None => {}
            }
        }
        if !wanted.is_empty() {
            let wanted: Vec<&str> = wanted.into_iter().collect();
            before.sessions.extend(append::known(client, &wanted).await?);
        }
        let repeats = batch::repeats(appends, &before.sessions);
        before.append_ids = append::append_ids(client, &repeats).await?;
        Ok(before)
    }

    /// Writes what is planned; `None` for appends of which nothing is known yet.
    async fn carry_out<'a>(
        &mut self,
        plan: &Plan<'a>,
        failed: &mut HashSet<&'a str>,
    ) -> Result<Vec<Option<Result<u64, AppendError>>>, Fault> {
        let ready = self.ready.as_ref().ok_or_else(not_connected)?;
        let own = self.own(&plan.changes);
        let done = if plan.changes.is_empty() {
            Done::default()
        } else {
            append::write(&ready.link.client, &ready.append, &own, &plan.changes).await?
        };
        if !done.sessions.is_empty() {
            let is_in = |fate: &&Fate| match fate {
                Fate::Part(index, _) => plan
                    .changes
                    .get(*index)
                    .is_some_and(|change| done.sessions.contains_key(change.after.id.as_str())),
                Fate::Known(_) => false,
            };
            self.counters.committed(plan.fates.iter().filter(is_in).count());
        }
        for change in &plan.changes {
            match done.sessions.get(change.after.id.as_str()) {
                Some(key) => self.heads.keep(StoredSession {
                    key: *key,
                    row: change.after.clone(),
                    head: change.head,
                    is_sealed: true,
                }),
                None => self.heads.forget(change.after.id.as_str()),
            }
        }
        let fate = |fate: &Fate| match fate {
            Fate::Known(result) => Some(result.clone()),
            Fate::Part(index, last_seq) => {
                let change = plan.changes.get(*index)?;
                if done.sessions.contains_key(change.after.id.as_str()) {
                    Some(Ok(*last_seq))
                } else if done.own.contains(&change.after.partition) {
                    None
                } else {
                    failed.insert(change.session);
                    Some(Err(AppendError::Fenced))
                }
            }
        };
        Ok(plan.fates.iter().map(fate).collect())
    }

    fn own(&self, changes: &[Change<'_>]) -> Vec<Own> {
        let mut partitions: Vec<u32> =
            changes.iter().map(|change| change.after.partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        let own = |partition| {
            let claim = self.claimed.get(&partition)?.clone();
            Some(Own { partition, claim })
        };
        partitions.into_iter().filter_map(own).collect()
    }
}
