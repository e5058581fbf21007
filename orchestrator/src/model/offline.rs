//! The deterministic planner: no network, no key, never passed off as an LLM.

use async_trait::async_trait;

use super::{Model, Reply, Request, error::ModelError, glimpse::Glimpses};

/// The planner.
#[derive(Debug)]
pub(super) struct Offline;

#[async_trait]
impl Model for Offline {
    async fn reply(
        &self,
        _request: &Request,
        _glimpses: &mut Glimpses<'_>,
    ) -> Result<Reply, ModelError> {
        Ok(Reply::default())
    }
}
