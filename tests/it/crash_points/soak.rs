//! Faults of an owner, each many times: `bash tests/run.sh --soak [FAULT]`. It prints a table of what
//! was done and what went wrong, and fails if anything did. Without `SOAK` it does nothing.

use std::time::Duration;

use callboard_orchestrator::crash::POINTS;
use callboard_tests::{LEASE, LEDGER_TOOLS};

use super::{Act, Scenario, quantile, run_all};

/// A fault: its number in the table, what it is, how often, where, and what happens there.
struct Fault {
    number: u32,
    what: &'static str,
    rounds: usize,
    points: &'static [&'static str],
    acts: &'static [Act],
}

const FAULTS: &[Fault] = &[
    Fault {
        number: 1,
        what: "killed during a model call",
        rounds: 200,
        points: &["model.before_call", "model.after_reply"],
        acts: &[Act::Kill],
    },
    Fault {
        number: 2,
        what: "killed before the attempt is durable",
        rounds: 500,
        points: &["attempt.before_record", "append.before_submit", "journal.before_commit"],
        acts: &[Act::Kill],
    },
    Fault {
        number: 3,
        what: "killed after that, before it is sent",
        rounds: 500,
        points: &["attempt.before_send"],
        acts: &[Act::Kill],
    },
    Fault {
        number: 4,
        what: "killed while the tool works",
        rounds: 200,
        points: &["attempt.after_send"],
        acts: &[Act::Kill],
    },
    Fault {
        number: 5,
        what: "killed after the outcome, before its event",
        rounds: 200,
        points: &["attempt.after_outcome", "call.after_settled"],
        acts: &[Act::Kill],
    },
    Fault {
        number: 6,
        what: "killed between commit and answer",
        rounds: 200,
        points: &["journal.after_commit", "append.after_durable"],
        acts: &[Act::Kill],
    },
    Fault {
        number: 7,
        what: "paused past the lease",
        rounds: 1_000,
        points: POINTS,
        acts: &[Act::Stop, Act::StopLong],
    },
    Fault {
        number: 38,
        what: "claims that meet, and are cut short",
        rounds: 100,
        points: &[
            "claim.before_journal",
            "claim.before_commit",
            "claim.after_commit",
            "claim.after_journal",
        ],
        acts: &[Act::Kill, Act::Stop, Act::StopLong],
    },
];

/// Whether this is the number of a fault of an owner.
pub(crate) fn is_soaked(number: &str) -> bool {
    FAULTS.iter().any(|fault| fault.number.to_string() == number)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_many_times_when_asked_for() {
    let Ok(wanted) = std::env::var("SOAK") else { return };
    let rounds = std::env::var("SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let wanted: Vec<&Fault> = FAULTS
        .iter()
        .filter(|fault| wanted == "all" || wanted == fault.number.to_string())
        .collect();
    if wanted.is_empty() {
        // One of `faults/soak.rs`, which refuses what neither knows.
        return;
    }
    let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed}, a lease of {LEASE:?}\n");
    println!("| fault | what | rounds | runs that held | half within | 95 % within |");
    println!("|---|---|---|---|---|---|");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut failed = 0;
    for fault in wanted {
        let rounds = rounds.unwrap_or(fault.rounds);
        let scenarios = (0..rounds).map(|_| {
            let point = *random.choice(fault.points).unwrap();
            let act = *random.choice(fault.acts).unwrap();
            let tool = *random.choice(&LEDGER_TOOLS).unwrap();
            Scenario::draw(point, act, tool, &mut random)
        });
        let mut took: Vec<Duration> =
            run_all(scenarios.collect()).await.into_iter().map(|(_, took)| took).collect();
        let (middle, most) = (quantile(&mut took, 50), quantile(&mut took, 95));
        let (number, what, held) = (fault.number, fault.what, took.len());
        println!("| {number} | {what} | {rounds} | {held} | {middle:.1?} | {most:.1?} |");
        failed += rounds - held;
    }
    assert_eq!(failed, 0, "rounds in which a promise was broken");
}
