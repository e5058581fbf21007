//! How a service is served: where it listens, for whom, how much at once and how it ends. Read by
//! the composition root from files and environment; passed here by value.

use std::time::Duration;

use callboard_discovery::{Address, InstanceId, transport::Credentials};

use crate::{StoreSettings, Workspace};

/// Settings of one instance. [`Config::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen. TCP wants a deployment token, loopback included.
    pub listen: Address,
    /// Address under which others reach it, where that is another one; default: none.
    pub advertise: Option<Address>,
    /// What callers on TCP must show; default: none.
    pub credentials: Credentials,
    /// Id of this instance; default: the service's name and a random number.
    pub instance: Option<InstanceId>,
    /// Team that offers the service; default `default`.
    pub team: String,
    /// Where it runs, for callers that prefer a near one; default: nowhere in particular.
    pub zone: String,
    /// Workspaces that calls may name; default: none, for tools that need none.
    pub workspaces: Vec<Workspace>,
    /// Where it keeps what it must not forget when it dies: what became of calls that change
    /// something, and what it takes to undo them. Default: nowhere, so that a call cut off is a call
    /// whose outcome is unknown, and nothing can be taken back. A service of which no tool changes
    /// anything needs none and makes none.
    pub store: Option<StoreSettings>,
    /// Calls at work at once, at least 1; more are refused before they start. Default 256.
    pub capacity: u32,
    /// Time for calls at work to end after a shutdown was asked for; default 20 s.
    pub drain: Duration,
    /// Time after that for streams to take their last message; default 2 s.
    pub linger: Duration,
}

impl Config {
    /// The defaults, listening there.
    pub fn new(listen: Address) -> Self {
        Self {
            listen,
            advertise: None,
            credentials: Credentials::default(),
            instance: None,
            team: "default".to_owned(),
            zone: String::new(),
            workspaces: Vec::new(),
            store: None,
            capacity: 256,
            drain: Duration::from_secs(20),
            linger: Duration::from_secs(2),
        }
    }
}
