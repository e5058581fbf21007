//! Whole-system tests: one binary, one module per behaviour.

mod approvals;
mod hook;
mod lifecycle;
mod main_job;
mod model_wire;
mod tidy;
