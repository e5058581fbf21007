//! The whole program with its journal in PostgreSQL.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use callboard_tests::{
    Callboard, ModelServer, PASSWORD, PASSWORD_IN_URL, Postgres, Reply, SmallDisk, Stop,
    processes_of, within,
};
use rustix::process::Signal;
use serde_json::json;

use super::place::client;

const URL: &str = "CALLBOARD__ORCHESTRATOR__JOURNAL__URL";

#[tokio::test]
async fn the_main_job_runs_on_postgresql_and_its_password_is_nowhere() {
    let postgres = Postgres::shared().await;
    let url = postgres.database().await;
    let callboard = Callboard::new().env(URL, &url);
    let before = callboard.run(&["doctor"]).await;
    assert!(before.stdout.contains("none yet"), "{before:?}");
    let asked = callboard.run(&["ask", "What is 6 * 7?"]).await.expect(0);
    assert!(asked.stdout.contains("42"), "{asked:?}");
    let listed = callboard.run(&["sessions", "list"]).await.expect(0);
    let shown = callboard.run(&["config"]).await.expect(0);
    let doctor = callboard.run(&["doctor"]).await;
    let place = format!("postgresql://127.0.0.1:{}/", postgres.port());
    assert!(doctor.stdout.contains(&place) && doctor.stdout.contains("is whole"), "{doctor:?}");
    assert!(doctor.stdout.contains("synchronous standby"), "{doctor:?}");
    let events = "SELECT count(*) FROM event";
    assert!(client(&url).await.query_one(events, &[]).await.unwrap().get::<_, i64>(0) > 5);
    callboard.nothing_is_left().await;
    let mut said = format!("{asked:?}{listed:?}{shown:?}{doctor:?}");
    for file in files(callboard.home()) {
        assert!(file.file_name().unwrap() != "journal.db", "the journal is elsewhere");
        said.push_str(&String::from_utf8_lossy(&std::fs::read(file).unwrap()));
    }
    assert!(!said.contains(PASSWORD) && !said.contains(PASSWORD_IN_URL), "{said}");
}

/// All files below a folder.
pub(super) fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

#[tokio::test]
async fn a_run_waits_for_a_server_that_went_away_and_goes_on() {
    let postgres = Arc::new(Postgres::start(&[]).await);
    let url = postgres.database().await;
    let stopped = Arc::clone(&postgres);
    let model = ModelServer::start(move |n, _| {
        if n == 0 {
            return Reply::call("calculate", &json!({"expression": "6 * 7"}));
        }
        // In the middle of the run, before the answer can be written.
        stopped.signal(Signal::INT);
        Reply::text("It is 42.")
    })
    .await;
    let callboard = Callboard::new()
        .env(URL, &url)
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let mut ask =
        callboard.command(&["ask", "--model", "openai:x", "What is 6 * 7?"]).spawn().unwrap();
    within(Duration::from_mins(1), "the server goes away", || {
        (model.requests().len() == 2 && !postgres.is_running()).then_some(())
    })
    .await;
    postgres.stop(Stop::Fast).await;
    assert!(ask.try_wait().unwrap().is_none(), "it waits");
    postgres.start_again().await;
    let output = tokio::time::timeout(Duration::from_mins(1), ask.wait_with_output()).await;
    let output = output.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "It is 42.");
    assert_eq!(model.requests().len(), 2, "no model call is paid for twice");
    callboard.nothing_is_left().await;
    assert_eq!(processes_of(callboard.home()), []);
}

#[tokio::test]
async fn wrong_credentials_end_the_start_with_a_way_out() {
    let postgres = Postgres::shared().await;
    let url = postgres.database().await.replace(PASSWORD_IN_URL, "wr0ng-s3cret");
    let callboard = Callboard::new().env(URL, &url);
    for arguments in [&["ask", "What is 6 * 7?"][..], &["doctor"]] {
        let finished = callboard.run(arguments).await;
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert_ne!(finished.code, 0, "{said}");
        assert!(said.contains("password authentication failed"), "{said}");
        assert!(said.contains("`orchestrator.journal.url`"), "{said}");
        assert!(!said.contains("wr0ng-s3cret"), "{said}");
    }
    callboard.nothing_is_left().await;
}

#[tokio::test]
pub(crate) async fn a_run_waits_for_space_says_why_and_goes_on() {
    let name = "journal::whole::a_run_waits_for_space_says_why_and_goes_on";
    let Some(disk) = SmallDisk::inside(32 * 1024, name).await else { return };
    let disk = Arc::new(disk);
    let (filled, is_full) = (Arc::clone(&disk), AtomicBool::new(false));
    let model = ModelServer::start(move |_, body| {
        let last = body["messages"].as_array().unwrap().last().unwrap();
        if last["content"] == "What is 1 + 1?" {
            return Reply::text("It is 2.");
        }
        if last["role"] == "user" {
            return Reply::call("calculate", &json!({"expression": "6 * 7"}));
        }
        if !is_full.swap(true, Ordering::SeqCst) {
            filled.fill();
        }
        Reply::text("It is 42.")
    })
    .await;
    let callboard = Callboard::new()
        .env("XDG_STATE_HOME", disk.path().to_str().unwrap())
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    let mut ask =
        callboard.command(&["ask", "--model", "openai:x", "What is 6 * 7?"]).spawn().unwrap();
    within(Duration::from_mins(1), "the disk is full", || {
        (model.requests().len() == 2).then_some(())
    })
    .await;
    let other = callboard.run(&["ask", "What is 1 + 1?"]).await;
    assert_ne!(other.code, 0, "{other:?}");
    assert!(other.stderr.contains("disk is full"), "{other:?}");
    assert!(ask.try_wait().unwrap().is_none(), "it waits");
    let listed = callboard.run(&["sessions", "list"]).await.expect(0);
    assert!(listed.stdout.contains("What is 6 * 7?"), "{listed:?}");
    disk.empty();
    let output = tokio::time::timeout(Duration::from_mins(1), ask.wait_with_output()).await;
    let output = output.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "It is 42.");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the run is paused: the journal's disk is full"), "{told}");
    let again = callboard.run(&["ask", "What is 1 + 1?"]).await.expect(0);
    assert_eq!(again.stdout.trim(), "It is 2.");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}
