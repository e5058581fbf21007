//! The same faults, each many times: `bash tests/run.sh --soak [FAULT]`. Without `SOAK` it does
//! nothing. Those of the owner itself are in `crash_points/soak.rs`.

use std::time::Instant;

use super::{cuts, etcd};
use crate::crash_points;

/// A fault: its number in the table, what it is, how often, and the test of it.
type Fault = (u32, &'static str, usize, fn());

const FAULTS: &[Fault] = &[
    (
        13,
        "the way to a tool breaks during calls",
        20,
        cuts::a_broken_way_to_a_tool_repeats_no_call_and_loses_no_outcome,
    ),
    (14, "etcd is away", 20, etcd::without_etcd_runs_go_on_and_new_ones_begin),
    (
        15,
        "the leader dies or stands still, the quorum is lost",
        10,
        etcd::a_leader_that_dies_or_stands_still_moves_nothing,
    ),
    (
        16,
        "an owner is cut off from etcd alone",
        20,
        etcd::an_owner_that_is_cut_off_from_etcd_alone_makes_no_call_twice,
    ),
    (18, "etcd revokes live leases", 20, etcd::leases_that_etcd_revokes_cost_a_pause),
    (
        21,
        "etcd is restored from a backup",
        10,
        etcd::an_etcd_that_is_older_than_the_journal_is_refused_until_the_generation_is_raised,
    ),
    (22, "answers of commits are lost", 50, cuts::commits_whose_answers_are_lost_are_told_once),
    (
        22,
        "the database crashes under runs",
        20,
        cuts::a_database_that_crashes_under_runs_loses_and_repeats_nothing,
    ),
    (
        6,
        "the way to an owner breaks during runs",
        20,
        cuts::a_broken_way_to_the_owner_costs_its_callers_no_fact,
    ),
];

#[test]
fn faults_many_times_when_asked_for() {
    let Ok(asked) = std::env::var("SOAK") else { return };
    let rounds = std::env::var("SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let wanted: Vec<&Fault> = FAULTS
        .iter()
        .filter(|(number, ..)| asked == "all" || asked == number.to_string())
        .collect();
    let is_known = !wanted.is_empty() || crash_points::is_soaked(&asked);
    assert!(is_known, "SOAK is `all` or the number of a fault");
    let mut failed = 0;
    for (number, what, usual, test) in wanted {
        let (rounds, began) = (rounds.unwrap_or(*usual), Instant::now());
        let held = (0..rounds).filter(|_| std::panic::catch_unwind(test).is_ok()).count();
        println!("| {number} | {what} | {rounds} | {held} | {:.1?} in all |", began.elapsed());
        failed += rounds - held;
    }
    assert_eq!(failed, 0, "rounds in which a promise was broken");
}
