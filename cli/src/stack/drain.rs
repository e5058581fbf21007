//! The end of a stack: who calls ends before who is called, all within a limit.
//!
//! First the gateway and the orchestrator, then the tool services, each told by the end of its
//! standard input; what is left at the limit is killed. Next: `join`.

use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::order::RoleName;
use super::role::RoleEvent;
use super::supervisor::Supervisor;

impl Supervisor {
    /// Ends all roles and returns when their processes are gone.
    pub(crate) async fn drain(&mut self) {
        // Before the socket is gone: who finds none must know why.
        self.lock.note_end();
        self.clients.close();
        if self.roles.is_empty() && self.tasks.is_empty() {
            return;
        }
        let deadline = Instant::now() + self.drain_limit;
        self.drain_those(deadline, |role| !role.is_tool()).await;
        self.drain_those(deadline, RoleName::is_tool).await;
        while self.tasks.join_next().await.is_some() {}
        info!("stack ended");
    }

    async fn drain_those(&mut self, deadline: Instant, is_meant: fn(RoleName) -> bool) {
        let meant = |role: &RoleName| is_meant(*role);
        for (_, running) in self.roles.iter_mut().filter(|(role, _)| meant(role)) {
            running.drain();
        }
        let mut is_late = false;
        while self.roles.keys().any(meant) {
            tokio::select! {
                event = self.next_role_event() => {
                    if let Some((role, RoleEvent::Ended(status))) = event {
                        self.roles.remove(&role);
                        if !status.success() {
                            warn!(%role, %status, "role did not end well");
                        }
                    }
                }
                () = sleep_until(deadline), if !is_late => {
                    is_late = true;
                    for (role, running) in self.roles.iter().filter(|(role, _)| meant(role)) {
                        warn!(%role, "role did not end in time");
                        running.kill();
                    }
                }
            }
        }
    }
}
