//! The one task that writes: it takes what is queued, of whatever session, and commits it at once,
//! so that many appends share one sync. Callers hear of their append after the commit only.
//!
//! It never gives up on the server while somebody may still wait; what one batch does is left to
//! `batch` and `append`, connecting to `upkeep`. Next: `upkeep`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::crash::crash_point;
use crate::journal::chain::Hash;
use crate::journal::fault::Fault;
use crate::journal::prepared::Prepared;
use crate::journal::queue::{Command, Counters, Queued, Work};
use crate::journal::row::seal_claim;
use crate::journal::{AppendError, Epoch, JournalError};

use super::batch::Known;
use super::server::{Server, within_limit};
use super::upkeep::Ready;
use super::{claim, heads::Heads};

/// How often a server that is away is looked for while nobody wants to write.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a batch that met a lock or a deadlock is tried.
const BUSY_TRIES: u32 = 3;

/// A claim as its row holds it.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) epoch: Epoch,
    pub(super) seal: Hash,
}

/// State of the task.
pub(super) struct Writer {
    pub(super) server: Server,
    /// Its name in the server's list, which no other connection has.
    pub(super) name: String,
    pub(super) counters: Arc<Counters>,
    /// How long an append waits for a server that does not answer.
    pub(super) patience: Duration,
    pub(super) closing: CancellationToken,
    /// Counts how often the server came back as another one.
    pub(super) replaced: watch::Sender<u64>,
    /// The connection, if there is one.
    pub(super) ready: Option<Ready>,
    /// Which server the claims were made on.
    pub(super) lineage: Option<String>,
    /// What this process has claimed there.
    pub(super) claimed: HashMap<u32, Claimed>,
    /// What was last written of sessions.
    pub(super) heads: Heads,
}

/// What a command was answered with.
enum Answer {
    Claimed(Vec<u32>),
    Generation(u64),
    Done,
}

impl Writer {
    /// Works until the queue is closed or a `Close` comes.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        let mut closed = None;
        while let Some(command) = self.next(&mut queue).await {
            let work = Work::from(command, &mut queue);
            self.append_all(work.appends).await;
            if let Some(other) = work.other {
                self.other(other).await;
            }
            closed = work.closed;
            if closed.is_some() {
                break;
            }
        }
        self.counters.refuse_all(&mut queue);
        drop(self.ready.take());
        if let Some(reply) = closed {
            // Whoever closed it may have gone.
            let _ = reply.send(());
        }
    }

    /// The next command. A server that is away is looked for meanwhile, so that all hear when it is
    /// back although nobody writes before.
    async fn next(&mut self, queue: &mut mpsc::Receiver<Command>) -> Option<Command> {
        loop {
            let is_away = self.ready.is_none() && self.counters.pulse.is_ill();
            tokio::select! {
                biased;
                command = queue.recv() => return command,
                () = tokio::time::sleep(LOOK_EVERY), if is_away => {
                    // What it met is noted where it connects.
                    let _ = self.connected(Instant::now()).await;
                }
            }
        }
    }

    /// Writes a batch. One that the server refuses as a whole is halved until the session is left
    /// whose rows are bad, so that the others are not held up.
    async fn append_all(&mut self, batch: Vec<Queued>) {
        let Some(since) = batch.iter().map(|queued| queued.since).min() else { return };
        let deadline = since + self.patience;
        let prepared: Vec<&Prepared> = batch.iter().map(|queued| &queued.prepared).collect();
        let mut results: Vec<Result<u64, AppendError>> = Vec::with_capacity(prepared.len());
        let mut failed: HashSet<&str> = HashSet::new();
        let mut parts = vec![&prepared[..]];
        while let Some(part) = parts.pop() {
            let mut failed_before = failed.clone();
            match self.append(part, &mut failed, deadline).await {
                Ok(part) => results.extend(part),
                Err(Fault::Other(_) | Fault::Damaged(_) | Fault::Busy(_)) if part.len() > 1 => {
                    std::mem::swap(&mut failed, &mut failed_before);
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Err(fault) => {
                    self.note(&fault);
                    failed.extend(part.iter().map(|append| append.session.as_str()));
                    results.extend(part.iter().map(|_| Err(AppendError::from(fault.clone()))));
                }
            }
        }
        for (queued, result) in batch.into_iter().zip(results) {
            self.counters.settle(queued, result);
        }
    }

    /// Writes a part of a batch, as often as it takes to know what became of it.
    async fn append<'a>(
        &mut self,
        part: &[&'a Prepared],
        failed: &mut HashSet<&'a str>,
        deadline: Instant,
    ) -> Result<Vec<Result<u64, AppendError>>, Fault> {
        let mut tries = 0;
        loop {
            self.connected(deadline).await?;
            let before = failed.clone();
            crash_point!("journal.before_commit");
            let written = within_limit(self.write(part, failed)).await;
            crash_point!("journal.after_commit");
            match written {
                Err(Fault::Unreachable(error)) => {
                    tracing::debug!(%error, "journal lost its server");
                    self.disconnect();
                    *failed = before;
                }
                Err(Fault::Busy(error)) if tries < BUSY_TRIES => {
                    tracing::debug!(%error, "journal tries again");
                    tries += 1;
                    *failed = before;
                }
                other => return other,
            }
        }
    }

    /// Everything but appends.
    async fn other(&mut self, command: Command) {
        let deadline = Instant::now() + self.patience;
        let answer = loop {
            let answer = match self.connected(deadline).await {
                Ok(()) => within_limit(self.ask(&command)).await,
                Err(fault) => break Err(fault),
            };
            match answer {
                Err(Fault::Unreachable(_)) => self.disconnect(),
                answer => break answer,
            }
        };
        if let Err(fault) = &answer {
            self.note(fault);
        }
        if let (Command::Claim(claim, _), Ok(Answer::Claimed(accepted))) = (&command, &answer) {
            self.heads.clear();
            for (partition, epoch) in &claim.partitions {
                if accepted.contains(partition) {
                    let seal = seal_claim(*partition, *epoch, &claim.owner);
                    self.claimed.insert(*partition, Claimed { epoch: *epoch, seal });
                }
            }
        }
        reply(command, answer);
    }

    async fn ask(&mut self, command: &Command) -> Result<Answer, Fault> {
        let ready = self.ready.as_ref().ok_or_else(super::upkeep::not_connected)?;
        let client = &ready.link.client;
        let answer = match command {
            Command::Claim(claim, _) => {
                crash_point!("claim.before_commit");
                let claimed = claim::apply(claim, client).await?;
                crash_point!("claim.after_commit");
                Answer::Claimed(claimed)
            }
            Command::RaiseGeneration(deployment, _) => {
                Answer::Generation(claim::raise_generation(client, deployment).await?)
            }
            Command::Delete(session, _) => {
                claim::delete(client, session).await?;
                self.heads.forget(session);
                Answer::Done
            }
            #[cfg(test)]
            Command::Execute(sql, _) => {
                client.batch_execute(sql).await?;
                Answer::Done
            }
            // To be connected is all that it takes: what an earlier connection had begun is done
            // or never will be.
            Command::Barrier(_) => return Ok(Answer::Done),
            Command::Append(_) | Command::Close(_) => return Ok(Answer::Done),
        };
        self.counters.committed(0);
        Ok(answer)
    }

    fn note(&self, fault: &Fault) {
        self.counters.pulse.met(fault);
        fault.note();
    }

    /// What is known of a session from the last time that it was written.
    pub(super) fn head(&self, session: &str) -> Option<Known> {
        self.heads.get(session).map(|stored| Known::Stored(stored.clone()))
    }
}

/// Answers who asked. Callers that are gone do not want to know.
fn reply(command: Command, answer: Result<Answer, Fault>) {
    fn send<T>(
        reply: oneshot::Sender<Result<T, JournalError>>,
        answer: Result<Answer, Fault>,
        pick: impl FnOnce(Answer) -> Option<T>,
    ) {
        match answer {
            Ok(answer) => {
                if let Some(value) = pick(answer) {
                    let _ = reply.send(Ok(value));
                }
            }
            Err(fault) => {
                let _ = reply.send(Err(fault.into()));
            }
        }
    }
    let done = |answer| matches!(answer, Answer::Done).then_some(());
    match command {
        Command::Claim(_, reply) => send(reply, answer, |answer| match answer {
            Answer::Claimed(accepted) => Some(accepted),
            Answer::Generation(_) | Answer::Done => None,
        }),
        Command::RaiseGeneration(_, reply) => send(reply, answer, |answer| match answer {
            Answer::Generation(generation) => Some(generation),
            Answer::Claimed(_) | Answer::Done => None,
        }),
        Command::Delete(_, reply) | Command::Barrier(reply) => send(reply, answer, done),
        #[cfg(test)]
        Command::Execute(_, reply) => {
            let _ = reply.send(());
        }
        Command::Append(_) | Command::Close(_) => {}
    }
}
