//! Waiting for a condition, never for a duration.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
const EVERY: Duration = Duration::from_millis(10);

/// Waits until `look` finds something, at most `limit`; fails the test with `what` otherwise.
pub async fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        tokio::time::sleep(EVERY).await;
    }
}

/// Waits until `holds`, at most half a minute; fails the test with `what` otherwise.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    within(Duration::from_secs(30), what, || holds().then_some(())).await;
}
