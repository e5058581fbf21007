//! Many sessions at once: order, shared syncs, and a queue that is full.

use callboard_orchestrator::journal::AppendError;

use super::{
    append, opened,
    place::{Backend, Place, on_both},
    progress, texts,
};

const SESSIONS: u64 = 64;
const TURNS: u64 = 20;

/// Appends by 64 callers at once, each waiting for its answer before it goes on, as a session does
/// that changes something.
async fn crowd(place: &Place) {
    let callers = (0..SESSIONS).map(|session| async move {
        for turn in 1..=TURNS {
            let event = if turn == 1 { opened("team") } else { progress(&turn.to_string()) };
            let turn = append(&format!("s{session}"), turn, vec![event]);
            place.append(turn).await.unwrap();
        }
    });
    futures_util::future::join_all(callers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_64_sessions_share_their_syncs() {
    on_both(async |place| {
        let before = (place.commits(), place.server_commits().await);
        crowd(&place).await;
        let commits = (place.commits() - before.0) as u64;
        assert!(commits * 16 <= SESSIONS * TURNS, "{commits} syncs for {}", SESSIONS * TURNS);
        // The server counts for itself; it also counts what only reads.
        if let (Some(before), Some(after)) = (before.1, place.server_commits().await) {
            let commits = after - before;
            assert!(commits * 16 <= SESSIONS * TURNS, "{commits} as the server counts");
        }
        let mut expected = vec!["session.opened".to_owned()];
        expected.extend((2..=TURNS).map(|turn| turn.to_string()));
        for session in 0..SESSIONS {
            let events = place.events(&format!("s{session}")).await.unwrap();
            assert_eq!(texts(&events), expected);
        }
        assert_eq!(place.journal.verify().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn appends_that_nobody_waits_for_keep_their_order() {
    on_both(async |place| {
        let mut answers = Vec::new();
        for turn in 1..=TURNS {
            for session in 0..SESSIONS {
                let event = if turn == 1 { opened("team") } else { progress(&turn.to_string()) };
                let turn = append(&format!("s{session}"), turn, vec![event]);
                answers.push((turn.expected_seq, place.journal.submit(turn)));
            }
        }
        for (seq, answer) in answers {
            assert_eq!(answer.await.unwrap(), Ok(seq));
        }
        let events = place.events("s63").await.unwrap();
        assert_eq!(events.len() as u64, TURNS);
    })
    .await;
}

#[tokio::test]
async fn a_fold_waits_for_the_appends_before_it() {
    on_both(async |place| {
        for session in 0..SESSIONS {
            // Nobody waits for the answer: an actor that gave up.
            drop(place.journal.submit(append(&format!("s{session}"), 1, vec![opened("team")])));
        }
        assert_eq!(texts(&place.events("s63").await.unwrap()), ["session.opened"]);
    })
    .await;
}

/// The queue of either is bounded; here its writer is held up by a lock of somebody else.
#[tokio::test]
async fn a_queue_that_is_full_refuses_at_once_and_nothing_is_lost() {
    const MORE_THAN_WAIT: usize = 6000;
    on_both(async |place| {
        let held = place.hold().await;
        let answers: Vec<_> = (0..MORE_THAN_WAIT)
            .map(|number| {
                let session = format!("s{number}");
                place.journal.submit(append(&session, 1, vec![opened("team")]))
            })
            .collect();
        held.release().await;
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
        assert!(done >= 4096 && refused > 0, "{done} done, {refused} refused");
        let listed = place.journal.sessions("team", usize::MAX).await.unwrap();
        assert_eq!(listed.len(), done);
    })
    .await;
}

/// A lock of somebody else, which no append gets past.
enum Held {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client),
}

impl Held {
    async fn release(self) {
        match self {
            Self::Sqlite(file) => file.execute_batch("ROLLBACK").unwrap(),
            Self::Postgres(client) => client.batch_execute("ROLLBACK").await.unwrap(),
        }
    }
}

impl Place {
    async fn hold(&self) -> Held {
        match &self.backend {
            Backend::Sqlite(folder) => {
                let file = rusqlite::Connection::open(folder.path().join("journal.db")).unwrap();
                file.execute_batch("BEGIN IMMEDIATE").unwrap();
                Held::Sqlite(file)
            }
            Backend::Postgres(url) => {
                let client = super::place::client(url).await;
                client.batch_execute("BEGIN; LOCK TABLE partition").await.unwrap();
                Held::Postgres(client)
            }
        }
    }

    /// Transactions of this database that wrote something, as the server's own log numbers them;
    /// SQLite has no server.
    async fn server_commits(&self) -> Option<u64> {
        match &self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(url) => {
                let client = super::place::client(url).await;
                let sql = "SELECT count(*) FROM (SELECT DISTINCT xmin::text FROM event) t";
                let count: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
                Some(count.cast_unsigned())
            }
        }
    }
}
