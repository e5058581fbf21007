//! Rows and bytes that were changed behind the journal's back.

use super::*;
use crate::journal::Damage;
use crate::journal::prepared::Prepared;
use crate::journal::queue::Queued;

const SESSIONS: [&str; 4] = ["first", "second", "third", "fourth"];

/// A closed journal with four sessions of some length; gives their events.
async fn written() -> (TempDir, Vec<Vec<Recorded>>) {
    let place = Place::new().await;
    let mut expected = Vec::new();
    for session in SESSIONS {
        let mut events = vec![opened("team")];
        events.extend((2..=6).map(|seq| progress(&format!("{session} says {seq}"))));
        let turn = append(session, 1, events);
        expected.push(turn.events.clone());
        place.append(turn).await.unwrap();
    }
    place.journal.close().await;
    (place.folder, expected)
}

fn flip(folder: &TempDir, offset: usize) {
    let path = folder.path().join("journal.db");
    let mut file = std::fs::read(&path).unwrap();
    file[offset] ^= 0x10;
    std::fs::write(path, file).unwrap();
}

fn offset_of(folder: &TempDir, text: &str) -> usize {
    let file = std::fs::read(folder.path().join("journal.db")).unwrap();
    file.windows(text.len()).position(|bytes| bytes == text.as_bytes()).unwrap()
}

#[tokio::test]
async fn a_flipped_byte_in_an_event_is_named_and_only_its_session_refused() {
    let (folder, expected) = written().await;
    flip(&folder, offset_of(&folder, "second says 4") + 3);
    let journal = open(&folder).await;
    for (session, expected) in SESSIONS.iter().zip(expected) {
        let read = journal.read(&SessionId::from(*session), 0, usize::MAX).await;
        if *session == "second" {
            let error = read.unwrap_err();
            assert_eq!(error.to_string(), "session second is damaged at event 4: it was changed");
        } else {
            assert_eq!(read.unwrap(), expected);
        }
    }
    let before = journal.read(&"second".into(), 0, 3).await.unwrap();
    assert_eq!(before.len(), 3, "the events before it are still there to be saved");
    let damage =
        Damage { session: Some("second".into()), seq: Some(4), what: "it was changed".to_owned() };
    assert_eq!(journal.verify().await.unwrap(), [damage]);
}

/// Whatever byte is flipped: what is read is what was written, or the fault is found.
#[tokio::test]
async fn a_flipped_byte_anywhere_is_found_or_changes_nothing() {
    let (folder, expected) = written().await;
    let path = folder.path().join("journal.db");
    let whole = std::fs::read(&path).unwrap();
    let (mut found, mut harmless) = (0, 0);
    let used: Vec<_> = (0..whole.len()).filter(|offset| whole[*offset] != 0).collect();
    // Every byte takes minutes; this meets every kind of place in a page.
    for &offset in used.iter().step_by(used.len() / 251) {
        std::fs::write(&path, &whole).unwrap();
        flip(&folder, offset);
        let Ok(journal) = SqliteJournal::open(Config::new(&path)).await else {
            found += 1;
            continue;
        };
        let mut refused = 0;
        for (session, expected) in SESSIONS.iter().zip(&expected) {
            match journal.read(&SessionId::from(*session), 0, usize::MAX).await {
                Ok(events) if &events == expected => {}
                Ok(events) => {
                    assert_eq!(events, [], "changed events were read after a flip at {offset}");
                    refused += 1;
                }
                Err(_) => refused += 1,
            }
        }
        let is_whole = journal.verify().await.is_ok_and(|damages| damages.is_empty());
        assert!(refused == 0 || !is_whole, "doctor does not see the flip at {offset}");
        if refused == 0 && is_whole {
            harmless += 1;
        } else {
            found += 1;
        }
        journal.close().await;
    }
    // Counters in the file's header, and the like.
    assert!(harmless * 20 < found, "{found} found, {harmless} harmless");
}

#[tokio::test]
async fn rows_that_are_lost_added_or_swapped_are_found() {
    let check = async |sql: &'static str, says: &str| {
        let place = Place::new().await;
        for session in ["s", "t"] {
            let mut events = vec![opened("team")];
            events.extend((2..=4).map(|seq| progress(&format!("{session}{seq}"))));
            place.append(append(session, 1, events)).await.unwrap();
        }
        place.execute(sql).await;
        let error = place.events("s").await.unwrap_err();
        assert_eq!(error.to_string(), format!("session s is damaged at event {says}"));
        assert_eq!(place.events("t").await.unwrap().len(), 4);
        let damages = place.journal.verify().await.unwrap();
        assert_eq!(damages[0].session, Some("s".into()), "{sql}");
    };
    check("DELETE FROM event WHERE session = 1 AND seq = 4", "4: it is missing").await;
    check("DELETE FROM event WHERE session = 1 AND seq = 2", "2: it is missing").await;
    check("DELETE FROM event WHERE session = 1", "1: it is missing").await;
    check(
        "UPDATE event SET seq = 9 WHERE session = 1 AND seq = 2;
         UPDATE event SET seq = 2 WHERE session = 1 AND seq = 3;
         UPDATE event SET seq = 3 WHERE session = 1 AND seq = 9",
        "2: it does not follow the event before it",
    )
    .await;
    check(
        "INSERT INTO event SELECT 1, 5, generation, revision, append_id, type, schema, wall_ms,
         payload, prev_hash, hash FROM event WHERE session = 1 AND seq = 4",
        "5: it does not follow the event before it",
    )
    .await;
    check("UPDATE session SET last_seq = 3 WHERE key = 1", "5: the session's own row was changed")
        .await;
    check(
        "UPDATE session SET team = 'thieves' WHERE key = 1",
        "5: the session's own row was changed",
    )
    .await;
    check("UPDATE session SET kind = 'x' WHERE key = 1", "1: the session's own row was changed")
        .await;
}

#[tokio::test]
async fn a_damaged_session_is_not_listed_and_takes_no_append() {
    let place = Place::new().await;
    for session in ["s", "t"] {
        place.append(append(session, 1, vec![opened("team")])).await.unwrap();
    }
    place.execute("UPDATE session SET title = 'forged' WHERE id = 's'").await;
    let listed = place.journal.sessions("team", 9).await.unwrap();
    assert_eq!(listed.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["t"]);
    assert_eq!(place.journal.unfinished(&[3]).await.unwrap().len(), 1);
    let session = place.journal.session(&"s".into()).await;
    assert!(matches!(session, Err(JournalError::Damaged { seq: 2, .. })));
    let more = append("s", 2, vec![progress("more")]);
    assert_eq!(place.append(more).await, Err(AppendError::Conflict));
}

#[tokio::test]
async fn a_changed_head_does_not_break_the_chain_for_good() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team"), progress("one")])).await.unwrap();
    place.execute("UPDATE event SET hash = zeroblob(32) WHERE seq = 2").await;
    let more = append("s", 3, vec![progress("two")]);
    assert_eq!(place.append(more).await, Err(AppendError::Conflict));
}

#[tokio::test]
async fn an_event_of_the_future_stops_its_session_only_and_is_no_damage() {
    let place = Place::new().await;
    for session in ["s", "t"] {
        place.append(append(session, 1, vec![opened("team")])).await.unwrap();
    }
    let prepared = Prepared::new(append("s", 2, vec![progress("from tomorrow")])).unwrap();
    let (reply, answer) = oneshot::channel();
    let since = tokio::time::Instant::now();
    let queued = Queued { prepared: prepared.of_the_future(), reply, since };
    place.journal.queue.send(Command::Append(queued)).await.unwrap();
    assert_eq!(answer.await.unwrap(), Ok(2));
    assert_eq!(
        place.events("s").await.unwrap_err().to_string(),
        "event 2 of session s cannot be understood: its kind `history.compacted` is not known to \
         this program"
    );
    assert_eq!(place.events("t").await.unwrap().len(), 1);
    assert_eq!(place.journal.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_changed_claim_fences_its_partition_until_it_is_claimed_again() {
    let place = Place::new().await;
    place.append(append("s", 1, vec![opened("team")])).await.unwrap();
    place.execute("UPDATE partition SET revision = 9999 WHERE id = 3").await;
    let mut more = append("s", 2, vec![progress("more")]);
    assert_eq!(place.append(more.clone()).await, Err(AppendError::Fenced));
    let damages = place.journal.verify().await.unwrap();
    assert_eq!(damages[0].what, "the claim of partition 3 was changed");
    more.epoch.revision += 1;
    assert_eq!(place.journal.claim(&[(3, more.epoch)], "owner-b").await.unwrap(), [3]);
    assert_eq!(place.append(more).await, Ok(2));
}

#[tokio::test]
async fn a_changed_system_prompt_stops_the_sessions_that_share_it() {
    let place = Place::new().await;
    let started = RunStarted { system_prompt: "p".repeat(1000), ..RunStarted::default() };
    place.append(append("s", 1, vec![opened("team"), Event::RunStarted(started)])).await.unwrap();
    place.append(append("t", 1, vec![opened("team")])).await.unwrap();
    place.execute("UPDATE blob SET content = CAST('q' AS BLOB)").await;
    assert!(matches!(place.events("s").await, Err(JournalError::Damaged { seq: 2, .. })));
    assert_eq!(place.events("t").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_flipped_byte_in_the_log_of_a_killed_process_is_found() {
    let place = Place::new().await;
    for seq in 1..=5 {
        let event = if seq == 1 { opened("team") } else { progress("more") };
        place.append(append("s", seq, vec![event])).await.unwrap();
    }
    // What a process that is killed leaves behind.
    let left = TempDir::new().unwrap();
    for name in ["journal.db", "journal.db-wal"] {
        std::fs::copy(place.folder.path().join(name), left.path().join(name)).unwrap();
    }
    let path = left.path().join("journal.db");
    let log = left.path().join("journal.db-wal");
    let whole = std::fs::read(&log).unwrap();
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let error = SqliteJournal::open(Config::new(&path)).await.unwrap_err();
    assert!(error.to_string().contains("events after it were acknowledged"), "{error}");
    std::fs::write(&log, whole).unwrap();
    let journal = SqliteJournal::open(Config::new(&path)).await.unwrap();
    assert_eq!(journal.read(&"s".into(), 0, 9).await.unwrap().len(), 5);
}
