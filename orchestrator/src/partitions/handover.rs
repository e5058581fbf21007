//! Planned hand-over: partitions that another orchestrator should own are given to it once those who
//! take part have been the same for a while. Nothing new begins in them, what is in flight ends, and
//! then they are let go; idle ones first, of the others a few at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use callboard_discovery::{
    Instance, InstanceId, LiveSet, Registration, Role, State, preferred_owner,
};
use tokio::{sync::watch, time::Instant};
use tracing::{info, warn};

use crate::session::Sessions;

/// Idle partitions let go at once.
const IDLE_AT_ONCE: usize = 64;
/// Partitions with sessions awake that are handed over at the same time.
const BUSY_AT_ONCE: usize = 4;
/// How much longer than the limit for what is in flight its last appends may take.
const LAST_APPENDS: Duration = Duration::from_secs(5);

/// The hand-over under way.
pub(super) struct Handover<'a> {
    sessions: Arc<Sessions>,
    live: watch::Receiver<LiveSet>,
    registration: &'a Registration,
    /// Who took part when it was looked last, and since when it is the same.
    members: BTreeSet<InstanceId>,
    since: Instant,
    /// Partitions that are being handed over, and when they are let go at the latest.
    leaving: BTreeMap<u32, Instant>,
}

impl<'a> Handover<'a> {
    pub(super) fn new(
        sessions: Arc<Sessions>,
        live: watch::Receiver<LiveSet>,
        registration: &'a Registration,
    ) -> Self {
        let (members, since) = (BTreeSet::new(), Instant::now());
        Self { sessions, live, registration, members, since, leaving: BTreeMap::new() }
    }

    /// Does what is due.
    pub(super) async fn look(&mut self) {
        self.begin();
        let done = self.done();
        if done.is_empty() {
            return;
        }
        info!(partitions = done.len(), "partitions handed over");
        for partition in &done {
            self.leaving.remove(partition);
        }
        if let Err(error) = self.registration.let_go(done).await {
            warn!(%error, "partitions are let go as soon as discovery answers");
        }
    }

    /// Chooses what moves now, and lets nothing begin in it any more.
    fn begin(&mut self) {
        let me = &self.registration.instance().id;
        let (members, is_confirmed) = {
            let live = self.live.borrow();
            let members = live.instances.values().filter(|it| may_own(it)).map(|it| it.id.clone());
            (members.collect::<BTreeSet<_>>(), live.confirmed)
        };
        if members != self.members {
            self.members = members;
            self.since = Instant::now();
        }
        let shared = self.sessions.shared();
        let stable = Duration::from_millis(shared.config.rebalance_after_ms);
        if !is_confirmed || self.since.elapsed() < stable || !self.members.contains(me) {
            return;
        }
        let busy = self.sessions.awake_in();
        let owned = shared.partitions.all();
        let chosen = choose(&owned, &self.members, me, (&busy, self.leaving.len()));
        if chosen.is_empty() {
            return;
        }
        let limit = Duration::from_millis(shared.config.handover_ms) + LAST_APPENDS;
        let until = Instant::now() + limit;
        self.leaving.extend(chosen.iter().map(|partition| (*partition, until)));
        shared.partitions.leave(&chosen);
        self.sessions.stop_lost();
    }

    /// Those in which nobody is awake any more, or has been for too long.
    fn done(&self) -> Vec<u32> {
        if self.leaving.is_empty() {
            return Vec::new();
        }
        let (busy, now) = (self.sessions.awake_in(), Instant::now());
        let is_done = |(partition, until): &(&u32, &Instant)| {
            !busy.contains_key(*partition) || now >= **until
        };
        self.leaving.iter().filter(is_done).map(|(partition, _)| *partition).collect()
    }
}

/// What of `owned` begins to move: `busy` says where sessions are awake, with the number of
/// partitions that are on the move already.
fn choose(
    owned: &[u32],
    members: &BTreeSet<InstanceId>,
    me: &InstanceId,
    (busy, moving): (&BTreeMap<u32, usize>, usize),
) -> Vec<u32> {
    let moves = |partition: &&u32| preferred_owner(**partition, members).is_some_and(|it| it != me);
    let (with_work, idle): (Vec<u32>, Vec<u32>) =
        owned.iter().filter(moves).copied().partition(|partition| busy.contains_key(partition));
    let with_work = with_work.into_iter().take(BUSY_AT_ONCE.saturating_sub(moving));
    idle.into_iter().take(IDLE_AT_ONCE).chain(with_work).collect()
}

fn may_own(instance: &Instance) -> bool {
    instance.role == Role::Orchestrator && instance.state == State::Serving
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(names: &[&str]) -> BTreeSet<InstanceId> {
        names.iter().map(|name| InstanceId::from(*name)).collect()
    }

    #[test]
    fn alone_nothing_moves() {
        let owned: Vec<u32> = (0..256).collect();
        let moved = choose(&owned, &members(&["a"]), &"a".into(), (&BTreeMap::new(), 0));
        assert!(moved.is_empty(), "{moved:?}");
    }

    #[test]
    fn only_what_another_should_own_moves_the_idle_first() {
        let owned: Vec<u32> = (0..256).collect();
        let (both, me) = (members(&["a", "b"]), InstanceId::from("a"));
        let theirs: Vec<u32> = owned
            .iter()
            .filter(|it| preferred_owner(**it, &both) == Some(&"b".into()))
            .copied()
            .collect();
        assert!((80..176).contains(&theirs.len()), "{}", theirs.len());
        let idle = choose(&owned, &both, &me, (&BTreeMap::new(), 0));
        assert_eq!(idle, theirs[..IDLE_AT_ONCE]);
        let busy: BTreeMap<u32, usize> = owned.iter().map(|it| (*it, 1)).collect();
        assert_eq!(choose(&owned, &both, &me, (&busy, 0)), theirs[..4]);
        assert_eq!(choose(&owned, &both, &me, (&busy, 3)), theirs[..1]);
        assert!(choose(&owned, &both, &me, (&busy, 64)).is_empty());
        let one_idle: BTreeMap<u32, usize> =
            owned.iter().filter(|it| **it != theirs[9]).map(|it| (*it, 1)).collect();
        assert_eq!(choose(&owned, &both, &me, (&one_idle, 4)), [theirs[9]]);
    }
}
