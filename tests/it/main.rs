//! Whole-system tests: one binary, one module per behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test fails by panicking, tells a story in one function, and reads the real clock"
)]

mod approvals;
mod bad_input;
mod cancel;
mod crash_points;
mod crowd;
mod failover;
mod faults;
mod hook;
mod journal;
mod lifecycle;
mod main_job;
mod model_wire;
mod on_etcd;
mod outcomes;
mod planner;
mod policy;
mod poison;
mod raw;
mod removal;
mod repeats;
mod replay;
mod rollback;
mod shapes;
mod supervise;
mod whole;
mod tidy;
mod trace;
