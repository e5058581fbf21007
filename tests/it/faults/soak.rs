//! The same faults, each many times: `bash tests/run.sh --soak [FAULT]`. Without `SOAK` it does
//! nothing. Those of the owner itself are in `crash_points/soak.rs`.

use std::time::Instant;

use super::{clock, cuts, etcd, exhausted, services, watch};
use crate::{
    crash_points, failover,
    journal::{deployments, machine, outage, whole},
};

/// A fault: its number in the table, what it is, how often, and the tests of it, in turn.
type Fault = (u32, &'static str, usize, &'static [fn()]);

const FAULTS: &[Fault] = &[
    (
        8,
        "a tool service is killed during calls, alone and as one of three",
        20,
        &[services::a_service_that_is_killed_costs_no_read_and_repeats_no_change],
    ),
    (
        13,
        "the way to a tool breaks during calls",
        20,
        &[cuts::a_broken_way_to_a_tool_repeats_no_call_and_loses_no_outcome],
    ),
    (14, "etcd is away", 20, &[etcd::without_etcd_runs_go_on_and_new_ones_begin]),
    (
        15,
        "the leader dies or stands still, the quorum is lost",
        10,
        &[etcd::a_leader_that_dies_or_stands_still_moves_nothing],
    ),
    (
        16,
        "an owner is cut off from etcd alone, or calls a tool too late",
        20,
        &[
            etcd::an_owner_that_is_cut_off_from_etcd_alone_makes_no_call_twice,
            services::a_call_of_an_owner_that_is_none_any_more_is_refused_by_the_service,
        ],
    ),
    (
        17,
        "connections to etcd stand still without an error",
        20,
        &[watch::a_connection_that_stands_still_is_replaced_before_anything_moves],
    ),
    (18, "etcd revokes live leases", 20, &[etcd::leases_that_etcd_revokes_cost_a_pause]),
    (
        19,
        "a watcher misses changes that etcd then forgets",
        20,
        &[watch::a_gateway_that_missed_what_happened_catches_up],
    ),
    (
        21,
        "etcd is restored from a backup",
        10,
        &[etcd::an_etcd_that_is_older_than_the_journal_is_refused_until_the_generation_is_raised],
    ),
    (
        22,
        "answers of commits are lost, the database crashes",
        70,
        &[
            cuts::commits_whose_answers_are_lost_are_told_once,
            cuts::a_database_that_crashes_under_runs_loses_and_repeats_nothing,
        ],
    ),
    (
        22,
        "the database is away for longer than appends wait, or at the start",
        20,
        &[
            outage::runs_outlast_a_database_that_is_away_for_longer_than_they_wait,
            outage::a_database_that_is_away_at_the_start_is_waited_for,
        ],
    ),
    (
        23,
        "the journal's disk is full, or read only",
        20,
        &[
            whole::a_run_waits_for_space_says_why_and_goes_on,
            machine::a_disk_that_turns_read_only_ends_the_process_and_loses_nothing,
            machine::a_read_only_state_is_refused_by_name_and_goes_on_when_it_is_not,
        ],
    ),
    (
        24,
        "a sync of the journal fails",
        50,
        &[machine::a_sync_that_fails_ends_the_process_and_loses_nothing],
    ),
    (
        25,
        "a byte flips, a generation is raised, a second instance or deployment comes",
        20,
        &[
            machine::a_flipped_byte_is_the_trouble_of_one_session_and_named,
            machine::a_journal_of_another_generation_goes_on_under_it,
            machine::a_second_instance_on_one_state_is_refused_and_disturbs_nobody,
            deployments::a_second_deployment_on_one_database_is_refused_and_disturbs_nobody,
        ],
    ),
    (
        30,
        "the way to an owner breaks during runs",
        20,
        &[cuts::a_broken_way_to_the_owner_costs_its_callers_no_fact],
    ),
    (
        32,
        "wall clocks are wrong, and jump",
        20,
        &[clock::clocks_that_are_wrong_and_jump_cost_no_call_and_no_deadline],
    ),
    (
        37,
        "a process has no file descriptor left",
        20,
        &[exhausted::a_process_without_file_descriptors_waits_and_goes_on],
    ),
    (
        38,
        "a hundred wake one session, owners join and leave",
        20,
        &[
            failover::a_hundred_clients_wake_one_session_once_and_etcd_hears_nothing_of_it,
            failover::joining_and_leaving_moves_partitions_and_costs_no_request,
        ],
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
    if !wanted.is_empty() {
        println!("\n| fault | what | rounds | rounds that held | in all |");
        println!("|---|---|---|---|---|");
    }
    for (number, what, usual, tests) in wanted {
        let (rounds, began) = (rounds.unwrap_or(*usual), Instant::now());
        let in_turn = tests.iter().cycle().take(rounds);
        let held = in_turn.filter(|test| std::panic::catch_unwind(*test).is_ok()).count();
        println!("| {number} | {what} | {rounds} | {held} | {:.1?} |", began.elapsed());
        failed += rounds - held;
    }
    assert_eq!(failed, 0, "rounds in which a promise was broken");
}
