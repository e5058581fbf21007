//! One accepted connection and what is known of who is at the other end. The proof is made at
//! accept (`listen.rs`) and asked for at each request (`guard.rs`), which is next.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tonic::transport::server::Connected;

/// Who is at the other end of a connection; the server puts it into each request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of our own user, proven by the operating system.
    SameUser,
    /// Anyone who can reach the port.
    Network(SocketAddr),
}

/// An accepted connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    peer: Peer,
}

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Connection {
    /// The caller has proven that the peer is of our own user.
    pub(super) fn unix(stream: UnixStream) -> Self {
        Self { stream: Stream::Unix(stream), peer: Peer::SameUser }
    }

    pub(super) fn tcp(stream: TcpStream, peer: SocketAddr) -> Self {
        Self { stream: Stream::Tcp(stream), peer: Peer::Network(peer) }
    }

    /// Who is at the other end.
    pub fn peer(&self) -> Peer {
        self.peer
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Unix(stream) => stream.is_write_vectored(),
            Stream::Tcp(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
