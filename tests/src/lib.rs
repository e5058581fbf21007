//! The harness of the whole-system tests: each helper once. The tests themselves are in `it/`.
//!
//! Everything is real: processes, sockets, etcd, PostgreSQL. Only the paid model API is played, by a
//! server that speaks its bytes (`model`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a harness fails its test by panicking, and reads the environment and the clock"
)]

mod binary;
mod cluster;
mod disk;
mod etcd;
mod events;
mod ledger;
mod memory;
mod model;
mod one_machine;
mod otlp;
mod postgres;
mod processes;
mod proxy;
mod strace;
mod wait;
mod wall_clock;

pub use self::{
    binary::{Callboard, Finished, Stack, http_client},
    cluster::{Cluster, LEASE, Member},
    disk::SmallDisk,
    etcd::Etcd,
    events::Events,
    ledger::{LEDGER_KEEP, LEDGER_TOOLS, Ledger, ledger_if_asked},
    model::{ModelServer, Reply},
    one_machine::OneMachine,
    otlp::{Collector, Span},
    postgres::{PASSWORD, PASSWORD_IN_URL, Postgres, Stop},
    processes::{alive, processes_of, role_of, send},
    proxy::Proxy,
    strace::slow_syncs,
    wait::{eventually, within},
    wall_clock::WallClock,
};
