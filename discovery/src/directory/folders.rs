//! What lies where in the directory's folder:
//! `instances/<id>.json` the record, `instances/<id>.lock` held while its process lives,
//! `partitions/owners.json` who claimed what, `partitions/owners.lock` held while that is changed,
//! `deployment.json` the deployment's id. Names that start with a dot are files being written. Sockets lie beside both folders. Next is
//! `lock.rs`.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, FolderError, InstanceId, private_folder};

/// A record is some hundred bytes; whoever puts a huge file there is not believed.
const MAX_RECORD: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Folders {
    pub(super) root: PathBuf,
    pub(super) instances: PathBuf,
    pub(super) partitions: PathBuf,
}

impl Folders {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            instances: root.join("instances"),
            partitions: root.join("partitions"),
        }
    }

    /// Makes what is missing and checks that all of it is ours alone.
    pub(super) fn create(&self) -> Result<(), FolderError> {
        [&self.root, &self.instances, &self.partitions]
            .into_iter()
            .try_for_each(|folder| private_folder::create(folder))
    }

    pub(super) fn record(&self, id: &InstanceId) -> PathBuf {
        self.instances.join(format!("{id}.json"))
    }

    pub(super) fn lock(&self, id: &InstanceId) -> PathBuf {
        self.instances.join(format!("{id}.lock"))
    }

    pub(super) fn owners(&self) -> PathBuf {
        self.partitions.join("owners.json")
    }

    /// The value of a file that stays: what is there, or else `value` from now on, whatever happens
    /// to the machine.
    pub(super) fn keep(&self, name: &str, value: &str) -> Result<String, Error> {
        let path = self.root.join(name);
        let fail = |source| Error::Io { action: "write", path: path.clone(), source };
        loop {
            if let Some(there) = read(&path)? {
                return Ok(there);
            }
            let draft = self.root.join(format!(".{name}.{:08x}", fastrand::u32(..)));
            let written = (|| {
                let mut file = fs::File::create_new(&draft)?;
                file.write_all(&serde_json::to_vec(value).map_err(io::Error::other)?)?;
                file.sync_all()?;
                // Of all who do this at once, one makes it.
                match fs::hard_link(&draft, &path) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    Err(_) if read::<String>(&path).is_ok_and(|there| there.is_none()) => {
                        fs::rename(&draft, &path)
                    }
                    Ok(()) | Err(_) => Ok(()),
                }?;
                fs::File::open(&self.root)?.sync_all()
            })();
            // It may have become the file itself.
            let _ = fs::remove_file(&draft);
            written.map_err(fail)?;
        }
    }

    pub(super) fn owners_lock(&self) -> PathBuf {
        self.partitions.join("owners.lock")
    }
}

/// An id becomes a file name here.
pub(super) fn check_id(id: &InstanceId) -> Result<(), Error> {
    let text = id.as_str();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.is_empty() || text.len() > 200 || text.starts_with('.') || !text.bytes().all(is_name) {
        let reason = format!(
            "`{text}` is no instance id: 1 to 200 letters, digits, `-`, `_` or `.` are wanted"
        );
        return Err(Error::Setting { key: "instance id", reason });
    }
    Ok(())
}

/// Replaces a file in one step: readers see the old text or the new one. It is not synced: what it
/// says is worth nothing after the machine went down.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let fail = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{:08x}", fastrand::u32(..)));
    let written = (|| {
        let text = serde_json::to_vec(value).map_err(io::Error::other)?;
        fs::File::create_new(&draft)?.write_all(&text)?;
        fs::rename(&draft, path)
    })();
    if written.is_err() {
        // The draft may not exist; the failure that counts is the first one.
        let _ = fs::remove_file(&draft);
    }
    written.map_err(fail)
}

/// Reads a file; none if it is missing or its text is broken.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let fail = |source| Error::Io { action: "read", path: path.to_owned(), source };
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(fail)?,
    };
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, MAX_RECORD), &mut text).map_err(fail)?;
    match serde_json::from_slice(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "broken record passed over");
            Ok(None)
        }
    }
}

/// Removes a file that may be gone already. Of all who remove it at once, one hears true.
pub(super) fn remove(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::Io { action: "remove", path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_who_name_a_value_at_once_one_does_and_it_stays() {
        let folder = crate::testing::folder();
        let folders = Folders::new(folder.path());
        let kept = std::thread::scope(|scope| {
            let keep = |n: usize| folders.keep("deployment.json", &n.to_string()).unwrap();
            let all: Vec<_> = (0..8).map(|n| scope.spawn(move || keep(n))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<String>>()
        });
        assert!(kept.iter().all(|one| *one == kept[0]), "{kept:?}");
        assert_eq!(folders.keep("deployment.json", "late").unwrap(), kept[0]);
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "no draft is left: {names:?}");
        fs::write(folder.path().join("deployment.json"), "torn").unwrap();
        assert_eq!(folders.keep("deployment.json", "anew").unwrap(), "anew");
    }
}
