//! Starts a service on a Unix socket in a folder of its own, so that tools are tested through the
//! gRPC server that orchestrators meet. For tests only: nothing else uses it. Calls are made by
//! `caller.rs`; `program.rs` starts a service as a process of its own.

mod caller;
mod program;

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use callboard_discovery::{Address, transport::ChannelError};
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

pub use self::{
    caller::{Caller, collect},
    program::Program,
};
use crate::{Config, ServeError, Service, Workspace, serve};

/// Id of the workspace that [`start_in`] serves.
pub const WORKSPACE: &str = "work";
/// A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why a service could not be started for a test.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be found.
    #[error(transparent)]
    Discovery(#[from] callboard_discovery::Error),
    /// It cannot be called.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// It was not served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Its program could not be started.
    #[error("the program was not started: {0}")]
    Program(#[from] std::io::Error),
    /// It did not come up, or did not go down.
    #[error("the service did not {0} in time")]
    Slow(&'static str),
}

/// A served service, and a caller of it. Dropping it ends the service without a drain.
#[derive(Debug)]
pub struct Served {
    caller: Caller,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
    _folder: Folder,
}

/// Serves a service without a workspace.
///
/// # Errors
/// [`Error`] if it does not come up.
pub async fn start(service: Service) -> Result<Served, Error> {
    start_with(service, |_| {}).await
}

/// Serves a service with one workspace, [`WORKSPACE`], at `path`.
///
/// # Errors
/// [`Error`] if it does not come up.
pub async fn start_in(service: Service, path: &Path) -> Result<Served, Error> {
    let workspace = Workspace { id: WORKSPACE.to_owned(), path: path.to_owned() };
    start_with(service, |config| config.workspaces.push(workspace)).await
}

/// Serves a service with settings of one's own.
///
/// # Errors
/// [`Error`] if it does not come up.
pub async fn start_with(
    service: Service,
    settings: impl FnOnce(&mut Config),
) -> Result<Served, Error> {
    let folder = Folder::new();
    let discovery = callboard_discovery::connect(callboard_discovery::Config::Directory {
        path: folder.0.clone(),
    })
    .await?;
    let mut config = Config::new(Address::Unix(folder.0.join("tool.sock")));
    settings(&mut config);
    let credentials = config.credentials.clone();
    let shutdown = CancellationToken::new();
    let tasks = TaskTracker::new();
    let mut serving = tasks.spawn(serve(service, config, Arc::clone(&discovery), shutdown.clone()));
    let mut live = discovery.live();
    let instance = tokio::select! {
        ended = &mut serving => {
            return Err(match ended {
                Ok(Err(error)) => Error::Serve(error),
                Ok(Ok(())) | Err(_) => Error::Slow("stay up"),
            });
        }
        found = timeout(PATIENCE, live.wait_for(|live| !live.instances.is_empty())) => match found {
            Ok(Ok(live)) => live.instances.values().next().cloned(),
            Ok(Err(_)) | Err(_) => None,
        },
    };
    let instance = instance.ok_or(Error::Slow("come up"))?;
    let caller = Caller::new(instance, &credentials)?;
    Ok(Served { caller, shutdown, serving, _folder: folder })
}

impl Served {
    /// Asks for a shutdown and waits for the end of the drain.
    ///
    /// # Errors
    /// What ended it instead.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.shutdown.cancel();
        match timeout(PATIENCE, &mut self.serving).await {
            Ok(Ok(result)) => Ok(result?),
            Ok(Err(_)) | Err(_) => Err(Error::Slow("go down")),
        }
    }

    /// Asks for a shutdown and waits for nothing.
    pub fn shut_down(&self) {
        self.shutdown.cancel();
    }
}

impl Deref for Served {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A folder, made by discovery, that is removed with everything in it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        // A socket path has room for 107 bytes.
        let name = format!("cb-{}", &Uuid::new_v4().simple().to_string()[..12]);
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is a temporary folder: what stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
