//! Removes a session for good, and has those who kept something of its calls forget it. What is left to do
//! is noted first, as a session of its own in the same partition that belongs to no team: whoever owns
//! that partition goes on with it after a crash (`session/forget.rs`).

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError},
    time::Duration,
};

use tracing::warn;
use uuid::Uuid;

use super::{
    super::{
        clock::wall_ms,
        error::{Refusal, SessionError},
    },
    Ownership, REOPEN_AFTER, Sessions,
};
use crate::{
    crash::crash_point,
    journal::{Append, AppendError, Journal, JournalError, SessionState},
    query,
    run::{
        event::{Class, Event, ForgetAsked, Keeper, Recorded, SessionOpened},
        ids::{CallId, SessionId},
    },
};

/// After this, services have forgotten by themselves.
const EXPIRES: Duration = Duration::from_hours(30 * 24);

impl Sessions {
    /// Removes an idle session of a team for good. Returns once that is durable; services that kept
    /// something of its calls are asked to forget it from then on.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], also for another team's; [`Refusal::Busy`]; `Unwritten`, `NotOwner`
    /// and `Journal`, after which it may still be removed.
    pub async fn delete(self: &Arc<Self>, team: &str, id: &SessionId) -> Result<(), SessionError> {
        let ownership = self.shared.partitions.owned(id).ok_or(SessionError::NotOwner)?;
        let journal = &*self.shared.journal;
        let row = query::owned_row(journal, team, id).await?;
        // One that is refused will never come to an end.
        if row.state != SessionState::Idle && !self.quarantine.holds(id) {
            return Err(Refusal::Busy.into());
        }
        let keepers = keepers(journal, id).await?;
        let mut noted = None;
        if !keepers.is_empty() {
            noted = Some(self.note(ownership, (team, id), keepers).await?);
        }
        crash_point!("forget.after_noted");
        let awake = self.awake.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(found) = awake {
            found.stop.cancel();
        }
        let removed = journal.delete(id).await;
        if let Some(noted) = noted
            && let Err(error) = self.wake(&noted)
        {
            warn!(session = %id, %error, "its next owner has it forgotten");
        }
        self.quarantine.release(id);
        Ok(removed?)
    }

    /// Notes that a session goes, and who is to forget it; the session that stands for that.
    async fn note(
        &self,
        ownership: Ownership,
        (team, id): (&str, &SessionId),
        keepers: Vec<Keeper>,
    ) -> Result<SessionId, SessionError> {
        let expires_ms = i64::try_from(EXPIRES.as_millis()).unwrap_or(i64::MAX);
        let until_ms = self.shared.clock.now_ms().saturating_add(expires_ms);
        let forget = ForgetAsked { team: team.to_owned(), session: id.clone(), keepers, until_ms };
        let noted = self.name_of_note(ownership.partition, id);
        let opened = SessionOpened::default();
        let events = [Event::SessionOpened(opened), Event::ForgetAsked(forget)];
        let (wall_ms, trace_context) = (wall_ms(), String::new());
        let recorded = |(seq, event)| Recorded {
            seq,
            wall_ms,
            elapsed_ms: 0,
            trace_context: trace_context.clone(),
            event,
        };
        let answer = self.shared.journal.submit(Append {
            session: noted.clone(),
            partition: ownership.partition,
            epoch: ownership.epoch,
            append_id: Uuid::now_v7(),
            expected_seq: 1,
            events: (1..).zip(events).map(recorded).collect(),
            state: SessionState::Active,
            wake_at_ms: None,
        });
        match answer.await.unwrap_or(Err(AppendError::Closed)) {
            // It was noted before, by a request that did not come to its end.
            Ok(_) | Err(AppendError::Conflict) => Ok(noted),
            Err(AppendError::Fenced) => Err(SessionError::NotOwner),
            Err(error @ AppendError::Full(_)) => Err(SessionError::Unwritten(error.to_string())),
            Err(AppendError::Closed) => Err(SessionError::Journal(JournalError::Closed)),
            Err(AppendError::Unreachable(what)) => {
                Err(SessionError::Journal(JournalError::Unreachable(what)))
            }
            Err(AppendError::Backend(what)) => {
                Err(SessionError::Journal(JournalError::Backend(what)))
            }
        }
    }

    /// A name in the session's own partition, always the same one.
    fn name_of_note(&self, partition: u32, id: &SessionId) -> SessionId {
        let names = (0_u64..).map(|n| SessionId::from(format!("removed-{id}-{n}")));
        let mut in_partition = names.filter(|name| self.shared.partitions.of(name) == partition);
        // Names are spread over all partitions, so one of them is in this one.
        in_partition.next().unwrap_or_default()
    }

    /// The calls of a removed session are forgotten: what stands for it goes too.
    pub(super) async fn end_removal(self: &Arc<Self>, noted: &SessionId) {
        while let Err(error) = self.shared.journal.delete(noted).await {
            warn!(session = %noted, %error, "what stands for a removed session is not gone yet");
            let pause = tokio::time::sleep(REOPEN_AFTER);
            if self.shutdown.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }
}

/// Where something was kept of the calls of a session, as far as its events can be read. What only reads
/// is forgotten by itself soon.
async fn keepers(journal: &dyn Journal, id: &SessionId) -> Result<Vec<Keeper>, SessionError> {
    let mut services: HashMap<CallId, String> = HashMap::new();
    let (mut keepers, mut read) = (BTreeSet::new(), 0);
    loop {
        let page = match query::readable(journal, id, read).await {
            Err(SessionError::Damaged(_)) => break,
            page => page?,
        };
        let Some(last) = page.last().map(|recorded| recorded.seq) else { break };
        read = last;
        for recorded in page {
            match recorded.event {
                Event::CallPlanned(planned) if planned.class != Class::Read => {
                    services.insert(planned.call_id, planned.service);
                }
                Event::AttemptStarted(started) => {
                    let Some(service) = services.get(&started.call_id) else { continue };
                    keepers.insert(Keeper {
                        service: service.clone(),
                        store: started.store,
                        incarnation: started.incarnation,
                    });
                }
                _ => {}
            }
        }
    }
    Ok(one_for_each_store(keepers))
}

/// Whoever shares a store can say for all of it.
fn one_for_each_store(keepers: BTreeSet<Keeper>) -> Vec<Keeper> {
    let mut stores = BTreeSet::new();
    let mut keepers: Vec<Keeper> = keepers.into_iter().collect();
    keepers.retain(|keeper| {
        keeper.store.is_empty() || stores.insert((keeper.service.clone(), keeper.store.clone()))
    });
    keepers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_asked_once_and_a_memory_each_time() {
        let keeper = |service: &str, store: &str, incarnation: &str| Keeper {
            service: service.to_owned(),
            store: store.to_owned(),
            incarnation: incarnation.to_owned(),
        };
        let all = [
            keeper("files", "one", "a"),
            keeper("files", "one", "b"),
            keeper("files", "two", "c"),
            keeper("mail", "", "d"),
            keeper("mail", "", "e"),
            keeper("shell", "one", "f"),
        ];
        let asked = one_for_each_store(all.iter().cloned().collect());
        let expected = [&all[0], &all[2], &all[3], &all[4], &all[5]].map(Clone::clone);
        assert_eq!(asked, expected);
    }
}
