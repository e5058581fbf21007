//! Claims among queued appends, and generations raised by a restore.

use super::*;
use crate::journal::Epoch;

const NEWER: Epoch = Epoch { generation: 1, revision: 8 };

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
