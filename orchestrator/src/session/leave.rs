//! How an actor stops: what it still lets end, and what it tells those who ask too late.

use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::{
    actor::{Exit, SessionActor},
    error::SessionError,
    mailbox::Receiver,
    message::Message,
};

impl SessionActor {
    /// Starts nothing new; what runs may end within the limit of a drain, or of a hand-over. The
    /// next owner attaches to what does not.
    pub(super) fn begin_to_leave(&mut self) {
        let config = &self.shared.config;
        let is_handed_over = self.shared.partitions.is_leaving(self.ownership.partition);
        let limit = if is_handed_over { config.handover_ms } else { config.drain_ms };
        self.leaves_at = Some(Instant::now() + Duration::from_millis(limit));
    }

    /// Ends what runs, keeps what can be kept, and waits for both.
    pub(super) async fn leave(&mut self) -> Exit {
        self.running.clear();
        if self.session.current.is_some() {
            self.shared.status.run_leaves();
        }
        if matches!(self.exit, Some(Exit::Stopped)) {
            self.log.hand_over();
        }
        while matches!(self.exit, Some(Exit::Stopped)) && !self.log.is_settled() {
            let appended = self.log.appended().await;
            if appended.is_err() {
                debug!(session = %self.id, ?appended, "last append failed");
                break;
            }
            self.appended(appended);
        }
        self.exit.take().unwrap_or(Exit::Stopped)
    }

    /// What there is to say of an actor that panicked; nothing of it goes on.
    pub(super) fn broke(&mut self) -> Exit {
        self.running.clear();
        if self.session.current.is_some() {
            self.shared.status.run_leaves();
        }
        Exit::Broke(format!("a fault of the orchestrator after event {}", self.session.last_seq))
    }
}

/// Tells everybody who asks that the session cannot be opened.
pub(super) async fn refuse_all(inbox: &mut Receiver<Box<Message>>, error: &SessionError) -> Exit {
    inbox.close();
    while let Some(message) = inbox.recv().await {
        message.refuse(match error {
            SessionError::Damaged(what) => SessionError::Damaged(what.clone()),
            SessionError::Away => SessionError::Away,
            _ => SessionError::Closed,
        });
    }
    match error {
        SessionError::Damaged(_) => Exit::Damaged(error.to_string()),
        SessionError::Away => Exit::Paused,
        _ => Exit::AppendFailed(error.to_string()),
    }
}
