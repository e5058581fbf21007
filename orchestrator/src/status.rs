//! Figures about the runs of this process, for `GetStatus`. Exact, and lost with the process.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

/// Figures since the process started.
#[derive(Debug)]
pub struct Status {
    started: Instant,
    runs: AtomicU64,
    failed: AtomicU64,
    tokens: AtomicU64,
    last_active_ms: AtomicI64,
    active: AtomicU32,
}

/// Figures at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Seconds since the start.
    pub uptime_seconds: u64,
    /// Runs that ended.
    pub runs_total: u64,
    /// Of these, failed.
    pub runs_failed: u64,
    /// Input and output tokens.
    pub tokens_total: u64,
    /// When a run last ended, Unix time in milliseconds; 0 if none did.
    pub last_active_ms: i64,
    /// Runs that work now.
    pub active_runs: u32,
}

impl Status {
    /// Counts from now on.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            runs: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            last_active_ms: AtomicI64::new(0),
            active: AtomicU32::new(0),
        }
    }

    /// An actor works on a run; it may have begun elsewhere.
    pub fn run_begins(&self) {
        self.active.fetch_add(1, Relaxed);
    }

    /// An actor no longer works on a run, whether that ended or not.
    pub fn run_leaves(&self) {
        self.active.fetch_sub(1, Relaxed);
    }

    /// A run ended.
    pub fn run_ended(&self, has_failed: bool, tokens: u64, now_ms: i64) {
        self.runs.fetch_add(1, Relaxed);
        self.failed.fetch_add(u64::from(has_failed), Relaxed);
        self.tokens.fetch_add(tokens, Relaxed);
        self.last_active_ms.store(now_ms, Relaxed);
    }

    /// The figures as they are now.
    pub fn figures(&self) -> Figures {
        Figures {
            uptime_seconds: self.started.elapsed().as_secs(),
            runs_total: self.runs.load(Relaxed),
            runs_failed: self.failed.load(Relaxed),
            tokens_total: self.tokens.load(Relaxed),
            last_active_ms: self.last_active_ms.load(Relaxed),
            active_runs: self.active.load(Relaxed),
        }
    }
}

impl Default for Status {
    fn default() -> Self {
        Self::new()
    }
}
