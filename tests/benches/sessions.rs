//! Sessions of K tool calls through Callboard, against a floor that does the same by hand.
//!
//! `cargo build --release && cargo bench -p callboard-tests --bench sessions`. Rounds are
//! interleaved; what counts is the ratio of medians within one run, for the machine drifts.

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

#[path = "sessions/contestant.rs"]
mod contestant;
#[path = "sessions/floor.rs"]
mod floor;
#[path = "sessions/load.rs"]
mod load;
#[path = "sessions/model.rs"]
mod model;
#[path = "sessions/tool.rs"]
mod tool;

use contestant::Contestant;
use load::{Figures, median};

/// Tool calls of one session.
pub const CALLS: usize = 4;
/// Rounds of each contestant.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let argument = |n: usize| arguments.get(n).map(String::as_str);
    match (argument(1), argument(2), argument(3)) {
        (Some("model"), _, _) => runtime.block_on(model::serve()),
        (Some("tool"), _, _) => runtime.block_on(tool::serve()),
        (Some("floor"), Some(model), Some(tool)) => runtime.block_on(floor::serve(model, tool)),
        _ => runtime.block_on(compare()),
    }
}

async fn compare() {
    let model = contestant::Helper::start(&["model"]);
    let tool = contestant::Helper::start(&["tool"]);
    let floor = Contestant::floor(&model, &tool);
    let memory =
        Contestant::callboard("journal on tmpfs", std::path::Path::new("/dev/shm"), &model).await;
    let disk = Contestant::callboard("journal on disk", std::path::Path::new("."), &model).await;
    let contestants = [floor, memory, disk];
    for (concurrency, sessions) in [(1, 200), (64, 1500)] {
        let mut rounds: Vec<Vec<Figures>> = vec![Vec::new(); contestants.len()];
        for contestant in &contestants {
            load::run(contestant, concurrency, sessions / 4).await;
        }
        for _ in 0..ROUNDS {
            for (contestant, rounds) in contestants.iter().zip(&mut rounds) {
                rounds.push(load::run(contestant, concurrency, sessions).await);
            }
        }
        println!(
            "\nconcurrency {concurrency}, {sessions} sessions of {CALLS} calls, {ROUNDS} rounds"
        );
        println!("{:<28} {:>9} {:>12} {:>16}", "", "p50 ms", "sessions/s", "CPU s/1000 calls");
        let floor = summary(&rounds[0]);
        for (contestant, rounds) in contestants.iter().zip(&rounds) {
            let of = summary(rounds);
            println!(
                "{:<28} {:>9.2} {:>12.0} {:>16.2}   ratios {:.2} / {:.2} / {:.2}",
                contestant.name,
                of.p50_ms,
                of.per_second,
                of.cpu_per_1000,
                of.p50_ms / floor.p50_ms,
                of.per_second / floor.per_second,
                of.cpu_per_1000 / floor.cpu_per_1000,
            );
        }
    }
    for contestant in &contestants {
        contestant.print_memory();
    }
    for contestant in contestants {
        contestant.stop().await;
    }
}

fn summary(rounds: &[Figures]) -> Figures {
    let of = |pick: fn(&Figures) -> f64| median(rounds.iter().map(pick).collect());
    Figures {
        p50_ms: of(|f| f.p50_ms),
        per_second: of(|f| f.per_second),
        cpu_per_1000: of(|f| f.cpu_per_1000),
    }
}
