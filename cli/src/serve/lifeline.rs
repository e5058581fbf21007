//! How a supervised role ends with its supervisor, however that one ends.
//!
//! The role's standard input brings its order as the first line, then what changes as further lines, and
//! stays open. Its end means "drain and exit"; a thread of its own waits for it and ends the process
//! where the drain hangs, so that nothing is left 3 s after a supervisor was killed. Next: `gateway`.

use std::io::{self, BufRead as _, Read as _};
use std::time::Duration;

use anyhow::Context as _;
use callboard_orchestrator::call::policy::{self, RulesRead};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;
use crate::stack::order::{Change, Order};

/// How long a role may live after its supervisor: somewhat longer than a supervisor would wait.
const LIMIT: Duration = Duration::from_millis(2_800);
/// An order has at most so many bytes.
const ORDER_LIMIT: u64 = 4 << 20;

/// Reads the order from standard input, which stays open.
///
/// # Errors
/// When the supervisor is gone or of another version.
pub(super) fn read_order() -> anyhow::Result<Order> {
    let mut line = String::new();
    io::stdin().lock().take(ORDER_LIMIT).read_line(&mut line).context("no order came")?;
    serde_json::from_str(&line).context("the order cannot be read")
}

/// Cancels `shutdown` at the end of standard input, and ends the process some time later. What the
/// supervisor says before comes out of the receiver.
///
/// # Errors
/// When no thread can be started.
pub(super) fn watch(shutdown: CancellationToken) -> io::Result<watch::Receiver<RulesRead>> {
    let (told, rules) = watch::channel(Ok(policy::Config::default()));
    let wait = move || {
        hear(&told);
        shutdown.cancel();
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            std::thread::park_timeout(deadline - Instant::now());
        }
        std::process::exit(i32::from(Exit::Failed.code()));
    };
    std::thread::Builder::new().name("lifeline".to_owned()).spawn(wait).map(|_| rules)
}

/// Passes on what the supervisor says until its end; an error means that nothing can be heard either.
fn hear(told: &watch::Sender<RulesRead>) {
    let mut stdin = io::stdin().lock();
    let mut line = String::new();
    while matches!((&mut stdin).take(ORDER_LIMIT).read_line(&mut line), Ok(length) if length > 0) {
        if let Ok(Change::Rules(rules)) = serde_json::from_str(&line) {
            let _before = told.send_replace(rules);
        }
        line.clear();
    }
}
