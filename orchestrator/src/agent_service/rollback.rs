//! A person wants calls taken back, or to see what would come of it.

use callboard_proto::agent::{self, rollback_request};
use tonic::Status;

use super::Agents;
use crate::{
    convert,
    run::{ids::SessionId, rollback::What},
    session::Takeback,
};

impl Agents {
    pub(super) async fn roll_back(
        &self,
        request: agent::RollbackRequest,
    ) -> Result<agent::RollbackResponse, Status> {
        let id = SessionId::from(request.session.as_str());
        let body_digest = convert::rollback_digest(&request);
        let principal = request.principal.unwrap_or_default();
        let what = match request.what {
            Some(rollback_request::What::CallId(call)) => What::Call(call.into()),
            Some(rollback_request::What::ToStep(step)) => {
                What::ToStep(usize::try_from(step).unwrap_or(usize::MAX))
            }
            None => return Err(Status::invalid_argument("say which call, or which step")),
        };
        let done = if request.dry_run {
            self.sessions.look(&principal.team, &id, &what).await.map(convert::looked)
        } else {
            let (by, key) = (principal.name, request.idempotency_key);
            let takeback = Takeback { what, calls: Vec::new(), by, key, body_digest };
            let done = self.sessions.take_back(&principal.team, &id, takeback).await;
            done.map(convert::taken_back)
        };
        done.map_err(|error| self.status(&error, &id))
    }
}
