//! Hosts session actors and walks the path of every tool call. Knows no tool by name.
//!
//! Read in the order in which a call passes: `agent_service` → `session` → `run` → `call`.

pub mod config;
mod serve;
pub mod crash;

pub mod agent_service;
mod convert;
mod digest;
mod query;
pub mod session;
pub mod run;

pub mod call;
pub mod catalog;

pub mod artifacts;
pub mod journal;
pub mod partitions;

pub mod model;
pub mod status;

pub use self::{
    config::{Config, Node},
    serve::{Error, run},
};
