//! What is left to do of a session that was removed (`registry/remove.rs`): its rows go, in case that was
//! cut short, then those who kept something of its calls forget it, then this session goes too.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use tracing::warn;

use super::{
    actor::SessionActor,
    effects::{Done, passed},
};
use crate::{crash::crash_point, run::effect::Key};

/// Pause before a journal that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(1);

impl SessionActor {
    pub(super) fn forget(&mut self, key: Key) {
        let Some(asked) = self.session.forget.clone() else { return };
        let left_ms = asked.until_ms.saturating_sub(self.shared.clock.now_ms());
        let until = Instant::now() + Duration::from_millis(u64::try_from(left_ms).unwrap_or(0));
        let (journal, calls) = (Arc::clone(&self.shared.journal), Arc::clone(&self.shared.calls));
        // Only the owner removes anything.
        let gate = self.log.tail_is_durable();
        self.spawn(key, async move {
            if !passed(Some(gate)).await {
                return Done::Closed;
            }
            while let Err(error) = journal.delete(&asked.session).await {
                warn!(session = %asked.session, %error, "a removed session is not gone yet");
                sleep(PAUSE).await;
            }
            crash_point!("forget.before_send");
            calls.forget(&asked, until).await;
            crash_point!("forget.after_answer");
            Done::Forgotten
        });
    }
}
