//! What a session costs that nobody uses: memory before and after it is folded away, and the time to
//! wake one among few and among many that sleep. Then what a long run costs the journal against
//! short ones.
//!
//! `cargo build --release && CALLBOARD_BIN=… cargo bench -p callboard-tests --bench sleep`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    missing_docs,
    unreachable_pub,
    clippy::pedantic,
    reason = "a benchmark prints, reads the clock, and stops at the first surprise"
)]

#[path = "sleep/history.rs"]
mod history;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use callboard_tests::{Callboard, Stack, role_of};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

/// Sessions that sleep in the end, and among which the first ones are woken.
const MANY: usize = 100_000;
const FEW: usize = 100;
/// Sessions that are kept awake.
const AWAKE: usize = 20_000;
/// Rounds of waking, and sessions woken in each.
const ROUNDS: usize = 5;
const WOKEN: usize = 100;
/// Requests at once while sessions are opened.
const AT_ONCE: usize = 32;
/// Longer than idle sessions stay, than the allocator keeps pages and than a checkpoint takes.
const SETTLED: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    awake().await;
    asleep().await;
    history::compare().await;
}

/// Memory of a session that has not been folded away.
async fn awake() {
    let callboard = Callboard::new().env("CALLBOARD__ORCHESTRATOR__IDLE_MS", "3600000");
    let stack = callboard.up(&[]).await;
    open(&stack, 1_000).await;
    let before = resident(&callboard);
    open(&stack, AWAKE).await;
    tokio::time::sleep(SETTLED).await;
    let each = (resident(&callboard) - before) / AWAKE as f64;
    println!("{AWAKE} sessions awake: {each:.2} KiB each (at most 4)");
    assert_eq!(stack.stop().await, 0);
}

/// Memory of sessions that sleep, and the time to wake one.
async fn asleep() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    // What the first sessions of a process cost is not theirs.
    let mut sleeping = open(&stack, 2_000).await;
    sleeping.truncate(FEW);
    tokio::time::sleep(SETTLED).await;
    let before = resident(&callboard);
    let few = wake(&stack, &sleeping).await;
    let since = Instant::now();
    let opened = open(&stack, MANY).await;
    let rate = MANY as f64 / since.elapsed().as_secs_f64();
    sleeping.extend(opened);
    tokio::time::sleep(SETTLED).await;
    let each = (resident(&callboard) - before) / MANY as f64;
    let many = wake(&stack, &sleeping).await;
    println!("{MANY} sessions asleep: {each:.3} KiB each (less than 0.3); opened {rate:.0}/s");
    println!(
        "waking one of {FEW}: p50 {few:.2} ms; of {}: {many:.2} ms; ratio {:.2} (at most 1.2)",
        sleeping.len(),
        many / few
    );
    assert_eq!(stack.stop().await, 0);
}

async fn open(stack: &Stack, count: usize) -> Vec<String> {
    let (http, url) = (stack.client(), format!("{}/v1/sessions", stack.url));
    let ids = Arc::new(Mutex::new(Vec::with_capacity(count)));
    stream::iter(0..count)
        .for_each_concurrent(AT_ONCE, |_| {
            let (http, url, ids) = (http.clone(), url.clone(), Arc::clone(&ids));
            async move {
                let answer = http.post(url).json(&json!({})).send().await.unwrap();
                let session: Value = answer.json().await.unwrap();
                let id = session["id"].as_str().unwrap().to_owned();
                ids.lock().unwrap().push(id);
            }
        })
        .await;
    std::mem::take(&mut *ids.lock().unwrap())
}

/// The median over all rounds of the time from asking for a session's events to their end, in
/// milliseconds. Each is woken by this: it had been folded away.
async fn wake(stack: &Stack, sleeping: &[String]) -> f64 {
    let http = stack.client();
    let mut times = Vec::with_capacity(ROUNDS * WOKEN);
    for _ in 0..ROUNDS {
        // Each at most once in a round: one that was just woken is still awake.
        for id in fastrand::choose_multiple(sleeping, WOKEN) {
            let url = format!("{}/v1/sessions/{id}/events?after=0&until=idle", stack.url);
            let since = Instant::now();
            let events = http.get(url).send().await.unwrap().text().await.unwrap();
            times.push(since.elapsed().as_secs_f64() * 1000.0);
            assert!(events.contains("session.opened"), "{events}");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Resident memory of the orchestrator in KiB.
fn resident(callboard: &Callboard) -> f64 {
    let pid = role_of(callboard.home(), "orchestrator").unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
