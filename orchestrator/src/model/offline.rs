//! The deterministic planner: no network, no key, never passed off as an LLM.
//!
//! It gets what a model gets (messages and tool declarations) and does what a model does: choose a
//! tool, or answer. `intent.rs` understands the words, `choose.rs` chooses among the declared tools by
//! what they say of themselves, `work.rs` goes from result to result, `answer.rs` words the end. It
//! works nothing out and opens nothing: every value of an answer comes from a tool.

mod adverbs;
mod answer;
mod choose;
mod clause;
mod clauses;
mod example;
mod finance;
mod folders;
mod goals;
mod intent;
mod kinds;
mod kept;
mod leftovers;
mod lists;
mod markdown;
mod need;
mod numerals;
mod orders;
mod pattern;
mod phrases;
mod places;
mod prices;
mod quantity;
mod queries;
mod quotes;
mod read;
mod remarks;
mod rewrite;
mod sequence;
mod signs;
mod sums;
mod tokens;
mod turn;
mod words;
mod work;

use async_trait::async_trait;

use self::{turn::Turn, work::Plan};
use super::{Model, Reply, Request, error::ModelError, glimpse::Glimpses};
use crate::run::event::Finish;

/// The planner.
#[derive(Debug)]
pub(super) struct Offline;

#[async_trait]
impl Model for Offline {
    async fn reply(
        &self,
        request: &Request,
        glimpses: &mut Glimpses<'_>,
    ) -> Result<Reply, ModelError> {
        let reply = match work::plan(&Turn::all(&request.messages), &request.tools) {
            Plan::Call(wanted) => {
                Reply { calls: vec![wanted], finish: Finish::ToolCalls, ..Reply::default() }
            }
            Plan::Answer(text) => Reply { text, finish: Finish::Stop, ..Reply::default() },
            Plan::GiveUp(text) => Reply { text, finish: Finish::GaveUp, ..Reply::default() },
        };
        glimpses.text(reply.text.clone()).await;
        Ok(reply)
    }
}
