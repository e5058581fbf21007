//! Counts what a command started, for limits on all of it together, and ends it where no namespace
//! does.
//!
//! Left to others: when to look. Next: `confine.rs`.

use std::collections::HashMap;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::Timespec;

/// Processes at once.
const PROCESSES: usize = 256;

/// Memory of all of them in KiB, as the kernel counts resident pages. Shared pages count once for
/// each process, so it is twice what one process might be given.
const MEMORY_KIB: u64 = 2 * 1024 * 1024;

/// How often what is left is killed again, and the pause between.
const SWEEPS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Whom to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Census {
    /// Everyone in this process namespace but its first process.
    Namespace,
    /// All descendants of this process.
    Descendants,
}

impl Census {
    /// What is over its limit, if anything is.
    pub(super) fn overrun(self) -> Option<String> {
        let processes = self.processes();
        if processes.len() > PROCESSES {
            return Some(format!("more than {PROCESSES} processes at once"));
        }
        let memory: u64 = processes.iter().map(|pid| resident_kib(*pid)).sum();
        let limit = MEMORY_KIB / 1024 / 1024;
        (memory > MEMORY_KIB).then(|| format!("more than {limit} GiB of memory"))
    }

    /// Ends what is left, where the end of this process does not.
    pub(super) fn end(self) {
        if self == Self::Namespace {
            return;
        }
        for _ in 0..SWEEPS {
            for pid in self.processes() {
                // It may be gone already.
                let _ = kill_process(pid, Signal::KILL);
            }
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            if self.processes().is_empty() {
                return;
            }
            pause(PAUSE);
        }
    }

    fn processes(self) -> Vec<Pid> {
        let mut children: HashMap<Option<Pid>, Vec<Pid>> = HashMap::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
            if let Some(pid) = pid.filter(|pid| *pid != getpid()) {
                children.entry(parent(pid)).or_default().push(pid);
            }
        }
        match self {
            Self::Namespace => children.into_values().flatten().collect(),
            Self::Descendants => {
                let mut found = children.remove(&Some(getpid())).unwrap_or_default();
                let mut next = 0;
                while let Some(pid) = found.get(next) {
                    let below = children.remove(&Some(*pid)).unwrap_or_default();
                    found.extend(below);
                    next += 1;
                }
                found
            }
        }
    }
}

/// The parent of a process, from the second field after the name, which may hold anything.
fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    Pid::from_raw(rest.split_ascii_whitespace().nth(1)?.parse().ok()?)
}

fn resident_kib(pid: Pid) -> u64 {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn pause(time: Duration) {
    let nanoseconds = i64::from(time.subsec_nanos());
    let mut left = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    while let NanosleepRelativeResult::Interrupted(rest) = nanosleep(&left) {
        left = rest;
    }
}
