//! Somebody follows a session. Of one that is refused all is told that can be read, and then why
//! there is no more: that is how it is saved.

use std::sync::Arc;

use callboard_proto::agent;
use futures_util::StreamExt as _;
use tonic::Status;

use super::{Agents, Streamed, team};
use crate::{
    convert, query,
    run::ids::SessionId,
    session::{SessionError, Watch},
};

impl Agents {
    pub(super) async fn follow(
        &self,
        request: agent::AttachRequest,
    ) -> Result<Streamed<agent::AttachResponse>, Status> {
        let (team, id) = (team(request.principal), SessionId::from(request.session));
        let watch = convert::watch(request.watch);
        if watch == Watch::Result {
            return Err(Status::invalid_argument("a session can be watched for facts or for all"));
        }
        let attached = self
            .sessions
            .with(&id, |handle| {
                let team = team.clone();
                async move { handle.attach(team, watch, request.until_idle).await }
            })
            .await;
        let journal = Arc::clone(&self.sessions.shared().journal);
        let notices = match attached {
            Ok(attached) => query::facts(journal, id.clone(), request.after, attached).boxed(),
            Err(error @ SessionError::Damaged(_)) => {
                let row = query::owned_row(&*journal, &team, &id).await;
                row.map_err(|error| self.status(&error, &id))?;
                query::remains(journal, id.clone(), request.after, error).boxed()
            }
            Err(error) => return Err(self.status(&error, &id)),
        };
        let service = self.clone();
        let facts = notices.map(move |notice| {
            let notice = notice.map_err(|error| service.status(&error, &id))?;
            Ok(agent::AttachResponse { notice: Some(convert::notice(notice, id.as_str())) })
        });
        Ok(Box::pin(facts))
    }
}
