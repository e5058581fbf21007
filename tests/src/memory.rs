//! A folder in memory where the machine has room for it, for the data of servers whose disk is not
//! what a test is about: they work as they do elsewhere, sync and all, and a slow disk of the
//! machine makes no faults of its own, such as a leader of etcd that loses its leases.

use std::{fs, path::Path};

use tempfile::TempDir;

/// Where Linux keeps files in memory.
const MEMORY: &str = "/dev/shm";
/// What must stay free beside the folder, in bytes.
const SPARE: u64 = 2 << 30;

/// A folder for `needs` bytes: in memory, or where temporary files are.
pub(crate) fn folder(needs: u64) -> TempDir {
    let in_memory = has_room(needs).then(|| TempDir::new_in(MEMORY).ok()).flatten();
    in_memory.unwrap_or_else(|| TempDir::new().unwrap())
}

fn has_room(needs: u64) -> bool {
    let room = rustix::fs::statvfs(MEMORY).map_or(0, |there| there.f_bavail * there.f_frsize);
    room >= needs + SPARE && free_memory() >= needs + SPARE
}

/// Memory that nobody needs, in bytes: that of the machine, or less where a limit is set.
fn free_memory() -> u64 {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let info = fs::read_to_string(Path::new("/proc/meminfo")).unwrap_or_default();
    let available = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let free = kib.unwrap_or_default() << 10;
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or_default();
    limit.map_or(free, |limit| free.min(limit.saturating_sub(used)))
}
