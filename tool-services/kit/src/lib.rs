//! The kit: what a team writes a tool service with. A tool is one type with an argument struct, a
//! description and an `invoke`; [`serve`] does the rest: it registers the instance, answers for
//! every tool, judges each call again before it runs, keeps its time, remembers its outcome, and
//! drains when asked to.
//!
//! A whole tool service. Its program is `fn main() -> ExitCode { callboard_tool::main(service) }`.
//!
//! ```
//! use callboard_tool::{About, Call, Example, Failure, Output, Service, Tool, testing};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! /// What the model fills in; the doc comments are what it reads.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Divide {
//!     /// Number to divide.
//!     dividend: i64,
//!     /// Number to divide by, not zero.
//!     divisor: i64,
//! }
//!
//! struct Divider;
//!
//! impl Tool for Divider {
//!     type Args = Divide;
//!
//!     fn about(&self) -> About {
//!         About::new(
//!             "divide",
//!             "Divides two whole numbers and rounds down.",
//!             "Sums with several steps; use calculate.",
//!             Example::new("How many dozens are 100 eggs?", r#"{"dividend":100,"divisor":12}"#),
//!         )
//!         .words("divide, split evenly; 除, 平均分")
//!         .read_only()
//!     }
//!
//!     async fn invoke(&self, args: Divide, _: &Call) -> Result<Output, Failure> {
//!         let quotient = args.dividend.checked_div_euclid(args.divisor).ok_or_else(|| {
//!             Failure::invalid_arguments("Nothing can be divided by zero.")
//!                 .violation("/divisor", "must not be 0")
//!         })?;
//!         Ok(Output::text(quotient.to_string()))
//!     }
//! }
//!
//! fn service() -> Service {
//!     Service::new("divider", "1.0.0").tool(Divider)
//! }
//!
//! // And its test: a real server, a real client.
//! # #[tokio::main]
//! # async fn main() -> Result<(), testing::Error> {
//! let served = testing::start(service()).await?;
//! let output = served.invoke("divide", json!({"dividend": 100, "divisor": 12})).await;
//! assert_eq!(output.map(|output| output.content), Ok("8".to_owned()));
//! # served.stop().await
//! # }
//! ```
//!
//! A tool that changes things can know what a crash left and be taken back: see [`Intent`].
//!
//! Reading order of one call: `server.rs` decodes it, `calls.rs` runs it in a task of its own,
//! `judge.rs` judges it again, `tool.rs` is what it meets, `outcomes.rs` and `fence.rs` remember it
//! and who may ask; `store.rs` does so for the next process. Which instance is asked, and what happens after a failure, is the
//! orchestrator's business. Next: `serve.rs`.

mod about;
mod call;
mod calls;
mod config;
mod convert;
mod deadline;
mod descriptor;
mod failure;
mod fence;
mod intent;
mod judge;
mod outcomes;
mod refusal;
mod request;
mod serve;
mod served;
mod server;
mod service;
mod sizes;
#[cfg(test)]
mod specimens;
mod standalone;
mod store;
pub mod testing;
mod tool;

pub use self::{
    about::{About, Cost, Effect, Example},
    call::{Call, Workspace},
    config::Config,
    descriptor::DescriptorError,
    failure::{Failure, FailureKind, Violation},
    intent::{Intent, Intents},
    serve::{ServeError, serve},
    service::Service,
    standalone::main,
    store::{StoreError, StoreSettings},
    tool::{Output, Recovered, Rollback, Tool, Undo, UndoMode, Verdict},
};
