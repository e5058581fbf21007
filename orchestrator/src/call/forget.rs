//! Has tool services forget what they kept of the calls of a session that was removed. Which services
//! those are is for the session to say.

use std::time::Duration;

use callboard_proto::tool::ForgetRequest;
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;
use tracing::{info, warn};

use super::CallPath;
use super::attempts::place;
use crate::catalog::Instance;
use crate::run::event::{AttemptStarted, ForgetAsked, Keeper};

/// Longest that a service is waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// Pauses between two rounds: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(5));

impl CallPath {
    /// Asks all keepers, and those that are away again and again: at the latest at `until` nobody is
    /// waited for any more. Dropping the future asks no more.
    pub async fn forget(&self, asked: &ForgetAsked, until: Instant) {
        let mut changes = self.catalog().changes();
        let mut left: Vec<&Keeper> = asked.keepers.iter().collect();
        let mut pause = PAUSES.0;
        loop {
            self.catalog().ready().await;
            let mut away = Vec::new();
            for keeper in left {
                if !self.forgets(asked, keeper).await {
                    away.push(keeper);
                }
            }
            left = away;
            if left.is_empty() {
                return;
            }
            if Instant::now() >= until {
                return warn!(session = %asked.session, ?left, "not forgotten; it has expired");
            }
            // One that comes back is asked soon, and none too often.
            sleep(PAUSES.0).await;
            tokio::select! {
                () = sleep(pause) => {}
                Ok(()) = changes.changed() => {}
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Whether a keeper has forgotten the session, or is gone for good.
    async fn forgets(&self, asked: &ForgetAsked, keeper: &Keeper) -> bool {
        let snapshot = self.catalog().snapshot();
        let instances = snapshot.instances_of(&asked.team, &keeper.service);
        let started = AttemptStarted {
            incarnation: keeper.incarnation.clone(),
            store: keeper.store.clone(),
            ..AttemptStarted::default()
        };
        match place::holder(instances, &started) {
            Some(instance) => forgets(&instance, asked).await,
            // Its memory went with it.
            None => keeper.store.is_empty() && self.catalog().is_confirmed(),
        }
    }
}

async fn forgets(instance: &Instance, asked: &ForgetAsked) -> bool {
    let request = ForgetRequest {
        team: asked.team.clone(),
        session: asked.session.to_string(),
        call_ids: Vec::new(),
        whole_session: true,
    };
    let mut client = ToolServiceClient::new(instance.channel());
    let (service, session) = (&instance.service, &asked.session);
    match timeout(LIMIT, client.forget(request)).await {
        Ok(Ok(_)) => {
            info!(%session, service, "a removed session is forgotten");
            true
        }
        Ok(Err(status)) => {
            warn!(%session, service, %status, "a removed session is not forgotten");
            // Asking again would not help.
            matches!(status.code(), Code::Unimplemented | Code::InvalidArgument)
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
