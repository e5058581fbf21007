//! Tests that end a process: this test binary runs itself as the one that writes.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::*;

/// Set in the process that writes: the journal's path.
const CHILD: &str = "CALLBOARD_TEST_JOURNAL";

/// Sessions that the child appends to at the same time.
const SESSIONS: u64 = 8;

/// Does nothing unless it runs in a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_until_it_is_killed_where_a_parent_asks_for_it() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    append_for_ever(path).await;
}

async fn append_for_ever(path: OsString) {
    let journal = SqliteJournal::open(Config::new(path)).await.unwrap();
    journal.claim(&[(3, EPOCH)], "child").await.unwrap();
    for turn in 0.. {
        let answers: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let first = progress(&format!("{session}-{turn}"));
                let events = if turn == 0 {
                    vec![opened("team"), first]
                } else {
                    vec![first, progress("and more")]
                };
                journal.submit(append(&format!("s{session}"), turn * 2 + 1, events))
            })
            .collect();
        for (session, answer) in answers.into_iter().enumerate() {
            match answer.await.unwrap() {
                Ok(seq) => println!("\nacked {session} {seq}"),
                Err(error) => {
                    println!("\nfailed {error:?}");
                    return;
                }
            }
        }
    }
}

fn child(path: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture"])
        .arg("journal::sqlite::tests::child::appends_until_it_is_killed_where_a_parent_asks_for_it")
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn acked(line: &str) -> Option<(String, u64)> {
    let mut words = line.strip_prefix("acked ")?.split(' ');
    Some((format!("s{}", words.next()?), words.next()?.parse().ok()?))
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_kill_9() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    // The same journal again and again, killed after more and more appends.
    for kill_after in [1, 5, 23, 64, 150] {
        if kill_after > 1 {
            // A child starts from nothing.
            std::fs::remove_file(&path).unwrap();
        }
        let mut process = child(&path).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut told = Vec::new();
        while told.len() < kill_after {
            told.extend(acked(&lines.next().unwrap().unwrap()));
        }
        process.kill().unwrap();
        // What it said before it died counts as well.
        told.extend(lines.map_while(Result::ok).filter_map(|line| acked(&line)));
        process.wait().unwrap();

        let journal = SqliteJournal::open(Config::new(&path)).await.unwrap();
        assert_eq!(journal.verify().await.unwrap(), []);
        for (session, seq) in told {
            let events = journal.read(&session.as_str().into(), 0, usize::MAX).await.unwrap();
            assert!(events.len() as u64 >= seq, "{session} lost event {seq}");
            assert_eq!(events.len() % 2, 0, "half of an append is there");
        }
        journal.close().await;
    }
}

#[tokio::test]
async fn a_disk_that_fails_stops_the_writer_and_nothing_acknowledged_is_lost() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.db");
    let direct = child(&path);
    let mut command = Command::new("sh");
    // Files may not grow past this: the write fails as on a broken disk, with an error that is
    // not about space.
    command.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$0\" \"$@\""]);
    command.arg(direct.get_program()).args(direct.get_args());
    command.env(CHILD, &path).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("failed Closed"), "it went on: {said}");
    let journal = SqliteJournal::open(Config::new(&path)).await.unwrap();
    assert_eq!(journal.verify().await.unwrap(), []);
    let told: Vec<_> = said.lines().filter_map(acked).collect();
    assert!(!told.is_empty());
    for (session, seq) in told {
        let events = journal.read(&session.as_str().into(), 0, usize::MAX).await.unwrap();
        assert!(events.len() as u64 >= seq, "{session} lost event {seq}");
    }
}
