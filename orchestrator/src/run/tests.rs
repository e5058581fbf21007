//! The fold under random worlds: whatever the model, the tools and the people do, in whatever
//! order, a run ends, every call has one outcome, and recovery at any point changes nothing.

mod table;
mod world;

use proptest::prelude::*;

use self::world::{World, limits};
use super::{
    event::*,
    ids::CallId,
    state::{Run, Session},
};

/// Random event steps that the property test makes at least.
const STEPS_AT_LEAST: usize = 100_000;

#[test]
fn every_order_of_events_ends_well() {
    let mut steps = 0;
    let mut config = ProptestConfig::with_cases(64);
    config.failure_persistence = None;
    while steps < STEPS_AT_LEAST {
        let runner = std::cell::Cell::new(0);
        proptest!(config.clone(), |(choices in prop::collection::vec(any::<u16>(), 400..1200))| {
            let mut world = World::new(limits(), choices);
            world.run_to_the_end();
            check_journal(&world);
            runner.set(runner.get() + world.journal.len());
        });
        steps += runner.get();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recovery_at_any_event_asks_for_the_same(choices in prop::collection::vec(any::<u16>(), 100..400)) {
        let mut world = World::new(limits(), choices);
        world.run_to_the_end();
        let mut live = Session::default();
        for (count, recorded) in world.journal.iter().enumerate() {
            live.apply(recorded).unwrap();
            let mut folded = Session::default();
            for earlier in &world.journal[..=count] {
                folded.apply(earlier).unwrap();
            }
            prop_assert_eq!(&folded, &live);
            prop_assert_eq!(folded.next(), live.next());
        }
    }

    #[test]
    fn a_damaged_journal_is_refused_not_a_panic(
        choices in prop::collection::vec(any::<u16>(), 100..300),
        drop_at in 0_usize..200,
        swap in 0_usize..200,
    ) {
        let mut world = World::new(limits(), choices);
        world.run_to_the_end();
        let mut journal = world.journal.clone();
        if drop_at < journal.len() { journal.remove(drop_at); }
        if swap + 1 < journal.len() { journal.swap(swap, swap + 1); }
        for (seq, recorded) in (1..).zip(&mut journal) { recorded.seq = seq; }
        let mut session = Session::default();
        for recorded in &journal {
            let before = session.clone();
            if session.apply(recorded).is_err() {
                prop_assert_eq!(&session, &before);
                break;
            }
            session.next();
        }
    }
}

fn check_journal(world: &World) {
    let settled = |id| {
        let of = |e: &Recorded| matches!(&e.event, Event::CallSettled(s) if s.call_id == id);
        world.journal.iter().filter(|e| of(e)).count()
    };
    for run in &world.session.ended {
        assert!(run.ended.is_some());
        assert!(run.replies() <= run.started.limits.max_steps + 1, "one last word at most");
        let mut made = 0;
        for call in run.calls() {
            assert_eq!(settled(call.wanted.call_id.clone()), 1, "exactly one outcome");
            made += u32::from(call.planned.is_some());
            let blocked = call.judged.as_ref().is_some_and(|j| j.verdict == Verdict::Block);
            let refused = call.decided.as_ref().is_some_and(|d| !d.approved);
            assert!(!(blocked || refused) || call.attempts.is_empty(), "nothing runs unasked");
        }
        assert!(made <= run.started.limits.max_calls);
    }
    assert!(world.session.is_idle(), "nothing is left");
    check_rollbacks(world);
    let ended = world.journal.iter().filter(|e| matches!(e.event, Event::RunEnded(_))).count();
    assert_eq!(ended, world.inputs, "every input has its run and every run its end");
}

fn check_rollbacks(world: &World) {
    let order: Vec<_> = world.session.ended.iter().flat_map(Run::calls).collect();
    let place = |id: &CallId| order.iter().position(|call| call.wanted.call_id == *id).unwrap();
    let mut undone = std::collections::BTreeSet::new();
    for rollback in &world.session.rollbacks {
        assert_eq!(rollback.next(), None, "a rollback comes to its end");
        let places: Vec<_> = rollback.asked.calls.iter().map(place).collect();
        assert!(places.is_sorted_by(|later, earlier| later > earlier), "the latest first");
        let (last, done) = rollback.steps.split_last().expect("it began");
        assert!(done.iter().all(|step| step.status == UndoStatus::Undone), "it stops at once");
        let is_whole = rollback.steps.len() == rollback.asked.calls.len();
        assert!(is_whole || last.status != UndoStatus::Undone, "nothing is left out");
        for step in rollback.steps.iter().filter(|step| step.status == UndoStatus::Undone) {
            assert!(undone.insert(step.call_id.clone()), "no call is taken back twice");
        }
    }
    let marked = order.iter().filter(|call| call.undone.is_some()).count();
    assert_eq!(marked, undone.len(), "the history says what was taken back");
}
