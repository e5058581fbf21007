//! What fits onto what, by batches written down by hand.

use std::collections::HashSet;

use super::{Before, Fate, Known, Prepared, plan, repeats};
use crate::journal::generate::{EPOCH, append, opened, progress};
use crate::journal::row::StoredSession;
use crate::journal::{Append, AppendError, Epoch};

fn prepared(appends: &[Append]) -> Vec<Prepared> {
    appends.iter().map(|append| Prepared::new(append.clone()).unwrap()).collect()
}

/// The journal after `appends`, all of one session.
fn after(appends: &[Append]) -> Before {
    let prepared = prepared(appends);
    let batch: Vec<&Prepared> = prepared.iter().collect();
    let plan = plan(&batch, &Before::default(), |_| Some(EPOCH), &mut HashSet::new());
    let mut before = Before::default();
    let change = plan.changes.first().unwrap();
    let stored =
        StoredSession { key: 1, row: change.after.clone(), head: change.head, is_sealed: true };
    before.sessions.insert(change.session.to_owned(), Known::Stored(stored));
    for event in &change.events {
        before.append_ids.insert((change.session.to_owned(), event.seq), event.append_id);
    }
    before
}

fn fates(appends: &[Append], before: &Before, owned: Epoch) -> Vec<Fate> {
    let prepared = prepared(appends);
    let batch: Vec<&Prepared> = prepared.iter().collect();
    plan(&batch, before, |_| Some(owned), &mut HashSet::new()).fates
}

fn known(result: Result<u64, AppendError>) -> Fate {
    Fate::Known(result)
}

#[test]
fn appends_of_one_session_become_one_change_linked_end_to_end() {
    let turns = [
        append("s", 1, vec![opened("team"), progress("one")]),
        append("t", 1, vec![opened("team")]),
        append("s", 3, vec![progress("two")]),
        append("s", 4, Vec::new()),
    ];
    let prepared = prepared(&turns);
    let batch: Vec<&Prepared> = prepared.iter().collect();
    let plan = plan(&batch, &Before::default(), |_| Some(EPOCH), &mut HashSet::new());
    let expected = [Fate::Part(0, 2), Fate::Part(1, 1), Fate::Part(0, 3), Fate::Part(0, 3)];
    assert_eq!(plan.fates, expected);
    let change = &plan.changes[0];
    assert_eq!(change.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
    for pair in change.events.windows(2) {
        assert_eq!(pair[1].previous, pair[0].link);
    }
    assert_eq!(change.events[2].link, change.head);
    assert_eq!(change.after.last_seq, 3);
}

#[test]
fn what_is_in_already_is_recognised_by_its_id() {
    let first = append("s", 1, vec![opened("team"), progress("one")]);
    let second = append("s", 3, vec![progress("two")]);
    let before = after(&[first.clone(), second.clone()]);
    let turns = [first.clone(), second, append("s", 4, vec![progress("three")])];
    assert_eq!(fates(&turns, &before, EPOCH), [known(Ok(2)), known(Ok(3)), Fate::Part(0, 4)]);
    let mut other = first;
    other.append_id = uuid::Uuid::now_v7();
    assert_eq!(fates(&[other], &before, EPOCH), [known(Err(AppendError::Conflict))]);
}

#[test]
fn only_events_that_may_be_repeats_are_asked_for() {
    let first = append("s", 1, vec![opened("team"), progress("one")]);
    let before = after(std::slice::from_ref(&first));
    let turns = [first, append("s", 3, vec![progress("two")]), append("t", 1, vec![opened("x")])];
    let prepared = prepared(&turns);
    let batch: Vec<&Prepared> = prepared.iter().collect();
    assert_eq!(repeats(&batch, &before.sessions), [("s", 1), ("s", 2)]);
}

#[test]
fn a_refused_append_takes_those_after_it_along_and_no_others() {
    let before = after(&[append("s", 1, vec![opened("team")])]);
    let turns = [
        append("s", 1, vec![opened("team")]),
        append("t", 1, vec![opened("team")]),
        append("s", 2, vec![progress("it would fit")]),
        append("t", 2, vec![progress("it does")]),
    ];
    let conflict = || known(Err(AppendError::Conflict));
    let expected = [conflict(), Fate::Part(0, 1), conflict(), Fate::Part(0, 2)];
    assert_eq!(fates(&turns, &before, EPOCH), expected);
}

#[test]
fn an_epoch_that_is_not_the_claimed_one_is_fenced() {
    let newer = Epoch { generation: 1, revision: 8 };
    let turns = [append("s", 1, vec![opened("team")])];
    let fenced = known(Err(AppendError::Fenced));
    assert_eq!(fates(&turns, &Before::default(), newer), [fenced]);
}

#[test]
fn rows_that_cannot_be_trusted_take_nothing() {
    let mut before = Before::default();
    before.sessions.insert("s".to_owned(), Known::Damaged);
    let turns = [append("s", 2, vec![progress("more")])];
    assert_eq!(fates(&turns, &before, EPOCH), [known(Err(AppendError::Conflict))]);
}
