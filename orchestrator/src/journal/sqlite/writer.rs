//! The one thread that writes: it takes what is queued, of whatever session, and commits it at
//! once, so that many appends share one sync. Callers hear of their append after the commit only.
//!
//! What one append does is left to `append`, claims to `claim`. Next: `checkpoint`.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::crash::crash_point;
use crate::journal::fault::Fault;
use crate::journal::queue::{Command, Counters, Queued, Work};
use crate::journal::{AppendError, JournalError};

use super::checkpoint::Checkpoints;
use super::claim;
use super::known::Known;
use super::lock::Lock;

/// State of the thread.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) known: Known,
    pub(super) checkpoints: Checkpoints,
    pub(super) counters: Arc<Counters>,
    /// Nobody else may write while this lives.
    pub(super) lock: Lock,
}

/// Set where the disk failed and nothing may be called durable any more.
#[derive(Debug)]
struct Broken;

impl Writer {
    /// Works until the queue is closed, a `Close` comes, or the disk fails.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        let mut closed = None;
        while let Some(command) = queue.blocking_recv() {
            let work = Work::from(command, &mut queue);
            closed = work.closed;
            let done = self.commit(work.appends);
            let done = done.and_then(|()| work.other.map_or(Ok(()), |other| self.other(other)));
            if done.is_err() || closed.is_some() {
                break;
            }
        }
        self.counters.refuse_all(&mut queue);
        self.checkpoints.stop();
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "journal closed with an error");
        }
        drop(self.lock);
        if let Some(reply) = closed {
            let _ = reply.send(());
        }
    }

    fn commit(&mut self, batch: Vec<Queued>) -> Result<(), Broken> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut failed = HashSet::new();
        let results = self.append(&batch, &mut failed);
        let is_broken = results.iter().any(|result| result == &Err(AppendError::Closed));
        for (queued, result) in batch.into_iter().zip(results) {
            self.counters.settle(queued, result);
        }
        if is_broken { Err(Broken) } else { Ok(()) }
    }

    /// Appends a batch in one transaction. `failed` are the sessions of which an append was
    /// refused: later ones of theirs build on events that are not there.
    fn append<'a>(
        &mut self,
        batch: &'a [Queued],
        failed: &mut HashSet<&'a str>,
    ) -> Vec<Result<u64, AppendError>> {
        let before = failed.clone();
        let done = self.transact(batch, failed);
        if done.is_err() {
            self.known.forget();
        }
        match done {
            Ok(results) => results,
            Err(fault @ (Fault::Full(_) | Fault::Write(_) | Fault::Busy(_))) => {
                self.note(&fault);
                vec![Err(fault.into()); batch.len()]
            }
            Err(fault) if batch.len() == 1 => {
                self.note(&fault);
                failed.extend(batch.iter().map(|queued| queued.prepared.session.as_str()));
                vec![Err(fault.into())]
            }
            Err(_) => {
                // One session's rows are bad. Each alone, so that the others are not held up.
                *failed = before;
                self.append_each(batch, failed)
            }
        }
    }

    fn append_each<'a>(
        &mut self,
        batch: &'a [Queued],
        failed: &mut HashSet<&'a str>,
    ) -> Vec<Result<u64, AppendError>> {
        let mut results = Vec::with_capacity(batch.len());
        for one in batch.chunks(1) {
            if results.last() == Some(&Err(AppendError::Closed)) {
                results.push(Err(AppendError::Closed));
            } else {
                results.extend(self.append(one, failed));
            }
        }
        results
    }

    fn transact<'a>(
        &mut self,
        batch: &'a [Queued],
        failed: &mut HashSet<&'a str>,
    ) -> Result<Vec<Result<u64, AppendError>>, Fault> {
        self.checkpoints.check()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut results = Vec::with_capacity(batch.len());
        for Queued { prepared, .. } in batch {
            let result = if failed.contains(prepared.session.as_str()) {
                Err(AppendError::Conflict)
            } else {
                prepared.apply(&transaction, &mut self.known)?
            };
            if result.is_err() {
                failed.insert(&prepared.session);
            }
            results.push(result);
        }
        let count = results.iter().filter(|result| result.is_ok()).count();
        if count > 0 {
            crash_point!("journal.before_commit");
            transaction.commit()?;
            crash_point!("journal.after_commit");
            self.committed(count);
        }
        Ok(results)
    }

    fn committed(&mut self, appends: usize) {
        self.counters.committed(appends);
        self.checkpoints.after_commit(&self.connection);
    }

    /// Everything but appends, each in a transaction of its own.
    fn other(&mut self, command: Command) -> Result<(), Broken> {
        self.known.forget();
        match command {
            Command::Append(_) | Command::Close(_) => Ok(()),
            Command::Barrier(reply) => {
                // A transaction is done or it is not: nothing stays unknown.
                let _ = reply.send(Ok(()));
                Ok(())
            }
            Command::Claim(claim, reply) => {
                let claimed = self.transacted(|connection| {
                    let claimed = claim::apply(&claim, connection);
                    crash_point!("claim.before_commit");
                    claimed
                });
                crash_point!("claim.after_commit");
                self.reply(reply, claimed)
            }
            Command::RaiseGeneration(_, reply) => self.answer(reply, claim::raise_generation),
            Command::Delete(session, reply) => {
                self.answer(reply, |connection| claim::delete(connection, &session))
            }
            #[cfg(test)]
            Command::Execute(sql, reply) => {
                self.connection.execute_batch(sql).unwrap();
                let _ = reply.send(());
                Ok(())
            }
        }
    }

    fn answer<T>(
        &mut self,
        reply: oneshot::Sender<Result<T, JournalError>>,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<(), Broken> {
        let result = self.transacted(work);
        self.reply(reply, result)
    }

    fn transacted<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.checkpoints.check()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let answer = work(&transaction)?;
        transaction.commit()?;
        Ok(answer)
    }

    fn reply<T>(
        &mut self,
        reply: oneshot::Sender<Result<T, JournalError>>,
        result: Result<T, Fault>,
    ) -> Result<(), Broken> {
        let is_broken = matches!(result, Err(Fault::Write(_)));
        match &result {
            Ok(_) => self.committed(0),
            Err(fault) => self.note(fault),
        }
        let _ = reply.send(result.map_err(Into::into));
        if is_broken { Err(Broken) } else { Ok(()) }
    }

    fn note(&self, fault: &Fault) {
        self.counters.pulse.met(fault);
        fault.note();
    }
}
