//! The server's end: binds an address safely and turns it into a stream of connections. A Unix
//! socket lies in a private folder and takes peers of our own user only; TCP is refused without
//! the deployment token. The token itself is asked for by `guard.rs`; next is `connection.rs`.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{Stream, stream};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tracing::warn;

use super::{Connection, Credentials};
use crate::{Address, FolderError, private_folder};

/// `sockaddr_un` holds 108 bytes, the last of which is zero.
const MAX_SOCKET_PATH: usize = 107;

/// Pause after an accept that failed for want of resources, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a role cannot listen, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Anyone who reaches the port could call.
    #[error(
        "refused to listen on {0} without a deployment token: set the file that holds it, or listen on unix:/path"
    )]
    NoToken(Address),
    /// Somebody else listens there.
    #[error("{0} is in use by another process: stop it, or choose another address")]
    InUse(Address),
    /// A socket's path does not fit.
    #[error(
        "socket path {} has {length} bytes, {MAX_SOCKET_PATH} are possible: choose a shorter folder", path.display()
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// Something that is no socket lies at the path.
    #[error("{} exists and is not a socket: remove it, or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The folder cannot hold a socket.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The host is not one of this machine, the port is privileged, or the like.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// The address.
        address: Address,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// A bound address. Dropping it, or the stream made of it, frees the port or removes the socket.
#[derive(Debug)]
pub struct Bound {
    address: Address,
    listener: Listener,
}

#[derive(Debug)]
enum Listener {
    Unix { listener: UnixListener, _socket: SocketFile },
    Tcp(TcpListener),
}

/// Binds `listen`.
///
/// # Errors
/// [`BindError`], every variant. Dropping the future binds nothing.
pub async fn bind(listen: &Address, credentials: &Credentials) -> Result<Bound, BindError> {
    match listen {
        Address::Unix(path) => bind_unix(path).await,
        Address::Tcp(_) if credentials.token.is_none() => Err(BindError::NoToken(listen.clone())),
        Address::Tcp(host_port) => {
            let refuse = |source: io::Error| match source.kind() {
                io::ErrorKind::AddrInUse => BindError::InUse(listen.clone()),
                _ => BindError::Io { address: listen.clone(), source },
            };
            let listener = TcpListener::bind(host_port).await.map_err(refuse)?;
            let port = listener.local_addr().map_err(refuse)?.port();
            let host = host_port.rsplit_once(':').map_or(host_port.as_str(), |(host, _)| host);
            let address = Address::Tcp(format!("{host}:{port}"));
            Ok(Bound { address, listener: Listener::Tcp(listener) })
        }
    }
}

impl Bound {
    /// Where it listens: the given address, with the real port where 0 was given.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The connections as they come, without end and without an error: what fails in between is
    /// logged. Unix peers of another user are dropped.
    pub fn incoming(self) -> impl Stream<Item = io::Result<Connection>> + Send + 'static {
        stream::unfold(self.listener, |listener| async move {
            let connection = accept(&listener).await;
            Some((Ok(connection), listener))
        })
    }
}

async fn accept(listener: &Listener) -> Connection {
    loop {
        let accepted = match listener {
            Listener::Unix { listener, .. } => {
                listener.accept().await.and_then(|(stream, _)| admit(stream))
            }
            Listener::Tcp(listener) => {
                listener.accept().await.and_then(|(stream, peer)| tune(stream, peer))
            }
        };
        match accepted {
            Ok(connection) => return connection,
            Err(error) if concerns_one_peer(error.kind()) => {
                warn!(%error, "connection dropped");
            }
            Err(error) => {
                warn!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Other failures (no file descriptors left) come again at once and would spin.
fn concerns_one_peer(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::NotConnected
            | io::ErrorKind::InvalidInput
    )
}

fn admit(stream: UnixStream) -> io::Result<Connection> {
    let (peer, user) = (stream.peer_cred()?.uid(), rustix::process::geteuid().as_raw());
    if peer != user {
        let text = format!("the peer is user {peer}, not user {user}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(Connection::unix(stream))
}

fn tune(stream: TcpStream, peer: SocketAddr) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    Ok(Connection::tcp(stream, peer))
}

async fn bind_unix(path: &Path) -> Result<Bound, BindError> {
    let address = Address::Unix(path.to_owned());
    let refuse = |source| BindError::Io { address: address.clone(), source };
    let length = path.as_os_str().as_bytes().len();
    if length > MAX_SOCKET_PATH {
        return Err(BindError::PathTooLong { path: path.to_owned(), length });
    }
    private_folder::check(path.parent().unwrap_or(Path::new("/")))?;
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => replace(path).await?,
        bound => bound.map_err(refuse)?,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(refuse)?;
    let inode = fs::symlink_metadata(path).map_err(refuse)?.ino();
    let socket = SocketFile { path: path.to_owned(), inode };
    Ok(Bound { listener: Listener::Unix { listener, _socket: socket }, address })
}

/// Takes the place of a socket whose process is dead, and of nothing else.
async fn replace(path: &Path) -> Result<UnixListener, BindError> {
    let address = Address::Unix(path.to_owned());
    let refuse = |source| BindError::Io { address: address.clone(), source };
    let kind = fs::symlink_metadata(path).map_err(refuse)?.file_type();
    if !std::os::unix::fs::FileTypeExt::is_socket(&kind) {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    // Two that replace at once must not remove each other's fresh socket: the folder's own lock
    // lets one of them look again only after the other is done.
    let folder = fs::File::open(path.parent().unwrap_or(Path::new("/"))).map_err(refuse)?;
    if folder.try_lock().is_err() {
        return Err(BindError::InUse(address));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(_) | Err(_) => return Err(BindError::InUse(address)),
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refuse(error)),
        _ => {}
    }
    UnixListener::bind(path).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(Address::Unix(path.to_owned())),
        _ => BindError::Io { address: Address::Unix(path.to_owned()), source },
    })
}

/// Removes our socket, unless another process has put its own in the place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|socket| socket.ino() == self.inode) {
            // Nothing to do about a failure: the next bind replaces a dead socket.
            let _ = fs::remove_file(&self.path);
        }
    }
}
