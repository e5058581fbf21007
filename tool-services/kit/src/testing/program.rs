//! A service as a process of its own, for tests that kill it.

use std::{
    ops::Deref,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{ExitStatus, Stdio},
};

use callboard_discovery::{Config, transport::Credentials};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use super::{Caller, Error, PATIENCE};

/// A running program, and a caller of it. Dropping it kills the process.
#[derive(Debug)]
pub struct Program {
    caller: Caller,
    child: Child,
}

impl Program {
    /// Starts a program that registers in a directory, which must be new, and waits until it did. What
    /// else it needs is in `command`.
    ///
    /// # Errors
    /// [`Error`] if it does not come up.
    pub async fn start(mut command: Command, directory: &Path) -> Result<Self, Error> {
        let child = command
            .env("CALLBOARD_DIRECTORY", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let config = Config::Directory { path: directory.to_owned() };
        let discovery = callboard_discovery::connect(config).await?;
        let mut live = discovery.live();
        let found = timeout(PATIENCE, live.wait_for(|live| !live.instances.is_empty())).await;
        let instance = match found {
            Ok(Ok(live)) => live.instances.values().next().cloned(),
            Ok(Err(_)) | Err(_) => None,
        };
        let instance = instance.ok_or(Error::Slow("come up"))?;
        Ok(Self { caller: Caller::new(instance, &Credentials::default())?, child })
    }

    /// Id of the process that was started, which may have started the service.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`Error::Slow`] if it does not come.
    pub async fn ended(&mut self) -> Result<ExitStatus, Error> {
        match timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => Ok(status?),
            Err(_) => Err(Error::Slow("go down")),
        }
    }

    /// Waits for the end, and says whether it came by SIGKILL.
    ///
    /// # Errors
    /// [`Error::Slow`] if it does not come.
    pub async fn is_killed(&mut self) -> Result<bool, Error> {
        Ok(self.ended().await?.signal() == Some(9))
    }

    /// Kills the process and waits for its end.
    ///
    /// # Errors
    /// [`Error::Slow`] if it does not come.
    pub async fn kill(mut self) -> Result<(), Error> {
        self.child.start_kill()?;
        self.ended().await.map(drop)
    }
}

impl Deref for Program {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}
