//! The kit: what a team writes a tool service with. A tool is one type with an argument struct, a
//! description and an `invoke`; [`serve`] does the rest.
//!
//! Reading order of one call: `server.rs` decodes it, `calls.rs` runs it in a task of its own,
//! `tool.rs` is what it meets. Which instance is asked, and what happens after a failure, is the
//! orchestrator's business.

mod about;
mod call;
mod descriptor;
mod failure;
mod service;
mod tool;

pub use self::{
    about::{About, Cost, Effect, Example},
    call::{Call, Workspace},
    failure::{Failure, FailureKind, Violation},
    service::Service,
    tool::{Output, Rollback, Tool, Undo, Verdict},
};
