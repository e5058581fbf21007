//! Who may append: claims, epochs, repeats and conflicts.

use super::*;
use crate::journal::Epoch;

const OLDER: Epoch = Epoch { generation: 1, revision: 6 };
const NEWER: Epoch = Epoch { generation: 1, revision: 8 };

#[tokio::test]
async fn only_a_newer_epoch_or_the_same_claimant_may_claim() {
    let place = Place::new().await;
    let claim = |epoch, owner: &'static str| {
        let journal = &place.journal;
        async move { journal.claim(&[(3, epoch)], owner).await.unwrap() }
    };
    assert_eq!(claim(EPOCH, "owner-a").await, [3], "a repeat after a lost answer");
    assert_eq!(claim(EPOCH, "owner-b").await, [] as [u32; 0]);
    assert_eq!(claim(OLDER, "owner-a").await, [] as [u32; 0]);
    assert_eq!(claim(NEWER, "owner-b").await, [3]);
    assert_eq!(claim(EPOCH, "owner-a").await, [] as [u32; 0]);
}

#[tokio::test]
async fn of_many_partitions_those_that_may_be_claimed_are() {
    let place = Place::new().await;
    let wanted = [(1, OLDER), (3, OLDER), (5, NEWER)];
    assert_eq!(place.journal.claim(&wanted, "owner-b").await.unwrap(), [1, 5]);
}

#[tokio::test]
async fn claims_outlive_the_process() {
    let place = Place::new().await.again().await;
    assert_eq!(place.journal.claim(&[(3, OLDER)], "owner-a").await.unwrap(), [] as [u32; 0]);
    assert_eq!(place.append(append("s", 1, vec![opened("team")])).await, Ok(1));
}

#[tokio::test]
async fn an_append_under_another_epoch_than_the_last_claim_is_fenced() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    place.journal.claim(&[(3, NEWER)], "owner-b").await.unwrap();
    let late = append("s", 2, vec![progress("from the old owner")]);
    assert_eq!(place.append(late).await, Err(AppendError::Fenced));
    for epoch in [OLDER, Epoch { generation: 2, revision: 1 }] {
        let mut other = append("s", 2, vec![progress("x")]);
        other.epoch = epoch;
        assert_eq!(place.append(other).await, Err(AppendError::Fenced));
    }
    let mut new = append("s", 2, vec![progress("from the new owner")]);
    new.epoch = NEWER;
    assert_eq!(place.append(new).await, Ok(2));
    assert_eq!(texts(&place.events("s").await.unwrap()), ["session.opened", "from the new owner"]);
}

#[tokio::test]
async fn a_partition_that_nobody_claimed_takes_no_append() {
    let place = Place::new().await;
    let mut turn = append("s", 1, vec![opened("team")]);
    turn.partition = 9;
    assert_eq!(place.append(turn).await, Err(AppendError::Fenced));
}

#[tokio::test]
async fn a_claim_between_two_queued_appends_lets_only_the_first_pass() {
    let place = Place::new().await;
    let first = place.journal.submit(append("s", 1, vec![opened("team")]));
    let claim = place.journal.claim(&[(3, NEWER)], "owner-b");
    let claimed = claim.await.unwrap();
    let second = place.journal.submit(append("s", 2, vec![progress("late")]));
    assert_eq!(claimed, [3]);
    assert_eq!(first.await.unwrap(), Ok(1));
    assert_eq!(second.await.unwrap(), Err(AppendError::Fenced));
}

#[tokio::test]
async fn a_raised_generation_outranks_every_revision_before_it() {
    let place = Place::new().await;
    assert_eq!(place.journal.generation().await.unwrap(), 1);
    assert_eq!(place.journal.raise_generation().await.unwrap(), 2);
    assert_eq!(place.journal.generation().await.unwrap(), 2);
    let stale = Epoch { generation: 1, revision: 1_000_000 };
    assert_eq!(place.journal.claim(&[(3, stale)], "owner-b").await.unwrap(), [] as [u32; 0]);
    let restored = Epoch { generation: 2, revision: 1 };
    assert_eq!(place.journal.claim(&[(3, restored)], "owner-b").await.unwrap(), [3]);
}

#[tokio::test]
async fn an_append_that_is_repeated_is_in_the_journal_once() {
    let place = Place::new().await;
    let first = append("s", 1, vec![opened("team"), progress("one")]);
    let second = append("s", 3, vec![progress("two"), progress("three")]);
    place.append(repeat_of(&first)).await.unwrap();
    place.append(repeat_of(&second)).await.unwrap();
    assert_eq!(place.append(repeat_of(&second)).await, Ok(4));
    assert_eq!(place.append(repeat_of(&first)).await, Ok(2));
    assert_eq!(place.append(other_id(second)).await, Err(AppendError::Conflict));
    assert_eq!(place.append(other_id(first)).await, Err(AppendError::Conflict));
    assert_eq!(place.events("s").await.unwrap().len(), 4);
}

#[tokio::test]
async fn an_append_that_does_not_follow_is_a_conflict() {
    let place = Place::new().await;
    let gap = append("s", 2, vec![progress("nothing before it")]);
    assert_eq!(place.append(gap).await, Err(AppendError::Conflict));
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    for seq in [1, 3, 1 << 40, u64::MAX] {
        let turn = append("s", seq, Vec::new());
        assert_eq!(place.append(turn).await, Err(AppendError::Conflict), "at {seq}");
    }
    let longer = append("s", 1, vec![opened("team"), progress("raced")]);
    assert_eq!(place.append(longer).await, Err(AppendError::Conflict));
    assert_eq!(place.events("s").await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_append_that_contradicts_itself_is_refused() {
    let place = Place::new().await;
    let check = async |turn: Append, says: &str| match place.append(turn).await {
        Err(AppendError::Backend(text)) => assert_eq!(text, says),
        other => panic!("expected a refusal, got {other:?}"),
    };
    let unopened = append("s", 1, vec![progress("x")]);
    check(unopened, "the first event of a session must open it").await;
    let mut misnumbered = append("s", 1, vec![opened("team"), progress("x")]);
    misnumbered.events[1].seq = 3;
    check(misnumbered, "event 3 stands at 2").await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    place.journal.claim(&[(4, EPOCH)], "owner-a").await.unwrap();
    let mut elsewhere = append("s", 2, vec![progress("x")]);
    elsewhere.partition = 4;
    check(elsewhere, "the session lies in partition 3, not 4").await;
}
