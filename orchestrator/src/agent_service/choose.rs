//! A person's word on a call whose outcome is unknown.

use callboard_proto::agent;
use tonic::Status;

use super::Agents;
use crate::{
    convert,
    run::{event::Choice, ids::SessionId},
    session::Wish,
};

impl Agents {
    pub(super) async fn choose_outcome(
        &self,
        request: agent::ChooseRequest,
    ) -> Result<agent::ChooseResponse, Status> {
        let id = SessionId::from(request.session.as_str());
        let choice = Choice::ALL.into_iter().find(|choice| choice.as_str() == request.choice);
        let Some(choice) = choice else {
            let text = "a choice is one of `repeat`, `done` and `not_done`";
            return Err(Status::invalid_argument(text));
        };
        let principal = request.principal.clone().unwrap_or_default();
        let trace_context = callboard_telemetry::propagate::traceparent();
        let (first, stands) = self
            .sessions
            .with(&id, |handle| {
                let team = principal.team.clone();
                let wish = Wish {
                    call: request.call_id.as_str().into(),
                    choice,
                    by: principal.name.clone(),
                    note: request.note.clone(),
                    key: request.idempotency_key.clone(),
                    body_digest: convert::choice_digest(&request),
                    trace_context: trace_context.clone(),
                };
                async move { handle.choose(team, wish).await }
            })
            .await
            .map_err(|error| self.status(&error, &id))?;
        Ok(agent::ChooseResponse {
            first,
            choice: stands.choice.as_str().to_owned(),
            run: stands.repeat_run.to_string(),
        })
    }
}
