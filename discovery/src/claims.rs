//! Which free partitions a registration should claim now: pure, the same for both backends. Each
//! partition has a preferred owner by rendezvous hashing, who claims at once; the others give it a
//! head start, so that work spreads, and then claim too, so that no partition stays free. How a
//! claim is made, and that only one succeeds, is the backend's part.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::{Error, Instance, InstanceId, LiveSet, Role, State};

/// How long the preferred owner of a free partition is waited for.
const HEAD_START: Duration = Duration::from_secs(1);

/// How long a partition that was let go is left to others.
const LEFT_TO_OTHERS: Duration = Duration::from_secs(5);

/// The candidate that should own `partition`: the one with the highest hash of both, so that a
/// candidate that comes or goes moves only its own share. None if there is no candidate.
pub fn preferred_owner<'a>(
    partition: u32,
    candidates: impl IntoIterator<Item = &'a InstanceId>,
) -> Option<&'a InstanceId> {
    candidates.into_iter().max_by_key(|candidate| {
        let mut hash = Sha256::new();
        hash.update(partition.to_be_bytes());
        hash.update(candidate.as_str().as_bytes());
        (<[u8; 32]>::from(hash.finalize()), *candidate)
    })
}

/// What one registration wants of the partitions `0..count`.
#[derive(Debug)]
pub(crate) struct Claims {
    me: InstanceId,
    count: u32,
    free_since: BTreeMap<u32, Instant>,
    let_go: BTreeMap<u32, Instant>,
    stopped: bool,
}

/// Who has a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody.
    None,
    /// This registration.
    Me,
    /// Another one.
    Other,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Claim these now.
    pub(crate) claim: Vec<u32>,
    /// Ask again at this time, if nothing changes before.
    pub(crate) again: Option<Instant>,
}

impl Claims {
    pub(crate) fn new(me: InstanceId, count: u32) -> Self {
        Self { me, count, free_since: BTreeMap::new(), let_go: BTreeMap::new(), stopped: false }
    }

    /// Begins the claims of an instance that is asked to claim `0..count`; true if it had none.
    ///
    /// # Errors
    /// [`Error::Setting`] where it claims another number already.
    pub(crate) fn begin(
        claims: &mut Option<Self>,
        me: &Instance,
        count: u32,
    ) -> Result<bool, Error> {
        match claims {
            Some(claims) if claims.count != count => {
                let reason = format!("{} are claimed already, now {count}", claims.count);
                Err(Error::Setting { key: "partition count", reason })
            }
            Some(_) => Ok(false),
            None => {
                claims.insert(Self::new(me.id.clone(), count)).follow(me.state);
                Ok(true)
            }
        }
    }

    /// Claims while the instance serves, and nothing more while it drains.
    pub(crate) fn follow(&mut self, state: State) {
        self.stopped = match state {
            State::Serving => false,
            State::Draining => true,
        };
    }

    /// Leaves these to others for a while.
    pub(crate) fn leave(&mut self, partitions: &[u32], now: Instant) {
        self.let_go.extend(partitions.iter().map(|partition| (*partition, now)));
    }

    /// Plans from the newest view: `holder` says who has a partition.
    pub(crate) fn plan(
        &mut self,
        now: Instant,
        live: &LiveSet,
        holder: impl Fn(u32) -> Holder,
    ) -> Plan {
        let mut plan = Plan { claim: Vec::new(), again: None };
        if self.stopped {
            return plan;
        }
        self.let_go.retain(|_, since| now < *since + LEFT_TO_OTHERS);
        let mut candidates: BTreeSet<&InstanceId> =
            live.instances.values().filter(|it| may_own(it)).map(|it| &it.id).collect();
        // The view may not have caught up with our own registration.
        candidates.insert(&self.me);
        for partition in 0..self.count {
            match holder(partition) {
                Holder::None => {}
                Holder::Me => {
                    self.free_since.remove(&partition);
                    continue;
                }
                Holder::Other => {
                    // What was left to others has found one.
                    self.let_go.remove(&partition);
                    self.free_since.remove(&partition);
                    continue;
                }
            }
            let since = *self.free_since.entry(partition).or_insert(now);
            let mut due = now;
            if preferred_owner(partition, candidates.iter().copied()) != Some(&self.me) {
                due = since + HEAD_START;
            }
            if let Some(since) = self.let_go.get(&partition) {
                due = due.max(*since + LEFT_TO_OTHERS);
            }
            if due <= now {
                plan.claim.push(partition);
            } else {
                plan.again = Some(plan.again.map_or(due, |again| again.min(due)));
            }
        }
        plan
    }
}

fn may_own(instance: &Instance) -> bool {
    instance.role == Role::Orchestrator && instance.state == State::Serving
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing;

    fn instance(id: &str, role: Role, state: State) -> Instance {
        Instance { role, state, ..testing::instance(id) }
    }

    fn live(instances: &[(&str, Role, State)]) -> LiveSet {
        let instances = instances
            .iter()
            .map(|(id, role, state)| (InstanceId::from(*id), instance(id, *role, *state)))
            .collect();
        LiveSet { instances: Arc::new(instances), confirmed: true }
    }

    fn others(is_owned: bool) -> Holder {
        if is_owned { Holder::Other } else { Holder::None }
    }

    const SERVING: (Role, State) = (Role::Orchestrator, State::Serving);

    #[test]
    fn alone_it_claims_all_that_is_free_at_once() {
        let now = Instant::now();
        let mut claims = Claims::new("a".into(), 6);
        let plan = claims.plan(now, &LiveSet::default(), |partition| others(partition == 4));
        assert_eq!(plan, Plan { claim: vec![0, 1, 2, 3, 5], again: None });
    }

    #[test]
    fn two_split_what_is_free_and_neither_waits_for_ever() {
        let now = Instant::now();
        let live = live(&[("a", SERVING.0, SERVING.1), ("b", SERVING.0, SERVING.1)]);
        let (mut a, mut b) = (Claims::new("a".into(), 256), Claims::new("b".into(), 256));
        let (first, second) =
            (a.plan(now, &live, |_| Holder::None), b.plan(now, &live, |_| Holder::None));
        let mut all: Vec<u32> = first.claim.iter().chain(&second.claim).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..256).collect::<Vec<_>>());
        assert!(first.claim.len() > 80 && second.claim.len() > 80, "{}", first.claim.len());
        assert_eq!(first.again, Some(now + HEAD_START));
        // `b` never came: `a` takes all.
        let held = first.claim;
        let late = a.plan(now + HEAD_START, &live, |partition| others(held.contains(&partition)));
        assert_eq!(late, Plan { claim: second.claim, again: None });
    }

    #[test]
    fn those_that_drain_or_are_no_orchestrator_get_no_head_start() {
        let now = Instant::now();
        let others = live(&[
            ("b", Role::Orchestrator, State::Draining),
            ("c", Role::Tool, State::Serving),
            ("d", Role::Gateway, State::Serving),
        ]);
        let plan = Claims::new("a".into(), 64).plan(now, &others, |_| Holder::None);
        assert_eq!(plan.claim.len(), 64);
    }

    #[test]
    fn a_partition_that_becomes_free_again_gives_a_new_head_start() {
        let now = Instant::now();
        let live = live(&[("a", SERVING.0, SERVING.1), ("b", SERVING.0, SERVING.1)]);
        let theirs =
            (0..256).find(|p| preferred_owner(*p, [&"a".into(), &"b".into()]) == Some(&"b".into()));
        let count = theirs.unwrap() + 1;
        let mut a = Claims::new("a".into(), count);
        let mut owned =
            |at, free: bool| a.plan(at, &live, |partition| others(partition != count - 1 || !free));
        assert_eq!(owned(now, true).again, Some(now + HEAD_START));
        assert_eq!(owned(now + HEAD_START / 2, false).again, None);
        assert_eq!(owned(now + HEAD_START, true).again, Some(now + HEAD_START * 2));
    }

    #[test]
    fn what_was_let_go_is_left_to_others_for_a_while() {
        let now = Instant::now();
        let mut claims = Claims::new("a".into(), 3);
        claims.leave(&[1], now);
        let again = now + LEFT_TO_OTHERS;
        let plan = claims.plan(now, &LiveSet::default(), |_| Holder::None);
        assert_eq!(plan, Plan { claim: vec![0, 2], again: Some(again) });
        let plan = claims.plan(again, &LiveSet::default(), |partition| others(partition != 1));
        assert_eq!(plan, Plan { claim: vec![1], again: None });
    }

    #[test]
    fn what_was_let_go_and_taken_is_free_for_all_once_its_owner_ends() {
        let now = Instant::now();
        let mut claims = Claims::new("a".into(), 1);
        claims.leave(&[0], now);
        claims.plan(now, &LiveSet::default(), |_| Holder::Me);
        assert!(claims.plan(now, &LiveSet::default(), |_| Holder::None).claim.is_empty());
        claims.plan(now, &LiveSet::default(), |_| Holder::Other);
        assert_eq!(claims.plan(now, &LiveSet::default(), |_| Holder::None).claim, [0]);
    }

    #[test]
    fn stopped_it_claims_nothing() {
        let mut claims = Claims::new("a".into(), 3);
        claims.follow(State::Draining);
        let plan = claims.plan(Instant::now(), &LiveSet::default(), |_| Holder::None);
        assert_eq!(plan, Plan { claim: vec![], again: None });
        claims.follow(State::Serving);
        let plan = claims.plan(Instant::now(), &LiveSet::default(), |_| Holder::None);
        assert_eq!(plan.claim.len(), 3);
    }

    #[test]
    fn one_that_leaves_moves_only_its_own_share() {
        let [a, b, c] = ["a", "b", "c"].map(InstanceId::from);
        for partition in 0..256 {
            let of_three = preferred_owner(partition, [&a, &b, &c]).unwrap();
            let of_two = preferred_owner(partition, [&a, &b]).unwrap();
            assert!(of_three == of_two || of_three == &c, "{partition}");
        }
        assert_eq!(preferred_owner(0, []), None);
    }
}
