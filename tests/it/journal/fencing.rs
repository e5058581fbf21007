//! Who may append: claims, epochs, repeats and conflicts.

use callboard_orchestrator::journal::{Append, AppendError, Epoch};
use uuid::Uuid;

use super::{
    EPOCH, NEWER, OLDER, append, opened,
    place::{Backend, Place, on_both},
    progress, texts,
};

#[tokio::test]
async fn only_a_newer_epoch_or_the_same_claimant_may_claim() {
    on_both(async |place| {
        let claim = async |epoch, owner| place.journal.claim(&[(3, epoch)], owner).await.unwrap();
        assert_eq!(claim(EPOCH, "owner-a").await, [3], "a repeat after a lost answer");
        assert_eq!(claim(EPOCH, "owner-b").await, [] as [u32; 0]);
        assert_eq!(claim(OLDER, "owner-a").await, [] as [u32; 0]);
        assert_eq!(claim(NEWER, "owner-b").await, [3]);
        assert_eq!(claim(EPOCH, "owner-a").await, [] as [u32; 0]);
        let wanted = [(1, OLDER), (3, OLDER), (5, NEWER)];
        assert_eq!(place.journal.claim(&wanted, "owner-b").await.unwrap(), [1, 5]);
    })
    .await;
}

#[tokio::test]
async fn claims_outlive_the_process() {
    on_both(async |place| {
        let place = place.again().await;
        let older = place.journal.claim(&[(3, OLDER)], "owner-a").await.unwrap();
        assert_eq!(older, [] as [u32; 0]);
    })
    .await;
}

#[tokio::test]
async fn an_append_under_another_epoch_than_the_last_claim_is_fenced() {
    on_both(async |place| {
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
        let said = texts(&place.events("s").await.unwrap());
        assert_eq!(said, ["session.opened", "from the new owner"]);
    })
    .await;
}

#[tokio::test]
async fn a_partition_that_nobody_claimed_takes_no_append() {
    on_both(async |place| {
        let mut turn = append("s", 1, vec![opened("team")]);
        turn.partition = 9;
        assert_eq!(place.append(turn).await, Err(AppendError::Fenced));
    })
    .await;
}

/// Only a database knows two owners at once; a file is held by one process.
#[tokio::test]
async fn a_claim_of_another_process_fences_ours() {
    let backend = Backend::postgres().await;
    let other = backend.open().await.unwrap();
    let place = Place::new(backend).await;
    place.journal.claim(&[(4, EPOCH)], "owner-a").await.unwrap();
    for (session, partition) in [("moved", 3), ("kept", 4)] {
        let mut turn = append(session, 1, vec![opened("team")]);
        turn.partition = partition;
        place.append(turn).await.unwrap();
    }
    assert_eq!(other.claim(&[(3, NEWER)], "owner-b").await.unwrap(), [3]);
    let mut kept = append("kept", 2, vec![progress("still ours")]);
    kept.partition = 4;
    // All in one batch: the moved partition drops out, the other commits.
    let answers = [
        place.journal.submit(append("moved", 2, vec![progress("stale")])),
        place.journal.submit(kept),
        place.journal.submit(append("new", 1, vec![opened("team")])),
    ];
    let mut results = Vec::new();
    for answer in answers {
        results.push(answer.await.unwrap());
    }
    assert_eq!(results, [Err(AppendError::Fenced), Ok(2), Err(AppendError::Fenced)]);
    let mut taken_over = append("moved", 2, vec![progress("from the new owner")]);
    taken_over.epoch = NEWER;
    assert_eq!(other.submit(taken_over).await.unwrap(), Ok(2));
    let said = texts(&place.events("moved").await.unwrap());
    assert_eq!(said, ["session.opened", "from the new owner"]);
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_raised_generation_outranks_every_revision_before_it() {
    on_both(async |place| {
        assert_eq!(place.journal.generation().await.unwrap(), 1);
        let partitions = place.journal.partitions().await.unwrap();
        let schema = place.backend.schema();
        place.backend.store_settings(schema, 2, u64::from(partitions)).await;
        assert_eq!(place.journal.generation().await.unwrap(), 2);
        let stale = Epoch { generation: 1, revision: 1_000_000 };
        let claimed = place.journal.claim(&[(3, stale)], "owner-b").await.unwrap();
        assert_eq!(claimed, [] as [u32; 0]);
        let restored = Epoch { generation: 2, revision: 1 };
        assert_eq!(place.journal.claim(&[(3, restored)], "owner-b").await.unwrap(), [3]);
    })
    .await;
}

fn other_id(mut append: Append) -> Append {
    append.append_id = Uuid::now_v7();
    append
}

#[tokio::test]
async fn an_append_that_is_repeated_is_in_the_journal_once() {
    on_both(async |place| {
        let first = append("s", 1, vec![opened("team"), progress("one")]);
        let second = append("s", 3, vec![progress("two"), progress("three")]);
        place.append(first.clone()).await.unwrap();
        place.append(second.clone()).await.unwrap();
        assert_eq!(place.append(second.clone()).await, Ok(4));
        assert_eq!(place.append(first.clone()).await, Ok(2));
        assert_eq!(place.append(other_id(second.clone())).await, Err(AppendError::Conflict));
        assert_eq!(place.append(other_id(first.clone())).await, Err(AppendError::Conflict));
        let place = place.again().await;
        assert_eq!(place.append(second).await, Ok(4), "by another process too");
        assert_eq!(place.append(first).await, Ok(2));
        assert_eq!(place.events("s").await.unwrap().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn an_append_that_does_not_follow_is_a_conflict() {
    on_both(async |place| {
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
    })
    .await;
}

#[tokio::test]
async fn an_append_that_fails_takes_those_after_it_along_and_no_others() {
    on_both(async |place| {
        place.append(append("s", 1, vec![opened("team")])).await.unwrap();
        let answers: Vec<_> = [
            append("s", 1, vec![opened("team")]),
            append("t", 1, vec![opened("team")]),
            // It is refused as well if it is in the same batch, and only then.
            append("s", 3, vec![progress("on top of nothing")]),
            append("t", 2, vec![progress("fine")]),
        ]
        .into_iter()
        .map(|append| place.journal.submit(append))
        .collect();
        let mut results = Vec::new();
        for answer in answers {
            results.push(answer.await.unwrap());
        }
        assert_eq!(results, [Err(AppendError::Conflict), Ok(1), Err(AppendError::Conflict), Ok(2)]);
        assert_eq!(place.events("s").await.unwrap().len(), 1);
        assert_eq!(place.journal.verify().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn an_append_that_contradicts_itself_is_refused() {
    on_both(async |place| {
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
    })
    .await;
}
