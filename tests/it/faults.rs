//! Faults of what an orchestrator stands on, in a whole cluster: etcd, the database, the way to its
//! callers and to its tools. Each is met once, and afterwards every promise is checked.

mod clock;
mod cuts;
mod etcd;
mod exhausted;
mod services;
mod soak;
mod watch;

use std::time::Duration;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);
/// No partition moves because somebody joined.
const SETTINGS: &str = "rebalance_after_ms = 600000\n";
