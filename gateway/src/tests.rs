//! The gateway for real: on TCP and on a Unix socket, found through the directory, against a scripted
//! orchestrator on a socket of its own.

mod agent;
mod client;
mod journal;
mod stage;

mod doors;
mod drain;
mod input;
mod owners;
mod routes;
mod runs;
mod streams;
