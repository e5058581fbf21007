//! Says when the folder may have changed: inotify where the kernel gives it, polling where not.
//! What has changed is found by looking (`scan.rs`); next is `watcher.rs`.

use std::{io, time::Duration};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::net::unix::pipe;

use super::folders::Folders;

/// Without inotify the folder is looked at this often.
const POLL: Duration = Duration::from_millis(50);

/// What was noticed, from the least to the most that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// Something changed.
    Some,
    /// A process may have died. The kernel tells of it just before it frees the lock, so that one
    /// more look is due a moment later.
    Death,
    /// The folder itself is gone or events were lost: open a new notice.
    Lost,
}

/// A watch on the folder.
#[derive(Debug)]
pub(super) struct Notice {
    // Read like a pipe, which is all that an inotify descriptor needs; tokio's own wrapper for
    // any descriptor wants `unsafe`.
    inotify: Option<pipe::Receiver>,
}

impl Notice {
    /// Watches; where that is not possible (the user's limit of inotify instances is small), polls.
    pub(super) fn open(folders: &Folders) -> Self {
        let inotify = watch(folders)
            .inspect_err(|error| tracing::warn!(%error, "folder is polled, not watched"))
            .ok();
        Self { inotify }
    }

    /// Waits for the next change. Dropping the future loses nothing.
    pub(super) async fn changed(&self) -> Change {
        let Some(inotify) = &self.inotify else {
            tokio::time::sleep(POLL).await;
            return Change::Some;
        };
        let mut buffer = [0; 4096];
        loop {
            let read = match inotify.readable().await {
                Ok(()) => inotify.try_read(&mut buffer),
                Err(error) => Err(error),
            };
            match read {
                Ok(length) => {
                    if let Some(change) = worst(&buffer[..length]) {
                        return change;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Change::Lost,
            }
        }
    }
}

fn watch(folders: &Folders) -> io::Result<pipe::Receiver> {
    let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let instances = WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::CLOSE_WRITE;
    inotify::add_watch(&fd, &folders.instances, instances | WatchFlags::ONLYDIR)?;
    let owners = WatchFlags::MOVED_TO | WatchFlags::DELETE;
    inotify::add_watch(&fd, &folders.partitions, owners | WatchFlags::ONLYDIR)?;
    pipe::Receiver::from_owned_fd_unchecked(fd)
}

/// The event that asks for most; none if none of them matters.
fn worst(mut events: &[u8]) -> Option<Change> {
    let mut worst = None;
    // `struct inotify_event`: descriptor, mask, cookie, length of the name that follows.
    while let Some((head, rest)) = events.split_first_chunk::<16>() {
        let field =
            |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let mask = ReadFlags::from_bits_retain(field(4));
        let length = usize::try_from(field(12)).unwrap_or(usize::MAX);
        let Some((name, rest)) = rest.split_at_checked(length) else { break };
        events = rest;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let change = if mask.intersects(ReadFlags::IGNORED | ReadFlags::QUEUE_OVERFLOW) {
            Some(Change::Lost)
        } else if name.starts_with(b".") {
            None
        } else if mask.contains(ReadFlags::CLOSE_WRITE) && name.ends_with(b".lock") {
            Some(Change::Death)
        } else {
            Some(Change::Some)
        };
        worst = worst.max(change);
    }
    worst
}
