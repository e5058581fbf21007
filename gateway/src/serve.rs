//! Connections: accepts on both doors, serves HTTP/1 and HTTP/2 on each, and ends them in order. What
//! a request does is in `http.rs`.

use std::{io, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use callboard_discovery::transport::Bound;
use futures_util::StreamExt as _;
use http::Request;
use hyper::{body::Incoming, rt::Executor, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service as _;
use tracing::{debug, warn};

use crate::http::Door;

/// Connections at once; more wait to be accepted.
const CONNECTIONS: usize = 4096;
/// Streams at once of one HTTP/2 connection.
const STREAMS: u32 = 100;
/// Time for a request's head to arrive.
const HEAD: Duration = Duration::from_secs(10);
/// A silent HTTP/2 connection is asked for a sign of life this often, and given up after the
/// timeout.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(10));
/// Bytes of a request's head.
const HEAD_BYTES: u32 = 64 * 1024;
/// Pause after an accept that failed for want of resources, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `closing` fires; each then ends with its requests in flight.
#[derive(Clone)]
pub(crate) struct Server {
    router: Router,
    tasks: TaskTracker,
    closing: CancellationToken,
    room: Arc<Semaphore>,
}

impl Server {
    pub(crate) fn new(router: Router, tasks: TaskTracker, closing: CancellationToken) -> Self {
        Self { router, tasks, closing, room: Arc::new(Semaphore::new(CONNECTIONS)) }
    }

    /// Accepts on the Unix socket.
    pub(crate) async fn socket(self, bound: Bound) {
        let mut incoming = std::pin::pin!(bound.incoming());
        while let Some(room) = self.room().await {
            let accepted = tokio::select! {
                accepted = incoming.next() => accepted,
                () = self.closing.cancelled() => break,
            };
            match accepted {
                Some(Ok(connection)) => self.serve(connection, Door::Socket, room),
                Some(Err(error)) => debug!(%error, "connection not accepted"),
                None => break,
            }
        }
    }

    /// Accepts on TCP.
    pub(crate) async fn tcp(self, listener: TcpListener) {
        while let Some(room) = self.room().await {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.closing.cancelled() => break,
            };
            match accepted {
                Ok((connection, _)) => {
                    // An event that waits for the next one to fill a packet comes too late.
                    if let Err(error) = connection.set_nodelay(true) {
                        debug!(%error, "connection without nodelay");
                    }
                    self.serve(connection, Door::Network, room);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                    debug!(%error, "connection not accepted");
                }
                Err(error) => {
                    warn!(%error, "no connection accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// A place for one more connection; `None` once the gateway leaves.
    async fn room(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => None,
            room = Arc::clone(&self.room).acquire_owned() => room.ok(),
        }
    }

    fn serve<I>(&self, connection: I, door: Door, room: OwnedSemaphorePermit)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (router, closing, tasks) =
            (self.router.clone(), self.closing.clone(), self.tasks.clone());
        self.tasks.spawn(async move {
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(door);
                router.clone().call(request.map(Body::new))
            });
            let builder = builder(tasks);
            let mut serving =
                std::pin::pin!(builder.serve_connection(TokioIo::new(connection), service));
            let ended = tokio::select! {
                ended = serving.as_mut() => ended,
                () = closing.cancelled() => {
                    serving.as_mut().graceful_shutdown();
                    serving.await
                }
            };
            if let Err(error) = ended {
                debug!(error, "connection ended");
            }
            drop(room);
        });
    }
}

fn builder(tasks: TaskTracker) -> auto::Builder<Tasks> {
    let mut builder = auto::Builder::new(Tasks(tasks));
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_BYTES)
        .keep_alive_interval(KEEP_ALIVE.0)
        .keep_alive_timeout(KEEP_ALIVE.1);
    builder
}

/// Runs hyper's own tasks where they are waited for.
#[derive(Clone)]
struct Tasks(TaskTracker);

impl<F> Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}
