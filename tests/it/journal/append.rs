//! What is appended, read, listed and deleted.

use callboard_orchestrator::{
    journal::{AppendError, JournalError, SessionRow, SessionState},
    run::{
        event::{Event, RunStarted, SessionKind},
        ids::SessionId,
    },
};

use super::{EPOCH, append, opened, place::on_both, progress, texts};

#[tokio::test]
async fn what_was_appended_is_read_back_after_reopening() {
    on_both(async |place| {
        let first = append("s", 1, vec![opened("team"), progress("one")]);
        let second = append("s", 3, vec![progress("zero byte \0, and \u{1f600}")]);
        let expected: Vec<_> = first.events.iter().chain(&second.events).cloned().collect();
        assert_eq!(place.append(first).await, Ok(2));
        assert_eq!(place.append(second).await, Ok(3));
        assert_eq!(place.events("s").await.unwrap(), expected);
        let place = place.again().await;
        assert_eq!(place.events("s").await.unwrap(), expected);
        assert_eq!(place.journal.verify().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn pages_hold_what_lies_between() {
    on_both(async |place| {
        let mut events = vec![opened("team")];
        events.extend((2..=1300).map(|number| progress(&number.to_string())));
        place.append(append("s", 1, events)).await.unwrap();
        let page = async |after, limit| {
            let events = place.journal.read(&"s".into(), after, limit).await.unwrap();
            events.into_iter().map(|event| event.seq).collect::<Vec<_>>()
        };
        assert_eq!(page(0, 3).await, [1, 2, 3]);
        assert_eq!(page(3, 3).await, [4, 5, 6]);
        assert_eq!(page(1298, 3).await, [1299, 1300]);
        assert_eq!(page(1300, 3).await, [] as [u64; 0]);
        assert_eq!(page(1400, 3).await, [] as [u64; 0]);
        assert_eq!(page(0, 0).await, [] as [u64; 0]);
        assert_eq!(page(0, usize::MAX).await, (1..=1300).collect::<Vec<_>>());
        assert_eq!(page(2, 1200).await, (3..=1202).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn an_unknown_session_has_no_events_and_no_row() {
    on_both(async |place| {
        assert_eq!(place.events("nobody").await.unwrap(), []);
        assert_eq!(place.journal.session(&"nobody".into()).await.unwrap(), None);
        place.journal.delete(&"nobody".into()).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_session_row_says_what_its_events_said() {
    on_both(async |place| {
        let mut turn = append("s", 1, vec![opened("team"), progress("one")]);
        (turn.state, turn.wake_at_ms) = (SessionState::Waiting, Some(42));
        place.append(turn).await.unwrap();
        let expected = SessionRow {
            id: SessionId::from("s"),
            partition: 3,
            team: "team".to_owned(),
            kind: SessionKind::Chat,
            agent: "default".to_owned(),
            title: "a title".to_owned(),
            state: SessionState::Waiting,
            wake_at_ms: Some(42),
            last_seq: 2,
            opened_ms: 1_700_000_000_001,
            updated_ms: 1_700_000_000_002,
        };
        assert_eq!(place.journal.session(&"s".into()).await.unwrap(), Some(expected));
    })
    .await;
}

#[tokio::test]
async fn an_append_of_no_events_changes_the_state_alone() {
    on_both(async |place| {
        place.append(append("s", 1, vec![opened("team")])).await.unwrap();
        let mut idle = append("s", 2, Vec::new());
        idle.state = SessionState::Idle;
        assert_eq!(place.append(idle).await, Ok(1));
        let row = place.journal.session(&"s".into()).await.unwrap().unwrap();
        assert_eq!((row.state, row.last_seq), (SessionState::Idle, 1));
        assert_eq!(place.append(append("s", 2, vec![progress("more")])).await, Ok(2));
        assert_eq!(place.journal.verify().await.unwrap(), []);
    })
    .await;
}

fn ids(rows: Vec<SessionRow>) -> Vec<String> {
    rows.into_iter().map(|row| row.id.to_string()).collect()
}

#[tokio::test]
async fn sessions_are_listed_by_team_the_last_opened_first() {
    on_both(async |place| {
        for (session, team) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")] {
            place.append(append(session, 1, vec![opened(team)])).await.unwrap();
        }
        let listed = async |team, limit| ids(place.journal.sessions(team, limit).await.unwrap());
        assert_eq!(listed("x", 10).await, ["d", "c", "a"]);
        assert_eq!(listed("x", 2).await, ["d", "c"]);
        assert_eq!(listed("y", 10).await, ["b"]);
        assert_eq!(listed("z", 10).await, [] as [&str; 0]);
    })
    .await;
}

#[tokio::test]
async fn unfinished_and_due_sessions_are_found_by_partition() {
    on_both(async |place| {
        place.journal.claim(&[(4, EPOCH)], "owner-a").await.unwrap();
        for (session, partition, state, wake_at_ms) in [
            ("active", 3, SessionState::Active, None),
            ("idle", 3, SessionState::Idle, None),
            ("late", 3, SessionState::Waiting, Some(200)),
            ("soon", 3, SessionState::Waiting, Some(100)),
            ("other", 4, SessionState::Active, Some(100)),
        ] {
            let mut turn = append(session, 1, vec![opened("team")]);
            (turn.partition, turn.state, turn.wake_at_ms) = (partition, state, wake_at_ms);
            place.append(turn).await.unwrap();
        }
        let journal = &place.journal;
        assert_eq!(ids(journal.unfinished(&[3]).await.unwrap()), ["active"]);
        assert_eq!(ids(journal.unfinished(&[4]).await.unwrap()), ["other"]);
        assert_eq!(ids(journal.unfinished(&[5]).await.unwrap()), [] as [&str; 0]);
        assert_eq!(ids(journal.due(&[3, 4], 99).await.unwrap()), [] as [&str; 0]);
        assert_eq!(ids(journal.due(&[3], 100).await.unwrap()), ["soon"]);
        assert_eq!(ids(journal.due(&[3], 200).await.unwrap()), ["soon", "late"]);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_the_others_stay() {
    on_both(async |place| {
        for session in ["a", "b"] {
            let events = vec![opened("team"), progress("a secret word")];
            place.append(append(session, 1, events)).await.unwrap();
        }
        place.journal.delete(&"a".into()).await.unwrap();
        assert_eq!(place.events("a").await.unwrap(), []);
        assert_eq!(place.events("b").await.unwrap().len(), 2);
        assert_eq!(place.journal.verify().await.unwrap(), []);
        let late = append("a", 3, vec![progress("from one who did not hear of it")]);
        assert_eq!(place.append(late).await, Err(AppendError::Conflict));
        assert_eq!(place.append(append("a", 1, vec![opened("team")])).await, Ok(1));
    })
    .await;
}

#[tokio::test]
async fn a_long_system_prompt_is_kept_once() {
    on_both(async |place| {
        let prompt = "You are careful. ".repeat(1000);
        let started = RunStarted { system_prompt: prompt, ..RunStarted::default() };
        let mut events = vec![opened("team")];
        events.extend((0..50).map(|_| Event::RunStarted(started.clone())));
        let turn = append("s", 1, events);
        let expected = turn.events.clone();
        place.append(turn).await.unwrap();
        assert_eq!(place.events("s").await.unwrap(), expected);
        assert_eq!(place.backend.number("SELECT count(*) FROM blob").await, 1);
        let bytes = "SELECT CAST(sum(length(payload)) AS bigint) FROM event";
        assert!(place.backend.number(bytes).await < 10_000);
    })
    .await;
}

#[tokio::test]
async fn a_mebibyte_is_one_append_like_any_other() {
    on_both(async |place| {
        let text = "x".repeat(1 << 20);
        let turn = append("s", 1, vec![opened("team"), progress(&text)]);
        assert_eq!(place.append(turn).await, Ok(2));
        assert_eq!(texts(&place.events("s").await.unwrap()), ["session.opened", &text]);
    })
    .await;
}

#[tokio::test]
async fn a_closed_journal_says_so() {
    on_both(async |place| {
        place.append(append("s", 1, vec![opened("team")])).await.unwrap();
        place.journal.close().await;
        let after = place.append(append("s", 2, vec![progress("late")])).await;
        assert_eq!(after, Err(AppendError::Closed));
        assert!(matches!(place.events("s").await, Err(JournalError::Closed)));
        assert!(matches!(place.journal.claim(&[], "a").await, Err(JournalError::Closed)));
        place.journal.close().await;
    })
    .await;
}

/// What one backend cannot hold, the other need not; but it is refused alone.
#[tokio::test]
async fn an_append_that_cannot_be_stored_holds_up_no_other() {
    on_both(async |place| {
        let answers: Vec<_> = ["one", "with a zero byte \0", "two"]
            .into_iter()
            .map(|team| place.journal.submit(append(team, 1, vec![opened(team)])))
            .collect();
        let mut results = Vec::new();
        for answer in answers {
            results.push(answer.await.unwrap());
        }
        assert_eq!((&results[0], &results[2]), (&Ok(1), &Ok(1)));
        assert!(matches!(results[1], Ok(1) | Err(AppendError::Backend(_))), "{results:?}");
        assert_eq!(place.journal.verify().await.unwrap(), []);
    })
    .await;
}
