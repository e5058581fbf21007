use std::fs;

use tempfile::TempDir;

use super::*;
use crate::outcomes::Digest;

fn key(call_id: &str) -> Arc<Key> {
    let (team, session) = ("t".to_owned(), "s".to_owned());
    Arc::new(Key { team, session, call_id: call_id.to_owned() })
}

fn owner(partition: u32, revision: u64) -> Owner {
    let epoch = Epoch { generation: 1, revision };
    Owner { deployment: "d".to_owned(), partition, epoch }
}

fn start(call_id: &str) -> Claim {
    Claim { owner: owner(3, 10), key: key(call_id), digest: Some([7; 32]), may_start: true }
}

fn attach(call_id: &str) -> Claim {
    Claim { may_start: false, digest: None, ..start(call_id) }
}

fn outcome(content: &str) -> Arc<wire::Outcome> {
    let output = wire::Output { content: content.to_owned(), ..wire::Output::default() };
    let result = Some(wire::outcome::Result::Output(output));
    Arc::new(wire::Outcome { call_id: "c".to_owned(), result, duration_us: 5 })
}

fn intent(content: &[u8]) -> Intent {
    Intent { facts: r#"{"path":"a"}"#.to_owned(), content: Some(content.to_vec().into()) }
}

fn wish(call_id: &str, id: &str) -> Wish {
    Wish { key: key(call_id), id: id.to_owned(), dry_run: false, takes_back: true }
}

fn opened(folder: &TempDir, incarnation: &str) -> Opened {
    Store::open(&StoreSettings::new(folder.path().join("store")), incarnation).unwrap()
}

fn open(folder: &TempDir, incarnation: &str) -> Store {
    opened(folder, incarnation).store
}

async fn intend(store: &Store, call_id: &str, content: &[u8]) -> Result<Kept, Fault> {
    store.intend(&key(call_id), &"tool".into(), intent(content)).await
}

#[tokio::test]
async fn an_outcome_outlives_its_process() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    let id = store.id().to_owned();
    assert_eq!(store.claim(attach("a")).await, Ok(Found::Nothing));
    assert_eq!(store.claim(start("a")).await, Ok(Found::Nothing));
    store.settle(&key("a"), outcome("done")).await.unwrap();
    drop(store);
    let store = open(&folder, "second");
    assert_eq!(store.id(), id);
    assert_eq!(store.claim(start("a")).await, Ok(Found::Settled(outcome("done"))));
    assert_eq!(store.claim(attach("a")).await, Ok(Found::Settled(outcome("done"))));
    let other: Digest = [8; 32];
    let other = Claim { digest: Some(other), ..start("a") };
    assert_eq!(store.claim(other).await, Ok(Found::OtherArguments));
    assert_eq!(store.knows("first").await, Ok(true));
    assert_eq!(store.knows("third").await, Ok(false));
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_found_with_its_intent() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    for call_id in ["a", "b"] {
        assert_eq!(store.claim(start(call_id)).await, Ok(Found::Nothing));
    }
    assert_eq!(intend(&store, "b", b"old").await, Ok(Kept::Done));
    drop(store);
    let store = open(&folder, "second");
    assert_eq!(store.claim(attach("a")).await, Ok(Found::Interrupted(None)));
    let expected = Found::Interrupted(Some(intent(b"old")));
    assert_eq!(store.claim(start("b")).await, Ok(expected));
    store.release(&key("a")).await.unwrap();
    assert_eq!(store.claim(attach("a")).await, Ok(Found::Nothing));
}

#[tokio::test]
async fn a_call_of_a_process_that_lives_is_left_to_it() {
    let folder = TempDir::new().unwrap();
    let (first, second) = (open(&folder, "first"), open(&folder, "second"));
    assert_eq!(first.id(), second.id());
    assert_eq!(first.claim(start("a")).await, Ok(Found::Nothing));
    assert_eq!(second.claim(start("a")).await, Ok(Found::Elsewhere));
    assert_eq!(intend(&second, "a", b"").await, Ok(Kept::NotOurs));
    assert_eq!(second.begin_undo(wish("a", "")).await, Ok(Began::Elsewhere));
    second.release(&key("a")).await.unwrap();
    second.forget(vec![Key::clone(&key("a"))]).await.unwrap();
    assert_eq!(second.claim(attach("a")).await, Ok(Found::Elsewhere));
    drop(first);
    assert_eq!(second.claim(start("a")).await, Ok(Found::Interrupted(None)));
}

#[tokio::test]
async fn epochs_are_kept_and_only_rise() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    assert_eq!(store.raise(owner(3, 300)).await, Ok(None));
    assert_eq!(store.raise(owner(4, 2)).await, Ok(None));
    let seen = Epoch { generation: 1, revision: 300 };
    assert_eq!(store.raise(owner(3, 255)).await, Ok(Some(seen)));
    assert_eq!(store.claim(start("a")).await, Ok(Found::Stale(seen)));
    drop(store);
    let Opened { store, mut floors } = opened(&folder, "second");
    floors.sort_by_key(|owner| owner.partition);
    assert_eq!(floors, [owner(3, 300), owner(4, 2)]);
    let newer = Owner { epoch: Epoch { generation: 2, revision: 1 }, ..owner(3, 0) };
    assert_eq!(store.raise(newer).await, Ok(None));
    let seen = Epoch { generation: 2, revision: 1 };
    assert_eq!(store.raise(owner(3, 301)).await, Ok(Some(seen)));
}

#[tokio::test]
async fn what_is_forgotten_is_not_started_again_and_can_be_taken_back() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    assert_eq!(store.claim(start("a")).await, Ok(Found::Nothing));
    assert_eq!(intend(&store, "a", b"old").await, Ok(Kept::Done));
    store.settle(&key("a"), outcome("done")).await.unwrap();
    store.forget(vec![Key::clone(&key("a"))]).await.unwrap();
    assert_eq!(store.claim(start("a")).await, Ok(Found::Gone));
    let began = store.begin_undo(wish("a", "")).await;
    assert_eq!(began, Ok(Began::Ready(intent(b"old"))));
}

#[tokio::test]
async fn a_wish_is_granted_once() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    assert_eq!(store.begin_undo(wish("a", "w")).await, Ok(Began::Nothing));
    assert_eq!(store.claim(start("a")).await, Ok(Found::Nothing));
    assert_eq!(intend(&store, "a", b"old").await, Ok(Kept::Done));
    store.settle(&key("a"), outcome("done")).await.unwrap();
    let ready = Ok(Began::Ready(intent(b"old")));
    let dry = Wish { dry_run: true, ..wish("a", "w") };
    assert_eq!(store.begin_undo(dry).await, ready);
    assert_eq!(store.begin_undo(wish("a", "w")).await, ready);
    // A conflict: nothing was done, and it may be asked again.
    store.end_undo(wish("a", "w"), None).await.unwrap();
    assert_eq!(store.begin_undo(wish("a", "w")).await, ready);
    drop(store);
    // Cut off in the middle.
    let store = open(&folder, "second");
    assert_eq!(store.begin_undo(wish("a", "w")).await, ready);
    store.end_undo(wish("a", "w"), Some("restored".to_owned())).await.unwrap();
    assert_eq!(store.claim(start("a")).await, Ok(Found::Settled(outcome("done"))));
    let answered = Ok(Began::Answered("restored".to_owned()));
    assert_eq!(store.begin_undo(wish("a", "w")).await, answered);
    let taken = Ok(Began::TakenBack("restored".to_owned()));
    assert_eq!(store.begin_undo(wish("a", "other")).await, taken);
    assert_eq!(store.begin_undo(wish("a", "")).await, taken);
}

#[tokio::test]
async fn facts_come_in_the_order_asked_for_without_those_of_calls_taken_back() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    for call_id in ["a", "b", "c"] {
        assert_eq!(store.claim(start(call_id)).await, Ok(Found::Nothing));
        let noted = Intent { facts: format!("\"{call_id}\""), ..intent(b"old") };
        assert_eq!(store.intend(&key(call_id), &"write".into(), noted).await, Ok(Kept::Done));
        store.settle(&key(call_id), outcome("done")).await.unwrap();
    }
    assert!(matches!(store.begin_undo(wish("b", "w")).await, Ok(Began::Ready(_))));
    store.end_undo(wish("b", "w"), Some("restored".to_owned())).await.unwrap();
    let asked = ["c", "unknown", "b", "a"].map(|call_id| Key::clone(&key(call_id))).to_vec();
    let facts = |name: &str| Intent { facts: format!("\"{name}\""), content: None };
    assert_eq!(store.facts(asked).await, Ok(vec![facts("c"), facts("a")]));
}

#[tokio::test]
async fn a_call_that_was_cut_off_and_taken_back_is_over() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    assert_eq!(store.claim(start("a")).await, Ok(Found::Nothing));
    assert_eq!(intend(&store, "a", b"old").await, Ok(Kept::Done));
    drop(store);
    let store = open(&folder, "second");
    assert_eq!(store.begin_undo(wish("a", "w")).await, Ok(Began::Ready(intent(b"old"))));
    store.end_undo(wish("a", "w"), Some("restored".to_owned())).await.unwrap();
    assert_eq!(store.claim(start("a")).await, Ok(Found::Gone));
}

#[tokio::test]
async fn old_intents_make_room_for_new_ones_but_not_those_of_open_calls() {
    let folder = TempDir::new().unwrap();
    let settings = StoreSettings { undo_bytes: 1_000, ..StoreSettings::new(folder.path()) };
    let store = Store::open(&settings, "first").unwrap().store;
    for call_id in ["open", "a", "b", "c"] {
        assert_eq!(store.claim(start(call_id)).await, Ok(Found::Nothing));
        assert_eq!(intend(&store, call_id, &[0; 450]).await, Ok(Kept::Done));
        if call_id != "open" {
            store.settle(&key(call_id), outcome("done")).await.unwrap();
        }
    }
    let kept = |tx: &rusqlite::Transaction<'_>| {
        let mut kept = tx.prepare("SELECT call_id FROM undo ORDER BY id")?;
        kept.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()
    };
    assert_eq!(store.query(kept).await, ["open", "b", "c"]);
    assert_eq!(store.begin_undo(wish("a", "")).await, Ok(Began::Nothing));
}

#[tokio::test]
async fn what_is_old_is_dropped_and_open_calls_are_not() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    for call_id in ["open", "settled", "forgotten", "young"] {
        assert_eq!(store.claim(start(call_id)).await, Ok(Found::Nothing));
        assert_eq!(intend(&store, call_id, b"old").await, Ok(Kept::Done));
        if call_id != "open" {
            store.settle(&key(call_id), outcome("done")).await.unwrap();
        }
    }
    store.forget(vec![Key::clone(&key("forgotten"))]).await.unwrap();
    let settings = StoreSettings::new(folder.path());
    let remains = store.query(move |tx| {
        // All but the last one happened 31 days ago.
        for table in ["call", "undo"] {
            let age = format!("UPDATE {table} SET at = at - 31 * 86400 WHERE call_id != 'young'");
            tx.execute(&age, [])?;
        }
        tidy::tidy(tx, Limits::new(&settings, Clock::open(tx)?))?;
        let of = |table: &str| {
            tx.prepare(&format!("SELECT call_id FROM {table} ORDER BY id"))?
                .query_map([], |row| row.get(0))?
                .collect::<Result<Vec<String>, _>>()
        };
        Ok((of("call")?, of("undo")?))
    });
    let expected = vec!["open".to_owned(), "young".to_owned()];
    assert_eq!(remains.await, (expected.clone(), expected));
}

#[tokio::test]
async fn a_session_that_was_removed_leaves_neither_outcome_nor_content_behind() {
    let folder = TempDir::new().unwrap();
    let (store, other) = (open(&folder, "first"), open(&folder, "other"));
    for call in ["done", "open"] {
        store.claim(start(call)).await.unwrap();
        intend(&store, call, b"before").await.unwrap();
    }
    store.settle(&key("done"), outcome("done")).await.unwrap();
    other.claim(start("elsewhere")).await.unwrap();
    let neighbour = Arc::new(Key { session: "another".to_owned(), ..Key::clone(&key("done")) });
    store.claim(Claim { key: Arc::clone(&neighbour), ..start("done") }).await.unwrap();
    store.settle(&neighbour, outcome("stays")).await.unwrap();
    store.forget_session("t", "s").await.unwrap();
    assert_eq!(store.claim(start("done")).await, Ok(Found::Gone));
    let kept = |call: &str| store.facts(vec![Key::clone(&key(call))]);
    assert_eq!(kept("done").await.unwrap(), []);
    // What is at work keeps what it has.
    assert_eq!(kept("open").await.unwrap().len(), 1);
    assert_eq!(store.claim(start("elsewhere")).await, Ok(Found::Elsewhere));
    let found = store.claim(Claim { key: neighbour, ..start("done") }).await;
    assert_eq!(found, Ok(Found::Settled(outcome("stays"))));
    // Once more, when nothing is at work any more.
    store.settle(&key("open"), outcome("late")).await.unwrap();
    store.forget_session("t", "s").await.unwrap();
    assert_eq!(kept("open").await.unwrap(), []);
}

/// A clock that was wrong when the records were made, or is now, makes none of them old.
#[tokio::test]
async fn records_age_by_the_time_that_passes_and_not_by_the_clock_on_the_wall() {
    for days in [-400, 400] {
        let folder = TempDir::new().unwrap();
        let settings = StoreSettings::new(folder.path().join("store"));
        let store = open(&folder, "first");
        store.claim(start("a")).await.unwrap();
        intend(&store, "a", b"before").await.unwrap();
        store.settle(&key("a"), outcome("done")).await.unwrap();
        let shift = move |tx: &rusqlite::Transaction<'_>| {
            for (table, time) in [("call", "at"), ("undo", "at"), ("life", "began")] {
                tx.execute(&format!("UPDATE {table} SET {time} = {time} + {days} * 86400"), [])?;
            }
            Ok(())
        };
        store.query(shift).await;
        drop(store);
        let store = open(&folder, "second");
        store.query(move |tx| tidy::tidy(tx, Limits::new(&settings, Clock::open(tx)?))).await;
        let found = store.claim(start("a")).await;
        assert_eq!(found, Ok(Found::Settled(outcome("done"))), "{days} days");
        assert_eq!(store.facts(vec![Key::clone(&key("a"))]).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn too_many_calls_are_refused_until_some_are_forgotten() {
    let folder = TempDir::new().unwrap();
    let settings = StoreSettings { calls: 1_000, ..StoreSettings::new(folder.path()) };
    let store = Store::open(&settings, "first").unwrap().store;
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
        INSERT INTO call (team, session, call_id, digest, state, incarnation, at)
        SELECT 't', 's', i, x'00', 1, '', 9999999999 FROM n";
    store.query(|tx| tx.execute(many, [])).await;
    assert_eq!(store.claim(start("a")).await, Ok(Found::Full));
    let keys = (1..=2).map(|i: u32| Key::clone(&key(&i.to_string()))).collect();
    store.forget(keys).await.unwrap();
    assert_eq!(store.claim(start("a")).await, Ok(Found::Nothing));
}

#[tokio::test]
async fn old_outcomes_lose_their_content_and_never_run_again() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, "first");
    // 65 of 1 MiB: one is too much.
    let large = outcome(&"x".repeat(1024 * 1024 - 64));
    for number in 0..65 {
        assert_eq!(store.claim(start(&number.to_string())).await, Ok(Found::Nothing));
        store.settle(&key(&number.to_string()), Arc::clone(&large)).await.unwrap();
    }
    assert_eq!(store.claim(start("0")).await, Ok(Found::Gone));
    assert_eq!(store.claim(start("1")).await, Ok(Found::Settled(Arc::clone(&large))));
    assert_eq!(store.claim(start("64")).await, Ok(Found::Settled(large)));
}

#[test]
fn a_store_of_another_version_and_a_damaged_one_are_refused_with_a_way_out() {
    let folder = TempDir::new().unwrap();
    drop(open(&folder, "first"));
    let path = folder.path().join("store");
    let connection = rusqlite::Connection::open(file(&path)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = Store::open(&StoreSettings::new(&path), "second").unwrap_err();
    let expected = format!(
        "the store {} has version 99, and this program knows up to 1: use a newer one, or another \
         folder",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
    fs::write(file(&path), "no database, and long enough to be seen as none".repeat(40)).unwrap();
    let error = Store::open(&StoreSettings::new(&path), "second").unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
}

#[test]
fn a_copy_is_another_store() {
    let folder = TempDir::new().unwrap();
    let id = open(&folder, "first").id().to_owned();
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    // The first one may still be closing its file.
    let first = rusqlite::Connection::open(file(&folder.path().join("store"))).unwrap();
    first.execute("VACUUM INTO ?", [file(&copy).to_str()]).unwrap();
    let other = Store::open(&StoreSettings::new(copy), "second").unwrap().store;
    assert_ne!(other.id(), id);
}

#[test]
fn only_the_user_may_look_into_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    drop(open(&folder, "first"));
    let mode = folder.path().join("store").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
