//! The doors' addresses: a Unix socket in a private folder for clients of the same user, and TCP for
//! browsers and programs. Binding is a step of its own, so that a port in use is known before
//! anything starts and a port 0 can be told. Who gets in is decided in `http/door.rs`.

use std::{io, net::SocketAddr, path::Path};

use callboard_discovery::{
    Address,
    transport::{self, BindError, Bound, Credentials},
};
use tokio::net::TcpListener;

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The Unix socket.
    #[error(transparent)]
    Socket(#[from] BindError),
    /// Somebody else has the port.
    #[error("{0} is in use by another process: stop it, or set gateway.listen to another address")]
    InUse(String),
    /// The host is not one of this machine, the port is privileged, or the like.
    #[error("cannot listen on {listen}: {source}")]
    Io {
        /// The address.
        listen: String,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// Bound addresses; dropping it frees them.
#[derive(Debug, Default)]
pub struct Listeners {
    pub(crate) socket: Option<Bound>,
    pub(crate) tcp: Option<TcpListener>,
}

impl Listeners {
    /// Binds a Unix socket, whose folder must be private, and a TCP address `host:port`.
    ///
    /// # Errors
    /// [`ListenError`], every variant. Dropping the future binds nothing.
    pub async fn bind(socket: Option<&Path>, tcp: Option<&str>) -> Result<Self, ListenError> {
        let socket = match socket {
            Some(path) => {
                let address = Address::Unix(path.to_owned());
                // A Unix socket needs no token: the peer's user is proven by the kernel.
                Some(transport::bind(&address, &Credentials::default()).await?)
            }
            None => None,
        };
        let tcp = match tcp {
            Some(listen) => Some(TcpListener::bind(listen).await.map_err(|source| {
                let listen = listen.to_owned();
                match source.kind() {
                    io::ErrorKind::AddrInUse => ListenError::InUse(listen),
                    _ => ListenError::Io { listen, source },
                }
            })?),
            None => None,
        };
        Ok(Self { socket, tcp })
    }

    /// The TCP address, with the real port where 0 was given.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}
