//! The tools through the service's real gRPC server, one file for each; and what tries to get past
//! the walls, in `walls.rs`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use callboard_proto::tool::{Failure, FailureKind, Output, preflight_response::Verdict};
use callboard_tool::{
    StoreSettings, Workspace,
    testing::{Served, WORKSPACE, start_in, start_with},
};
use serde_json::Value;
use tempfile::TempDir;

mod edit;
mod find;
mod list;
mod read;
mod undo;
mod walls;
mod write;

/// A served workspace `ws`, beside a folder `out` that nothing may reach.
struct Place {
    _folder: TempDir,
    ws: PathBuf,
    out: PathBuf,
    served: Served,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (ws, out) = (folder.path().join("ws"), folder.path().join("out"));
        fs::create_dir(&ws).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("canary.txt"), "CANARY").unwrap();
        let served = start_in(crate::service(), &ws).await.unwrap();
        Self { _folder: folder, ws, out, served }
    }

    /// A place whose service has a store, so that changes can be taken back.
    async fn kept(files: &[(&str, &str)]) -> Self {
        Self::kept_up_to(files, StoreSettings::new("").undo_bytes).await
    }

    /// The same, with room for so many bytes of old content.
    async fn kept_up_to(files: &[(&str, &str)], undo_bytes: u64) -> Self {
        let mut place = Self::new().await;
        let path = place.out.with_file_name("store");
        let workspace = Workspace { id: WORKSPACE.to_owned(), path: place.ws.clone() };
        place.served = start_with(crate::service(), |config| {
            config.workspaces.push(workspace);
            config.store = Some(StoreSettings { undo_bytes, ..StoreSettings::new(path) });
        })
        .await
        .unwrap();
        for (path, content) in files {
            place.file(path, content);
        }
        place
    }

    /// A place with these files: their paths and contents.
    async fn with(files: &[(&str, &str)]) -> Self {
        let place = Self::new().await;
        for (path, content) in files {
            place.file(path, content);
        }
        place
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.ws.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn content(&self, path: &str) -> Vec<u8> {
        fs::read(self.ws.join(path)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Output {
        self.served.invoke(tool, arguments).await.unwrap()
    }

    async fn fail(&self, tool: &str, arguments: Value) -> (FailureKind, String) {
        said(self.served.invoke(tool, arguments).await.unwrap_err())
    }

    /// Preflight, approval of what it shows, call.
    async fn approve(&self, tool: &str, arguments: Value) -> Result<Output, Failure> {
        self.served.approve_and_invoke(tool, arguments).await
    }

    async fn judge(&self, tool: &str, arguments: &Value) -> Verdict {
        self.served.preflight(self.served.call(tool, arguments)).await.unwrap()
    }
}

fn said(failure: Failure) -> (FailureKind, String) {
    (failure.kind(), failure.message)
}

/// The first line, and the rest.
fn parts(output: &Output) -> (&str, &str) {
    output.content.split_once('\n').unwrap_or((&output.content, ""))
}

fn structured(output: &Output) -> Value {
    serde_json::from_slice(&output.structured).unwrap()
}

/// Sets the time of the last change, in seconds since 1970.
fn modified(path: &Path, second: i64) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let time = Timespec { tv_sec: second, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}
