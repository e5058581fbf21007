//! Rules that change while a process runs: its configuration files are looked at every second, and
//! read again when one of them is another one.
//!
//! Only rules are taken over; everything else holds until the next start. Looking at what a file is,
//! and not at events of its folder, also sees a mounted configuration that is exchanged as a whole.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callboard_orchestrator::call::policy::RulesRead;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::Loaded;
use crate::commands::here::Here;

/// How often to look.
const EVERY: Duration = Duration::from_secs(1);

/// What a file is: which one, how long, and when it was changed.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// Follows the configuration of `here`, which was read as `loaded`. The task ends when nobody
/// listens any more.
pub(crate) fn follow(here: Here, loaded: &Loaded) -> (watch::Receiver<RulesRead>, JoinHandle<()>) {
    let rules = loaded.settings.orchestrator.policy.clone();
    let (told, read) = watch::channel(Ok(rules));
    let stamps = stamps(&loaded.files);
    (read, tokio::spawn(watch_files(here, (loaded.files.clone(), stamps), told)))
}

async fn watch_files(
    here: Here,
    (files, mut known): (Vec<PathBuf>, Vec<Stamp>),
    told: watch::Sender<RulesRead>,
) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = told.closed() => return,
            _ = ticks.tick() => {}
        }
        let now = stamps(&files);
        if now == known {
            continue;
        }
        known = now;
        let read = here.load().map(|loaded| loaded.settings.orchestrator.policy);
        let read = read.map_err(|error| format!("{error:#}"));
        told.send_if_modified(|before| {
            let is_other = *before != read;
            *before = read;
            is_other
        });
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    files.iter().map(|file| stamp(file)).collect()
}

fn stamp(file: &Path) -> Stamp {
    let found = std::fs::metadata(file).ok()?;
    Some((found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}
