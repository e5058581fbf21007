//! Who is alive, who owns what, and how roles reach one another.
//!
//! Two backends stand behind one trait: `directory` (one machine, Unix sockets, no server) and
//! `etcd` (a cluster). What an instance offers is not known here: descriptors come from the tool
//! service itself. Start at [`Discovery`]; `instance.rs` says what is registered, `lease.rs` what
//! the registrant holds, `transport.rs` who may call whom.
//!
//! ```no_run
//! use callboard_discovery::{Config, connect, transport};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let discovery = connect(Config::Directory { path: "/run/user/1000/callboard".into() }).await?;
//! let live = discovery.live().borrow().clone();
//! if let Some(calculator) = live.instances.values().find(|it| it.name == "calculator") {
//!     let channel = transport::channel(&calculator.address, &transport::Credentials::default())?;
//! #   drop(channel);
//! }
//! # Ok(())
//! # }
//! ```

mod address;
mod instance;
mod error;
mod lease;
mod claims;
mod directory;
mod etcd;
mod private_folder;
pub mod small_file;
#[cfg(test)]
mod testing;
pub mod transport;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::watch;

pub use self::{
    address::{Address, ParseAddressError},
    claims::preferred_owner,
    error::Error,
    instance::{Instance, InstanceId, Role, State},
    lease::Registration,
    private_folder::FolderError,
};

/// Partitions that a registration holds, each with the revision of its claim.
pub type Held = Arc<BTreeMap<u32, u64>>;

/// All claimed partitions and their owners.
pub type Owners = Arc<BTreeMap<u32, Owner>>;

/// Membership and ownership, as one process sees and changes them.
///
/// Views are `watch` values: the newest one counts, and while the backend is away the last known
/// one stays. Dropping the handle ends the views once no [`Registration`] of it is left.
#[async_trait]
pub trait Discovery: Send + Sync + 'static {
    /// Makes `instance` known to all, for as long as the registration and this process live.
    ///
    /// # Errors
    /// [`Error::Taken`] if a living process holds this id, [`Error::Unavailable`] if the backend
    /// gave no answer, [`Error::Denied`] if it refused our login. Dropping the future registers
    /// nothing that outlives a lease.
    async fn register(&self, instance: Instance) -> Result<Registration, Error>;

    /// The instances that are alive. Whether each is serving is in its state.
    fn live(&self) -> watch::Receiver<LiveSet>;

    /// Claims free partitions of `0..count` for this registration and keeps doing so until it
    /// drains or is released. The value holds what is owned now, each with the revision of its
    /// claim; a partition that is lost leaves it, and one that is won again has a higher revision.
    ///
    /// # Errors
    /// [`Error::Closed`] if the registration has ended, [`Error::Setting`] if it already claims
    /// with another `count`.
    async fn claim(
        &self,
        registration: &Registration,
        count: u32,
    ) -> Result<watch::Receiver<Held>, Error>;

    /// Who owns which partition. A partition without an owner is absent.
    fn owners(&self) -> watch::Receiver<Owners>;

    /// The id of the deployment that this backend holds together: random, made by whoever asks
    /// first, and kept with everything else of the backend, in its backups too. It tells apart two
    /// deployments that meet elsewhere, as in a database that both were given.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the backend gave no answer, [`Error::Denied`] if it refused our
    /// login, [`Error::Io`].
    async fn deployment(&self) -> Result<String, Error>;

    /// False once the last keep-alive was answered more than a lease ago, or, in a process
    /// without a registration, once the backend stopped answering.
    fn is_confirmed(&self) -> bool;
}

/// The instances that are alive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveSet {
    /// By id.
    pub instances: Arc<BTreeMap<InstanceId, Instance>>,
    /// False while the backend is away: then this is the last known view.
    pub confirmed: bool,
}

/// The owner of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Who owns it.
    pub instance: InstanceId,
    /// Revision of the claim; every later claim of the same partition has a higher one.
    pub revision: u64,
}

/// Which backend, and where.
#[derive(Clone, Debug)]
pub enum Config {
    /// One folder on one machine.
    Directory {
        /// Created with mode 0700 if missing; must belong to this user and to no one else.
        path: PathBuf,
    },
    /// An etcd cluster, API v3.
    Etcd {
        /// `http://host:port` of its members; any one that answers is enough.
        endpoints: Vec<String>,
        /// Root of all keys, as `/callboard`.
        prefix: String,
        /// Asked for; the server may grant more. 2 s at least, 10 s is a good value.
        lease_ttl: Duration,
        /// Where the cluster wants a user.
        login: Option<Login>,
    },
}

/// User and password of an etcd cluster with authentication on.
#[derive(Clone)]
pub struct Login {
    /// Name of the user.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Connects to a backend and takes the first view.
///
/// # Errors
/// [`Error::Setting`] or [`Error::Folder`] if the settings cannot work, [`Error::Unavailable`] if
/// no etcd member answers, [`Error::Denied`] if it refuses the login.
pub async fn connect(config: Config) -> Result<Arc<dyn Discovery>, Error> {
    match config {
        Config::Directory { path } => Ok(directory::connect(&path).await?),
        Config::Etcd { endpoints, prefix, lease_ttl, login } => {
            let settings = etcd::Settings { endpoints, prefix, lease_ttl, login };
            Ok(etcd::connect(settings).await?)
        }
    }
}

/// 32 hex digits that nobody else has.
fn random_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}
