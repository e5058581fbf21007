//! Journals as earlier versions wrote them, one for each version of each schema: they are read for
//! ever, and fold to what they folded to.
//!
//! `RECORD_JOURNALS=1 cargo test -p callboard-tests --test it journal::fixture` writes those of the
//! present versions that are missing; it is run in the commit that raises a version.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use callboard_orchestrator::{
    journal::{self, Append, Epoch, Journal, SessionState, postgres, sqlite},
    run::state::{Run, Session},
};
use callboard_tests::{Callboard, ModelServer, Postgres, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    place::{Backend, client},
    whole::files,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journal")
}

/// Every fixture that there must be: its backend and its schema.
fn wanted() -> Vec<(&'static str, u32)> {
    let sqlite = (1..=sqlite::SCHEMA).map(|schema| ("sqlite", schema));
    sqlite.chain((1..=postgres::SCHEMA).map(|schema| ("postgres", schema))).collect()
}

fn file(backend: &str, schema: u32) -> PathBuf {
    let extension = if backend == "sqlite" { "db" } else { "sql" };
    folder().join(format!("{backend}-{schema}.{extension}"))
}

/// A place with a copy of a fixture.
async fn copy(backend: &str, schema: u32) -> Backend {
    let file = file(backend, schema);
    if backend == "sqlite" {
        let folder = TempDir::new().unwrap();
        std::fs::copy(file, folder.path().join("journal.db")).unwrap();
        return Backend::Sqlite(folder);
    }
    let Backend::Postgres(url) = Backend::postgres().await else { unreachable!() };
    let dump = std::fs::read_to_string(file).unwrap();
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    // It ends with the client.
    tokio::spawn(connection);
    client.batch_execute(&dump).await.unwrap();
    Backend::Postgres(url)
}

#[tokio::test]
async fn every_schema_has_a_journal_that_folds_as_it_did() {
    if std::env::var_os("RECORD_JOURNALS").is_some() {
        record().await;
    }
    let mut payloads = BTreeSet::new();
    for (backend, schema) in wanted() {
        let file = file(backend, schema);
        assert!(file.exists(), "{} is missing: record it, see above", file.display());
        let place = copy(backend, schema).await;
        let journal = place.open().await.unwrap();
        assert_eq!(journal.verify().await.unwrap(), []);
        let folded = fold(&*journal).await;
        let recorded = std::fs::read_to_string(file.with_extension("json")).unwrap();
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        assert_eq!(folded, recorded, "{} folds to something else now", file.display());
        let highest = "SELECT CAST(max(schema) AS bigint) FROM event";
        payloads.insert(place.number(highest).await);
    }
    let expected = (1..=journal::PAYLOAD_SCHEMA).map(i64::from).collect();
    assert_eq!(payloads, expected, "a journal for each version of the payloads");
}

/// What the sessions of a journal are, the first opened first.
async fn fold(journal: &dyn Journal) -> Value {
    let mut rows = journal.sessions("default", 100).await.unwrap();
    rows.reverse();
    let mut folded = Vec::new();
    for row in rows {
        let mut session = Session::default();
        for event in journal.read(&row.id, 0, usize::MAX).await.unwrap() {
            session.apply(&event).unwrap();
        }
        folded.push(json!({
            "session": row.id.as_str(),
            "kind": format!("{:?}", row.kind),
            "title": row.title,
            "last_seq": session.last_seq,
            "runs": session.ended.iter().map(run).collect::<Vec<_>>(),
            "is_idle": session.is_idle(),
        }));
    }
    Value::Array(folded)
}

fn run(run: &Run) -> Value {
    let calls = run.calls().map(|call| {
        let settled = call.settled.as_ref().unwrap();
        json!({
            "id": call.wanted.call_id.as_str(),
            "tool": call.wanted.name,
            "arguments": call.planned.as_ref().map(|planned| &planned.arguments),
            "verdict": call.judged.as_ref().map(|judged| format!("{:?}", judged.verdict)),
            "approved": call.decided.as_ref().map(|decided| decided.approved),
            "attempts": call.attempts.len(),
            "status": format!("{:?}", settled.status),
            "content": settled.content,
        })
    });
    let ended = run.ended.as_ref().unwrap();
    json!({
        "run": run.input.run.as_str(),
        "input": format!("{:?}", run.input.input),
        "system_prompt": run.started.system_prompt.len(),
        "calls": calls.collect::<Vec<_>>(),
        "replies": run.replies(),
        "tokens": run.tokens(),
        "limit": run.limit.as_ref().map(|hit| format!("{:?}", hit.limit)),
        "is_stuck": run.missed.is_some(),
        "model_failed": run.model_failed.as_ref().map(|failed| &failed.kind),
        "elapsed_ms": run.elapsed_ms,
        "status": format!("{:?}", ended.status),
        "answer": ended.answer,
    })
}

/// Records what is missing: the program itself works, its journal is kept, and copied event by
/// event into the other backend.
async fn record() {
    let callboard = work().await;
    let source = files(callboard.home()).into_iter().find(|path| path.ends_with("journal.db"));
    let source = source.unwrap();
    std::fs::create_dir_all(folder()).unwrap();
    for (backend, schema) in [("sqlite", sqlite::SCHEMA), ("postgres", postgres::SCHEMA)] {
        let file = file(backend, schema);
        if file.exists() {
            continue;
        }
        if backend == "sqlite" {
            std::fs::copy(&source, &file).unwrap();
        } else {
            let url = Postgres::shared().await.database().await;
            copy_events(source.parent().unwrap(), &url).await;
            std::fs::write(&file, Postgres::shared().await.dump(&url)).unwrap();
        }
        let place = copy(backend, schema).await;
        let folded = fold(&*place.open().await.unwrap()).await;
        let text = serde_json::to_string_pretty(&folded).unwrap();
        std::fs::write(file.with_extension("json"), text + "\n").unwrap();
    }
}

/// Sessions that end in every way.
async fn work() -> Callboard {
    let model = ModelServer::start(|_, body| {
        let messages = body["messages"].as_array().unwrap();
        let said = |role: &str| messages.iter().filter(|message| message["role"] == role).count();
        let asked = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        let calculate = |expression: &str| {
            ("calculate".to_owned(), json!({"expression": expression}).to_string())
        };
        match asked["content"].as_str().unwrap() {
            "two at once" if said("tool") == 0 => {
                let calls = vec![calculate("6 * 7"), calculate("1 / 0")];
                Reply::Calls("Let me see.".to_owned(), calls)
            }
            "write" if said("tool") == 0 => {
                Reply::call("write_file", &json!({"path": "a.txt", "content": "hello"}))
            }
            "again and again" => Reply::Calls(String::new(), vec![calculate("2 + 2")]),
            "on and on" => {
                Reply::Calls(String::new(), vec![calculate(&format!("{} + 1", said("tool")))])
            }
            "fail" => Reply::Raw(400, Vec::new(), r#"{"error":{"message":"no"}}"#.to_owned()),
            _ => Reply::text("That is all, 就这些."),
        }
    })
    .await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    for arguments in [
        &["ask", "--model", "openai:x", "two at once"][..],
        &["ask", "--model", "openai:x", "write"],
        &["ask", "--model", "openai:x", "--approve", "write_file", "write"],
        &["ask", "--model", "openai:x", "--max-steps", "4", "again and again"],
        &["ask", "--model", "openai:x", "--max-steps", "2", "on and on"],
        &["ask", "--model", "openai:x", "fail"],
        &["tools", "call", "calculate", "--args", "{\"expression\": \"3 * 4\"}"],
    ] {
        let finished = callboard.run(arguments).await;
        assert_ne!(finished.code, 2, "{finished:?}");
    }
    callboard.nothing_is_left().await;
    callboard
}

async fn copy_events(state: &Path, url: &str) {
    let from = journal::config::open(&journal::config::Config::default(), state).await.unwrap();
    let to = postgres::PostgresJournal::open(postgres::Config::new(url)).await.unwrap();
    let mut rows = from.sessions("default", 100).await.unwrap();
    rows.reverse();
    let epoch = Epoch { generation: 1, revision: 1 };
    for row in rows {
        to.claim(&[(row.partition, epoch)], "recorder").await.unwrap();
        let append = Append {
            events: from.read(&row.id, 0, usize::MAX).await.unwrap(),
            session: row.id,
            partition: row.partition,
            epoch,
            append_id: Uuid::now_v7(),
            expected_seq: 1,
            state: SessionState::Idle,
            wake_at_ms: None,
        };
        to.submit(append).await.unwrap().unwrap();
    }
    to.belong("recorder").await.unwrap();
    to.close().await;
    from.close().await;
    // The claims of the one that copied say nothing to anybody.
    client(url).await.batch_execute("DELETE FROM partition").await.unwrap();
}
