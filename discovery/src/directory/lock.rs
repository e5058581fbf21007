//! A lock file per instance: `flock`ed by its process for as long as it lives, freed by the kernel
//! at death. Only the process itself opens the file for writing, so that its death is an event of
//! the folder ("closed after writing"); those who ask only read. Next is `scan.rs`.

use std::{
    fs, io,
    os::unix::{fs::MetadataExt as _, net::UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{blocking, folders, folders::Folders};
use crate::{Address, Error, Instance, InstanceId};

/// Whoever asks for liveness holds the lock for an instant: a refusal is final only after this
/// many tries.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(3);

/// Held by a living instance. Dropping it means death to everyone else.
#[derive(Debug)]
pub(super) struct InstanceLock {
    _file: fs::File,
    place: Place,
    path: PathBuf,
    record: PathBuf,
}

/// Which file it is that is locked, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    device: u64,
    inode: u64,
}

impl Place {
    /// The file that has this name now.
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|file| Self { device: file.dev(), inode: file.ino() })
    }

    fn is_of(self, file: &fs::File) -> bool {
        let place = file.metadata().map(|it| Self { device: it.dev(), inode: it.ino() });
        place.is_ok_and(|place| place == self)
    }
}

/// Takes the lock of `id`, waiting a moment for those who only ask.
pub(super) async fn acquire(
    folders: &Arc<Folders>,
    id: &InstanceId,
) -> Result<InstanceLock, Error> {
    for _ in 0..TRIES {
        let (folders, wanted) = (Arc::clone(folders), id.clone());
        if let Some(lock) = blocking(move || try_acquire(&folders, &wanted)).await?? {
            return Ok(lock);
        }
        tokio::time::sleep(PAUSE.mul_f64(0.5 + fastrand::f64())).await;
    }
    Err(Error::Taken(id.clone()))
}

fn try_acquire(folders: &Folders, id: &InstanceId) -> Result<Option<InstanceLock>, Error> {
    let path = folders.lock(id);
    let file = open(&path)?;
    if !taken(file.try_lock(), &path)? {
        return Ok(None);
    }
    // Somebody may have cleared the file away between our opening and locking it.
    let Some(place) = Place::of(&path).filter(|place| place.is_of(&file)) else { return Ok(None) };
    Ok(Some(InstanceLock { _file: file, place, path, record: folders.record(id) }))
}

fn open(path: &Path) -> Result<fs::File, Error> {
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    file.map_err(|source| fail(path, source))
}

/// Whether a try for a lock took it.
fn taken(tried: Result<(), fs::TryLockError>, path: &Path) -> Result<bool, Error> {
    match tried {
        Ok(()) => Ok(true),
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Err(fs::TryLockError::Error(source)) => Err(fail(path, source)),
    }
}

fn fail(path: &Path, source: io::Error) -> Error {
    Error::Io { action: "lock", path: path.to_owned(), source }
}

impl InstanceLock {
    /// Which file is locked; others ask the one that has its name.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Ends the instance's presence: record first, so that nobody sees it without its lock.
    pub(super) fn clear(self) -> Result<(), Error> {
        folders::remove(&self.record)?;
        folders::remove(&self.path)?;
        Ok(())
    }
}

/// Whether a living process holds the lock of `id`.
pub(super) fn is_held(folders: &Folders, id: &InstanceId) -> Result<bool, Error> {
    let path = folders.lock(id);
    let file = match fs::File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(|source| fail(&path, source))?,
    };
    // Shared, so that two who ask at once do not take each other for the holder.
    Ok(!taken(file.try_lock_shared(), &path)?)
}

/// Clears away what a dead process left: its record, its lock and, if it lies in our folder and
/// nobody listens any more, its socket.
///
/// The record goes under a shared lock, which keeps a successor of the same name out and is not
/// taken for a living holder by those who look meanwhile; the lock file goes under the exclusive
/// one, when there is no record left that could be taken for a living instance's.
///
/// True for the one look, of all processes', that removed a record: a lock without one is of an
/// instance that is just coming or going.
pub(super) fn reap(folders: &Folders, id: &InstanceId) -> Result<bool, Error> {
    let path = folders.lock(id);
    let file = open(&path)?;
    let is_there = || Place::of(&path).is_some_and(|place| place.is_of(&file));
    if !taken(file.try_lock_shared(), &path)? || !is_there() {
        return Ok(false);
    }
    let record: Option<Instance> = folders::read(&folders.record(id))?;
    if let Some(Instance { address: Address::Unix(socket), .. }) = record
        && socket.parent() == Some(&folders.root)
        && UnixStream::connect(&socket)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        folders::remove(&socket)?;
    }
    let has_removed = folders::remove(&folders.record(id))?;
    file.unlock().map_err(|source| fail(&path, source))?;
    if taken(file.try_lock(), &path)? && is_there() && Place::of(&folders.record(id)).is_none() {
        folders::remove(&path)?;
    }
    Ok(has_removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::instance;

    #[test]
    fn a_record_is_cleared_away_once_and_a_lock_alone_is_none() {
        let folder = crate::testing::folder();
        let folders = Folders::new(folder.path());
        folders.create().unwrap();
        let dead = instance("dead");
        folders::write(&folders.record(&dead.id), &dead).unwrap();
        fs::write(folders.lock(&dead.id), "").unwrap();
        assert!(reap(&folders, &dead.id).unwrap());
        assert!(!reap(&folders, &dead.id).unwrap(), "there was nothing left");
        let coming = InstanceId::from("coming");
        fs::write(folders.lock(&coming), "").unwrap();
        assert!(!reap(&folders, &coming).unwrap());
        assert_eq!(fs::read_dir(&folders.instances).unwrap().count(), 0);
    }
}
