//! The embedded stack: every role as its own process on this machine, under one supervisor.
//!
//! `callboard up` is a supervisor in the foreground; for `ask` and other commands one is started in
//! the background (`serve stack`) and ends with its last client. Read on: `order` and `hello` (what
//! is said), `lock`, `role`, `restart`, `control`, `supervisor`, `drain`; then `join`, the clients' side.

pub(crate) mod order;
pub(crate) mod hello;
pub(crate) mod lock;
mod role;
mod restart;
mod offered;
pub(crate) mod control;
mod supervisor;
mod drain;
pub(crate) mod join;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use callboard_discovery::Address;
use serde::{Deserialize, Serialize};

pub(crate) use self::supervisor::{Plan, Supervisor};

use self::hello::Hello;
use self::lock::Lock;
use self::order::{Order, RoleName};
use self::role::Launcher;
use crate::config::agreement::Agreement;
use crate::config::settings;
use crate::place::Place;

/// What the client that starts a stack hands to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StackOrder {
    /// The settings that were set, without defaults.
    pub(crate) settings: toml::Table,
    /// What later clients must agree with.
    pub(crate) agreement: Agreement,
    /// Folder of the sockets.
    pub(crate) sockets: PathBuf,
}

/// What differs between `up` and a stack in the background.
#[derive(Debug)]
pub(crate) enum Kind {
    /// `up`: lives until it is told to end, logs to standard error.
    Foreground {
        /// Where the gateway listens for browsers.
        http: Option<String>,
    },
    /// Lives as long as its clients, without a port.
    Background,
}

/// The plan of a stack on `place`. The caller holds the lock.
///
/// # Errors
/// When the state folder cannot be written.
pub(crate) fn plan(
    place: &Place,
    order: StackOrder,
    kind: Kind,
    lock: Lock,
) -> anyhow::Result<Plan> {
    logs(&place.state)?;
    clear(&order.sockets);
    // A stack's sockets have names of its own: roles of a killed one may still be draining.
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let socket = |role: RoleName| order.sockets.join(format!("{role}-{}.sock", &nonce[..8]));
    let (is_up, http) = match kind {
        Kind::Foreground { http } => (true, http),
        Kind::Background => (false, None),
    };
    let orders = RoleName::ALL.map(|role| {
        let order = Order {
            settings: settings::share(&order.settings, role),
            listen: Address::Unix(socket(role)),
            advertise: None,
            http: http.clone().filter(|_| role == RoleName::Gateway),
            directory: place.directory(),
            logs_to_stderr: is_up,
        };
        (role, order)
    });
    let hello = Hello {
        workspace: place.workspace.to_string_lossy().into_owned(),
        workspace_digest: place.workspace_digest(),
        config_digest: order.agreement.digest(),
        agreement: order.agreement,
        gateway: socket(RoleName::Gateway),
        directory: place.directory(),
        http: None,
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let launcher = Launcher {
        program: program()?,
        workspace: place.workspace.clone(),
        state: place.state.clone(),
        environment: environment(),
        inherit_stderr: is_up,
    };
    Ok(Plan {
        launcher,
        orders: BTreeMap::from(orders),
        hello,
        sockets: order.sockets,
        ends_with_clients: !is_up,
        first_client: None,
        lock,
        rules: None,
    })
}

/// This program. By way of `/proc` it is still the same one when its file was replaced meanwhile,
/// by a new build for example.
fn program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// The part of the environment that the processes of a stack may have.
fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(role::is_passed_on)).collect()
}

/// The folder of the logs, made where it is missing.
fn logs(state: &Path) -> anyhow::Result<PathBuf> {
    let logs = state.join("logs");
    DirBuilder::new().recursive(true).mode(0o700).create(&logs).map_err(|error| {
        crate::exit::usage(format!("the folder {} cannot be made: {error}", logs.display()))
    })?;
    Ok(logs)
}

/// Removes sockets on which nobody listens any more.
fn clear(sockets: &Path) {
    let Ok(entries) = std::fs::read_dir(sockets) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_socket = path.extension().is_some_and(|extension| extension == "sock");
        let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if is_socket && std::os::unix::net::UnixStream::connect(&path).is_err_and(refused) {
            // Another stack's clean-up may have been faster.
            let _ = std::fs::remove_file(&path);
        }
    }
}
