//! Walks a workspace with several threads and no way out: every folder is opened through the wall,
//! no link is followed, no other file system entered. What is ignored is decided in
//! `walk/ignored.rs`; what an entry is worth, by whoever walks.

use std::{
    ffi::OsStr,
    num::NonZero,
    ops::ControlFlow,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::fs::{AtFlags, Dir, statat};
use tokio_util::sync::CancellationToken;

use crate::{
    beneath::{OpenFile, Root, WallError, open_file_in},
    meta::{Kind, Meta},
    relative::RelativePath,
};

mod ignored;

use self::ignored::Rules;

/// More threads than this wait for one another more than for the disk.
const MAX_THREADS: usize = 4;

/// One walk over a folder and everything below it.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// The workspace.
    pub root: &'a Root,
    /// Where to start, without links on the way.
    pub start: RelativePath,
    /// Which entries to leave out.
    pub ignoring: Ignoring,
    /// Ends the walk early.
    pub stop: &'a CancellationToken,
}

/// Which entries a walk leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignoring {
    /// None, and folders named `.git` are entered like any other.
    Nothing,
    /// Those that `.gitignore`, `.ignore` and `.git/info/exclude` name, from the workspace's root
    /// down, whether or not it is a repository; and folders named `.git`.
    Rules,
}

/// Something in a folder.
#[derive(Debug)]
pub struct Entry<'a> {
    folder: &'a OwnedFd,
    parent: &'a RelativePath,
    name: &'a [u8],
    /// What it is.
    pub kind: Kind,
}

impl Entry<'_> {
    /// Its name in its folder.
    pub fn name(&self) -> &[u8] {
        self.name
    }

    /// Its path from the workspace's root.
    pub fn path(&self) -> RelativePath {
        self.parent.join(self.name)
    }

    /// Facts about it; a link is not followed.
    ///
    /// # Errors
    /// It is gone.
    pub fn meta(&self) -> Result<Meta, WallError> {
        let name = OsStr::from_bytes(self.name);
        let stat = statat(self.folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| WallError::from_errno(errno, &self.path()))?;
        Ok(Meta::from(&stat))
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// It is no regular file, or may not be read.
    pub fn open(&self) -> Result<OpenFile, WallError> {
        let name = Path::new(OsStr::from_bytes(self.name));
        open_file_in(self.folder.as_fd(), name, &self.path())
    }
}

/// What a walk did not see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Folders that could not be read.
    pub folders: u64,
    /// One of them in this file system, if there is one.
    pub closed: Option<RelativePath>,
}

/// A folder still to be read, and the rules that hold in it.
struct Task {
    path: RelativePath,
    rules: Rules,
}

/// The folders to go. The last one found is read first, which keeps the stack short.
#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    /// Threads that are reading a folder and may add more.
    busy: usize,
    unseen: Unseen,
}

impl Walk<'_> {
    /// Visits every entry below `start` once, in no order, on several threads. Each thread has a
    /// state of its own, made by `state`; all of them come back. One `Break` ends the walk.
    ///
    /// # Errors
    /// `start` is no folder that can be read, or the walk was stopped.
    pub fn run<S: Send>(
        &self,
        state: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &Entry<'_>) -> ControlFlow<()> + Sync,
    ) -> Result<(Vec<S>, Unseen), WallError> {
        // Reading the first folder here turns an unreadable start into an error.
        self.root.open_folder(&self.start)?;
        let rules = match self.ignoring {
            Ignoring::Nothing => Rules::none(),
            Ignoring::Rules => Rules::above(self.root, &self.start),
        };
        let first = Task { path: self.start.clone(), rules };
        let queue = Mutex::new(Queue { tasks: vec![first], ..Queue::default() });
        let wake = Condvar::new();
        let is_over = AtomicBool::new(false);
        let work = || {
            let mut state = state();
            while let Some(task) = next(&queue, &wake) {
                let mut turn =
                    Turn { queue: &queue, wake: &wake, path: &task.path, found: Ok(Vec::new()) };
                if is_over.load(Ordering::Relaxed) {
                    continue;
                }
                turn.found = self.read(&task, |entry| {
                    let goes_on =
                        !self.stop.is_cancelled() && visit(&mut state, entry).is_continue();
                    is_over.fetch_or(!goes_on, Ordering::Relaxed);
                    goes_on
                });
            }
            state
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let states = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut states = vec![work()];
            for other in others {
                match other.join() {
                    Ok(state) => states.push(state),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            states
        });
        if self.stop.is_cancelled() {
            return Err(WallError::Stopped);
        }
        let unseen = std::mem::take(&mut lock(&queue).unseen);
        Ok((states, unseen))
    }

    /// Reads one folder and returns the folders in it; none if `visit` says that it is over.
    fn read(
        &self,
        task: &Task,
        mut visit: impl FnMut(&Entry<'_>) -> bool,
    ) -> Result<Vec<Task>, WallError> {
        let folder = self.root.open_folder(&task.path)?;
        let rules = task.rules.enter(&folder, &task.path);
        let system = |errno| WallError::from_errno(errno, &task.path);
        let mut folders = Vec::new();
        for entry in Dir::read_from(&folder).map_err(system)? {
            let entry = entry.map_err(system)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let mut found =
                Entry { folder: &folder, parent: &task.path, name, kind: entry.file_type().into() };
            if found.kind == Kind::Unknown {
                // Some file systems do not tell the kind; an entry that is gone is passed over.
                match found.meta() {
                    Ok(meta) => found.kind = meta.kind,
                    Err(WallError::NotFound { .. }) => continue,
                    Err(error) => return Err(error),
                }
            }
            let is_folder = found.kind == Kind::Folder;
            let is_git = is_folder && name == b".git" && self.ignoring == Ignoring::Rules;
            if is_git || rules.ignores(&task.path, name, is_folder) {
                continue;
            }
            if !visit(&found) {
                return Ok(Vec::new());
            }
            if is_folder {
                folders.push(Task { path: found.path(), rules: rules.clone() });
            }
        }
        Ok(folders)
    }
}

/// The next folder to read; `None` once no thread can add another.
fn next(queue: &Mutex<Queue>, wake: &Condvar) -> Option<Task> {
    let mut queue = lock(queue);
    loop {
        if let Some(task) = queue.tasks.pop() {
            queue.busy += 1;
            return Some(task);
        }
        if queue.busy == 0 {
            return None;
        }
        queue = wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// One folder being read. Ends when dropped, so that a panic keeps no other thread waiting.
struct Turn<'a> {
    queue: &'a Mutex<Queue>,
    wake: &'a Condvar,
    path: &'a RelativePath,
    found: Result<Vec<Task>, WallError>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = lock(self.queue);
        queue.busy -= 1;
        match &mut self.found {
            Ok(tasks) => queue.tasks.append(tasks),
            // A folder that went away is no loss; one that may not be read is said.
            Err(WallError::NotFound { .. }) => {}
            Err(error) => {
                queue.unseen.folders += 1;
                if !matches!(error, WallError::OtherFileSystem { .. }) {
                    queue.unseen.closed.get_or_insert_with(|| self.path.clone());
                }
            }
        }
        self.wake.notify_all();
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
