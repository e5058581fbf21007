//! The artifacts of one machine: a file each, named by the SHA-256 of its content, in a folder for
//! its team and session: `<state>/artifacts/<team>/<session>/<digest>`.
//!
//! A file is written aside, synced and moved into place, so that it is there whole or not at all.
//! Next: `journal`, whose events name what is kept here.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use callboard_proto::size;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::run::ids::SessionId;

use super::{ArtifactError, ArtifactId, Artifacts};

/// The folder below the state folder.
const FOLDER: &str = "artifacts";

/// Where files are written before they are moved; no team has this name, see [`encoded`].
const INCOMING: &str = ".incoming";

/// Longest name of a folder in bytes, with room to what file systems take.
const NAME: usize = 200;

/// Artifacts in a folder.
#[derive(Clone, Debug)]
pub struct FileArtifacts {
    root: Arc<Path>,
}

impl FileArtifacts {
    /// Opens the folder `artifacts` below a state folder, and makes it for its owner alone where
    /// there is none. What a process that was killed left unfinished is removed: one process at a
    /// time may hold the folder.
    ///
    /// # Errors
    /// `Full` and `Io`.
    pub async fn open(state: impl AsRef<Path>) -> Result<Self, ArtifactError> {
        let root = state.as_ref().join(FOLDER);
        blocking(move || {
            make_folder(&root).map_err(failed)?;
            let incoming = root.join(INCOMING);
            match std::fs::remove_dir_all(&incoming) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
                _ => make_folder(&incoming).map_err(failed)?,
            }
            Ok(Self { root: root.into() })
        })
        .await
    }

    fn folder(&self, team: &str, session: &SessionId) -> PathBuf {
        self.root.join(encoded(team)).join(encoded(session.as_str()))
    }

    fn keep(&self, folder: &Path, content: &[u8]) -> io::Result<ArtifactId> {
        let name = hex(&Sha256::digest(content).into());
        let path = folder.join(&name);
        make_folder(folder)?;
        if !is_kept(&path, content)? {
            let temporary = self.root.join(INCOMING).join(Uuid::new_v4().to_string());
            let written =
                write_synced(&temporary, content).and_then(|()| std::fs::rename(&temporary, &path));
            if let Err(error) = written {
                // What cannot be removed now is when the folder is opened the next time.
                let _ = std::fs::remove_file(&temporary);
                return Err(error);
            }
        }
        // Also for one that was there: whoever put it may not have come this far.
        File::open(folder)?.sync_all()?;
        Ok(ArtifactId::from(name))
    }
}

#[async_trait]
impl Artifacts for FileArtifacts {
    async fn put(
        &self,
        team: &str,
        session: &SessionId,
        content: Bytes,
    ) -> Result<ArtifactId, ArtifactError> {
        if content.len() > size::ARTIFACT {
            let size = content.len();
            return Err(ArtifactError::TooLarge { size, limit: size::ARTIFACT });
        }
        let (this, folder) = (self.clone(), self.folder(team, session));
        blocking(move || this.keep(&folder, &content).map_err(failed)).await
    }

    async fn read(
        &self,
        team: &str,
        session: &SessionId,
        id: &ArtifactId,
        offset: u64,
        limit: usize,
    ) -> Result<(Bytes, u64), ArtifactError> {
        // Anything but a digest could lead out of the folder.
        if !is_digest(id.as_str()) {
            return Err(ArtifactError::NotFound(id.clone()));
        }
        let (id, path) = (id.clone(), self.folder(team, session).join(id.as_str()));
        blocking(move || read(&path, &id, (offset, limit))).await
    }

    async fn delete(&self, team: &str, session: &SessionId) -> Result<(), ArtifactError> {
        let folder = self.folder(team, session);
        blocking(move || match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArtifactError> + Send + 'static,
) -> Result<T, ArtifactError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ArtifactError::Io(io::Error::other(error))),
    }
}

fn read(
    path: &Path,
    id: &ArtifactId,
    (offset, limit): (u64, usize),
) -> Result<(Bytes, u64), ArtifactError> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ArtifactError::NotFound(id.clone()));
        }
        opened => opened.map_err(failed)?,
    };
    let size = file.metadata().map_err(failed)?.len();
    let length = size.saturating_sub(offset).min(limit as u64);
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.seek(SeekFrom::Start(offset.min(size))).map_err(failed)?;
    file.take(length).read_to_end(&mut content).map_err(failed)?;
    // A page of it cannot be checked without reading all of it.
    if length == size && hex(&Sha256::digest(&content).into()) != id.as_str() {
        return Err(ArtifactError::Damaged(id.clone()));
    }
    Ok((content.into(), size))
}

fn is_kept(path: &Path, content: &[u8]) -> io::Result<bool> {
    match std::fs::read(path) {
        Ok(kept) => Ok(kept == content),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Makes a folder and those above it, each durable in the one above.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        make_folder(above)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        // Somebody else was faster, and may not have synced yet.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    above.map_or(Ok(()), |above| File::open(above)?.sync_all())
}

/// A name as a folder: letters, digits, `-` and `_` as they are, the rest escaped, and a digest
/// where that is too long. Different names never share a folder.
fn encoded(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push_str(&hex_byte(byte));
        }
    }
    if encoded.len() > NAME {
        return format!("%long-{}", hex(&Sha256::digest(name.as_bytes()).into()));
    }
    if encoded.is_empty() { "%".to_owned() } else { encoded }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(digest: &[u8; 32]) -> String {
    digest.map(hex_byte).concat()
}

fn hex_byte(byte: u8) -> String {
    format!("{byte:02x}")
}

fn failed(error: io::Error) -> ArtifactError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ArtifactError::Full,
        _ => ArtifactError::Io(error),
    }
}

#[cfg(test)]
mod tests;
