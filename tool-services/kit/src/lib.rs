//! The kit: what a team writes a tool service with. A tool is one type with an argument struct, a
//! description and an `invoke`; [`serve`] does the rest: it registers the instance, answers for
//! every tool, judges each call again before it runs, keeps its time, remembers its outcome, and
//! drains when asked to.

mod about;
mod call;
mod calls;
mod config;
mod convert;
mod deadline;
mod descriptor;
mod failure;
mod fence;
mod judge;
mod outcomes;
mod refusal;
mod request;
mod serve;
mod served;
mod server;
mod service;
mod sizes;
mod standalone;
pub mod testing;
mod tool;

pub use self::{
    about::{About, Cost, Effect, Example},
    call::{Call, Workspace},
    config::Config,
    descriptor::DescriptorError,
    failure::{Failure, FailureKind, Violation},
    serve::{ServeError, serve},
    service::Service,
    standalone::main,
    tool::{Output, Rollback, Tool, Undo, Verdict},
};
