//! Rows that were changed behind the journal's back: found, named, and nobody else's trouble.

use callboard_orchestrator::{
    journal::{AppendError, Damage, JournalError},
    run::event::{Event, RunStarted},
};

use super::{
    append, opened,
    place::{Place, on_both},
    progress,
};

const SESSIONS: [&str; 3] = ["first", "second", "third"];

async fn fill(place: &Place) {
    for session in SESSIONS {
        let mut events = vec![opened("team")];
        events.extend((2..=6).map(|seq| progress(&format!("{session} says {seq}"))));
        place.append(append(session, 1, events)).await.unwrap();
    }
}

#[tokio::test]
async fn a_flipped_byte_in_an_event_is_named_and_only_its_session_refused() {
    on_both(async |place| {
        fill(&place).await;
        place.backend.flip("second", 4).await;
        for session in SESSIONS {
            let read = place.events(session).await;
            if session == "second" {
                let says = "session second is damaged at event 4: it was changed";
                assert_eq!(read.unwrap_err().to_string(), says);
            } else {
                assert_eq!(read.unwrap().len(), 6);
            }
        }
        let before = place.journal.read(&"second".into(), 0, 3).await.unwrap();
        assert_eq!(before.len(), 3, "the events before it are still there to be saved");
        let what = "it was changed".to_owned();
        let damage = Damage { session: Some("second".into()), seq: Some(4), what };
        assert_eq!(place.journal.verify().await.unwrap(), std::slice::from_ref(&damage));
        let inspected = place.backend.inspect().await.unwrap().unwrap();
        assert_eq!(inspected.damages, [damage]);
        assert!(!inspected.place.contains("p%40ss"), "{}", inspected.place);
    })
    .await;
}

/// What is done to the session with key `{}`, and what is said of it then.
const CHANGES: [(&str, &str); 9] = [
    ("DELETE FROM event WHERE session = {} AND seq = 6", "6: it is missing"),
    ("DELETE FROM event WHERE session = {} AND seq = 2", "2: it is missing"),
    ("DELETE FROM event WHERE session = {}", "1: it is missing"),
    (
        "UPDATE event SET seq = 9 WHERE session = {} AND seq = 2;
         UPDATE event SET seq = 2 WHERE session = {} AND seq = 3;
         UPDATE event SET seq = 3 WHERE session = {} AND seq = 9",
        "2: it does not follow the event before it",
    ),
    (
        "INSERT INTO event SELECT {}, 7, generation, revision, append_id, type, schema,
         wall_ms, payload, prev_hash, hash FROM event WHERE session = {} AND seq = 6",
        "7: it does not follow the event before it",
    ),
    ("UPDATE event SET revision = 8 WHERE session = {} AND seq = 3", "3: it was changed"),
    ("UPDATE session SET last_seq = 5 WHERE key = {}", "7: the session's own row was changed"),
    ("UPDATE session SET team = 'x' WHERE key = {}", "7: the session's own row was changed"),
    ("UPDATE session SET kind = 'x' WHERE key = {}", "1: the session's own row was changed"),
];

#[tokio::test]
async fn rows_that_are_lost_or_changed_are_found() {
    on_both(async |place| {
        let name = |key: usize| format!("s{key}");
        for key in 1..=CHANGES.len() + 1 {
            let mut events = vec![opened("team")];
            events.extend((2..=6).map(|seq| progress(&seq.to_string())));
            place.append(append(&name(key), 1, events)).await.unwrap();
        }
        for (key, (sql, says)) in (1..).zip(CHANGES) {
            place.execute(&sql.replace("{}", &key.to_string())).await;
            let error = place.events(&name(key)).await.unwrap_err();
            assert_eq!(error.to_string(), format!("session s{key} is damaged at event {says}"));
        }
        assert_eq!(place.events("s10").await.unwrap().len(), 6);
        let damages = place.journal.verify().await.unwrap();
        let found: Vec<_> = damages.iter().map(|damage| damage.session.clone()).collect();
        let expected: Vec<_> =
            (1..=CHANGES.len()).map(|key| Some(name(key).as_str().into())).collect();
        assert_eq!(found, expected, "{damages:?}");
    })
    .await;
}

#[tokio::test]
async fn a_damaged_session_is_not_listed_and_takes_no_append() {
    on_both(async |place| {
        for session in ["s", "t"] {
            place.append(append(session, 1, vec![opened("team")])).await.unwrap();
        }
        place.execute("UPDATE session SET title = 'forged' WHERE id = 's'").await;
        // Nobody remembers what the rows were.
        let place = place.again().await;
        let listed = place.journal.sessions("team", 9).await.unwrap();
        assert_eq!(listed.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["t"]);
        assert_eq!(place.journal.unfinished(&[3]).await.unwrap().len(), 1);
        let session = place.journal.session(&"s".into()).await;
        assert!(matches!(session, Err(JournalError::Damaged { seq: 2, .. })));
        let more = append("s", 2, vec![progress("more")]);
        assert_eq!(place.append(more).await, Err(AppendError::Conflict));
        assert_eq!(place.append(append("t", 2, vec![progress("more")])).await, Ok(2));
    })
    .await;
}

#[tokio::test]
async fn a_changed_claim_fences_its_partition_until_it_is_claimed_again() {
    on_both(async |place| {
        place.append(append("s", 1, vec![opened("team")])).await.unwrap();
        place.execute("UPDATE partition SET revision = 9999 WHERE id = 3").await;
        // After anything but an append, a writer looks again at what it knew.
        place.journal.delete(&"another".into()).await.unwrap();
        let mut more = append("s", 2, vec![progress("more")]);
        assert_eq!(place.append(more.clone()).await, Err(AppendError::Fenced));
        let damages = place.journal.verify().await.unwrap();
        assert_eq!(damages[0].what, "the claim of partition 3 was changed");
        more.epoch.revision += 1;
        assert_eq!(place.journal.claim(&[(3, more.epoch)], "owner-b").await.unwrap(), [3]);
        assert_eq!(place.append(more).await, Ok(2));
    })
    .await;
}

#[tokio::test]
async fn a_changed_system_prompt_stops_the_sessions_that_share_it() {
    on_both(async |place| {
        let started = RunStarted { system_prompt: "p".repeat(1000), ..RunStarted::default() };
        let events = vec![opened("team"), Event::RunStarted(started)];
        place.append(append("s", 1, events)).await.unwrap();
        place.append(append("t", 1, vec![opened("team")])).await.unwrap();
        place.execute("DELETE FROM blob").await;
        assert!(matches!(place.events("s").await, Err(JournalError::Damaged { seq: 2, .. })));
        assert_eq!(place.events("t").await.unwrap().len(), 1);
        assert_eq!(place.journal.verify().await.unwrap()[0].session, Some("s".into()));
    })
    .await;
}
