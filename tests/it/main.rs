//! Whole-system tests: one binary, one module per behaviour.

mod approvals;
mod bad_input;
mod crowd;
mod hook;
mod lifecycle;
mod main_job;
mod model_wire;
mod on_etcd;
mod planner;
mod raw;
mod shapes;
mod tidy;
mod trace;
