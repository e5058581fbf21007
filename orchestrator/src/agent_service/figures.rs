//! Figures of this process, for people.

use callboard_proto::agent;

use super::{Agents, team};

/// Refused sessions that are named at most.
const NAMED: usize = 100;

impl Agents {
    pub(super) async fn figures(
        &self,
        request: agent::GetStatusRequest,
    ) -> agent::GetStatusResponse {
        let shared = self.sessions.shared();
        let figures = shared.status.figures();
        shared.models.probe().await;
        let models = shared.models.resolve(&shared.config.agent.model).unwrap_or_default();
        let (refused_sessions, refused) = self.refused(&team(request.principal)).await;
        agent::GetStatusResponse {
            uptime_seconds: figures.uptime_seconds,
            runs_total: figures.runs_total,
            runs_failed: figures.runs_failed,
            tokens_total: figures.tokens_total,
            last_active_ms: figures.last_active_ms,
            active_runs: figures.active_runs,
            models,
            refused_sessions,
            refused,
            paused: shared.journal.health().borrow().pause().unwrap_or_default().to_owned(),
        }
    }

    /// How many sessions are refused, and those of a team; one whose row cannot be trusted either is
    /// nobody's.
    async fn refused(&self, team: &str) -> (u32, Vec<agent::RefusedSession>) {
        let refused = self.sessions.refused();
        let count = u32::try_from(refused.len()).unwrap_or(u32::MAX);
        let mut named = Vec::new();
        for (id, reason) in refused {
            if named.len() >= NAMED {
                break;
            }
            let row = self.sessions.shared().journal.session(&id).await.ok().flatten();
            if row.is_some_and(|row| row.team == team) {
                named.push(agent::RefusedSession { session: id.to_string(), reason });
            }
        }
        (count, named)
    }
}
