//! Appends a second with shared syncs, against one sync for each append, on both backends, where a
//! sync takes as long as it takes, 0.2 ms longer, and 2 ms longer.
//!
//! `cargo bench -p callboard-tests --bench journal [DIR]`. Both are measured in one run, in turn,
//! and what counts is their ratio, for the machine drifts. Syncs are slowed from outside, by
//! `strace -e inject=fdatasync:delay_exit`: the code that runs is the code that is shipped. Ends
//! with 1 where a ratio is not what it has to be.

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

#[path = "journal/rates.rs"]
mod rates;

use std::{path::Path, process::Command, time::Duration};

use callboard_tests::{Postgres, slow_syncs};
use rates::Rates;

/// Delays of a sync, and how many times faster shared syncs have to be there.
const DELAYS: [(Duration, Option<f64>); 3] = [
    (Duration::ZERO, None),
    (Duration::from_micros(200), Some(2.0)),
    (Duration::from_millis(2), Some(10.0)),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let argument = |n: usize| arguments.get(n).map(String::as_str);
    match (argument(1), argument(2)) {
        (Some("sqlite"), Some(folder)) => {
            let rates = runtime.block_on(rates::sqlite(Path::new(folder)));
            println!("{}", rates.line());
        }
        (folder, _) => {
            let folder = folder.filter(|folder| !folder.starts_with('-')).unwrap_or(".");
            std::process::exit(i32::from(!runtime.block_on(compare(folder))));
        }
    }
}

/// True if every ratio is what it has to be.
async fn compare(folder: &str) -> bool {
    println!(
        "{:<12} {:>9} {:>14} {:>14} {:>8} {:>16} {:>9}",
        "", "sync +ms", "one each, a/s", "shared, a/s", "ratio", "appends a sync", "at least"
    );
    let mut is_reached = true;
    for (delay, wanted) in DELAYS {
        let sqlite = sqlite(folder, delay);
        let server = Postgres::start_with_slow_syncs(delay).await;
        let postgres = rates::postgres(&server.database().await).await;
        for (name, rates) in [("SQLite", sqlite), ("PostgreSQL", postgres)] {
            let ratio = rates.shared / rates.alone;
            is_reached &= wanted.is_none_or(|wanted| ratio >= wanted);
            println!(
                "{name:<12} {:>9.1} {:>14.0} {:>14.0} {ratio:>8.1} {:>16.1} {:>9}",
                delay.as_secs_f64() * 1000.0,
                rates.alone,
                rates.shared,
                rates.appends_a_sync,
                wanted.map_or(String::new(), |wanted| wanted.to_string()),
            );
        }
    }
    is_reached
}

/// In a process of its own, whose syncs can be slowed.
fn sqlite(folder: &str, delay: Duration) -> Rates {
    let place = tempfile::TempDir::new_in(folder).unwrap();
    let mut command = slow_syncs(&std::env::current_exe().unwrap(), delay);
    command.args(["sqlite", place.path().to_str().unwrap()]);
    let output = Command::output(&mut command).unwrap();
    assert!(output.status.success(), "{output:?}");
    Rates::parse(&String::from_utf8(output.stdout).unwrap())
}
