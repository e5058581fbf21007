//! The client's end: one lazy HTTP/2 connection to one instance, with our proof attached to every
//! request. Choosing an instance, deadlines, and retries are the caller's.

use std::{
    fmt, io,
    path::Path,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Request, Response, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::{
    body::Body,
    transport::{self, Endpoint, channel::ResponseFuture},
};
use tower::{Service, service_fn};

use super::Credentials;
use crate::Address;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A silent connection is asked for a sign of life this often, and given up after the timeout.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why no channel can be made. That nobody answers shows only in a call.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The text after `tcp:` makes no URI.
    #[error("`{address}` cannot be called: {source}")]
    Address {
        /// The address.
        address: Address,
        /// What is wrong with it.
        source: transport::Error,
    },
    /// TCP without a token would be refused at the other end.
    #[error(
        "`{0}` is called over TCP, which wants the deployment token: set the file that holds it"
    )]
    NoToken(Address),
}

/// A connection to one instance; clones share it. It connects at the first call, and again after
/// it was lost.
#[derive(Clone)]
pub struct Channel {
    inner: transport::Channel,
    authorization: Option<HeaderValue>,
}

/// Makes a channel to `address`. Must be called on a runtime; connects to nothing yet.
///
/// # Errors
/// [`ChannelError::NoToken`] for TCP without a token, [`ChannelError::Address`] if it is no URI.
pub fn channel(address: &Address, credentials: &Credentials) -> Result<Channel, ChannelError> {
    match address {
        Address::Unix(path) => {
            let path = path.clone();
            // The URI only fills the `:authority` header; the connector knows the path.
            let inner = tune(Endpoint::from_static("http://localhost"))
                .connect_with_connector_lazy(service_fn(move |_: Uri| {
                    let path = path.clone();
                    async move { connect_unix(&path).await }
                }));
            Ok(Channel { inner, authorization: None })
        }
        Address::Tcp(host_port) => {
            let Some(token) = &credentials.token else {
                return Err(ChannelError::NoToken(address.clone()));
            };
            let endpoint = Endpoint::from_shared(format!("http://{host_port}"))
                .map_err(|source| ChannelError::Address { address: address.clone(), source })?;
            let inner = tune(endpoint).connect_lazy();
            Ok(Channel { inner, authorization: Some(token.header().clone()) })
        }
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = transport::Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        self.inner.call(request)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

fn tune(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
}

async fn connect_unix(path: &Path) -> io::Result<TokioIo<UnixStream>> {
    let stream = UnixStream::connect(path).await?;
    // A client tells secrets too: only a server of our own user may hear them.
    let (server, user) = (stream.peer_cred()?.uid(), rustix::process::geteuid().as_raw());
    if server != user {
        let text = format!("{} is served by user {server}, not by user {user}", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(TokioIo::new(stream))
}
