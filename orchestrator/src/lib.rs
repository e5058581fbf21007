//! Hosts session actors and walks the path of every tool call. Knows no tool by name.
//!
//! Read in the order in which a call passes: `agent_service` → `session` → `run` → `call`.

pub mod run;

pub mod call;
pub mod catalog;

pub mod artifacts;
pub mod journal;
