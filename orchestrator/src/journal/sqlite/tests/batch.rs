//! Many appends at once: shared transactions, order, and a queue that is full.

use futures_util::FutureExt as _;

use super::*;
use crate::journal::queue::{QUEUE_BYTES, QUEUE_CAPACITY};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_many_sessions_share_transactions() {
    const CALLERS: u64 = 64;
    const TURNS: u64 = 20;
    let place = Place::new().await;
    let before = place.journal.commits();
    let mut answers = Vec::new();
    // All of a turn are queued before any is waited for: they cannot but meet.
    for turn in 1..=TURNS {
        for caller in 0..CALLERS {
            let event = if turn == 1 { opened("team") } else { progress("more") };
            let turn = append(&format!("s{caller}"), turn, vec![event]);
            answers.push(place.journal.submit(turn));
        }
    }
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    let commits = (place.journal.commits() - before) as u64;
    assert!(commits * 16 <= CALLERS * TURNS, "{commits} transactions for {}", CALLERS * TURNS);
    for caller in 0..CALLERS {
        assert_eq!(place.events(&format!("s{caller}")).await.unwrap().len() as u64, TURNS);
    }
}

/// Queues appends behind a transaction of somebody else, so that they make one batch.
async fn in_one_batch(place: &Place, appends: Vec<Append>) -> Vec<Result<u64, AppendError>> {
    let other = rusqlite::Connection::open(place.folder.path().join("journal.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer is held up at this one; the rest waits behind it.
    let held = place.journal.submit(append("held", 1, vec![opened("team")]));
    let answers: Vec<_> = appends.into_iter().map(|it| place.journal.submit(it)).collect();
    other.execute_batch("ROLLBACK").unwrap();
    held.await.unwrap().unwrap();
    let mut results = Vec::new();
    for answer in answers {
        results.push(answer.await.unwrap());
    }
    results
}

#[tokio::test]
async fn an_append_that_fails_takes_those_after_it_along_and_no_others() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    let results = in_one_batch(
        &place,
        vec![
            append("s", 1, vec![opened("team")]),
            append("t", 1, vec![opened("team")]),
            // It would fit, but it was made by one who expected the first to be in.
            append("s", 2, vec![progress("on top of nothing")]),
            append("t", 2, vec![progress("fine")]),
        ],
    )
    .await;
    assert_eq!(results, [Err(AppendError::Conflict), Ok(1), Err(AppendError::Conflict), Ok(2)]);
    assert_eq!(place.events("s").await.unwrap().len(), 1);
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_session_whose_rows_cannot_be_read_does_not_hold_up_the_batch() {
    let place = Place::new().await;
    for session in ["bad", "good"] {
        place.append(append(session, 1, vec![opened("team")])).await.unwrap();
    }
    place.execute("UPDATE session SET state = 'nonsense' WHERE id = 'bad'").await;
    let results = in_one_batch(
        &place,
        vec![
            append("good", 2, vec![progress("one")]),
            append("bad", 2, vec![progress("two")]),
            append("good", 3, vec![progress("three")]),
            append("bad", 3, vec![progress("four")]),
        ],
    )
    .await;
    assert_eq!(results, [Ok(2), Err(AppendError::Conflict), Ok(3), Err(AppendError::Conflict)]);
    assert_eq!(place.events("good").await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_queue_that_is_full_refuses_at_once_and_nothing_is_lost() {
    let place = Place::new().await;
    let other = rusqlite::Connection::open(place.folder.path().join("journal.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answers: Vec<_> = (0..QUEUE_CAPACITY + 600)
        .map(|number| {
            let session = format!("s{number}");
            place.journal.submit(append(&session, 1, vec![opened("team")]))
        })
        .collect();
    other.execute_batch("ROLLBACK").unwrap();
    let overloaded = Err(AppendError::Backend("journal overloaded".to_owned()));
    let (mut done, mut refused) = (0, 0);
    for answer in answers {
        match answer.await.unwrap() {
            Ok(1) => done += 1,
            result => {
                assert_eq!(result, overloaded);
                refused += 1;
            }
        }
    }
    assert!(done >= QUEUE_CAPACITY && refused > 0, "{done} done, {refused} refused");
    assert_eq!(place.journal.sessions("team", usize::MAX).await.unwrap().len(), done);
}

#[tokio::test]
async fn a_queue_of_many_bytes_is_full_as_well() {
    let place = Place::new().await;
    let other = rusqlite::Connection::open(place.folder.path().join("journal.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let large = "x".repeat(QUEUE_BYTES / 4);
    let answers: Vec<_> = (0..8)
        .map(|number| {
            let events = vec![opened("team"), progress(&large)];
            place.journal.submit(append(&format!("s{number}"), 1, events))
        })
        .collect();
    other.execute_batch("ROLLBACK").unwrap();
    let mut results = Vec::new();
    for answer in answers {
        results.push(answer.await.unwrap());
    }
    let overloaded = Err(AppendError::Backend("journal overloaded".to_owned()));
    assert_eq!(results.iter().filter(|result| *result == &Ok(2)).count(), 4);
    assert_eq!(results.iter().filter(|result| *result == &overloaded).count(), 4);
    assert_eq!(place.append(append("later", 1, vec![opened("team")])).await, Ok(1));
}

#[tokio::test]
async fn a_fold_waits_for_the_appends_before_it() {
    let place = Place::new().await;
    let other = rusqlite::Connection::open(place.folder.path().join("journal.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Nobody waits for the answer: an actor that gave up.
    drop(place.journal.submit(append("s", 1, vec![opened("team")])));
    let fold = place.events("s");
    tokio::pin!(fold);
    assert!((&mut fold).now_or_never().is_none());
    other.execute_batch("ROLLBACK").unwrap();
    let events = tokio::time::timeout(SOON, fold).await.unwrap().unwrap();
    assert_eq!(texts(&events), ["session.opened"]);
}
