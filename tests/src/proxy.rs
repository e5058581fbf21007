//! A TCP proxy in front of a server of the loopback interface, which can lose what either
//! side says and cut connections.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::{AbortHandle, JoinHandle},
};

/// A proxy; ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    loses_answers: AtomicBool,
    loses_requests: AtomicBool,
    open: Mutex<Vec<Open>>,
    accepted: AtomicUsize,
}

/// A connection.
#[derive(Debug)]
struct Open {
    relay: AbortHandle,
    stands: Arc<AtomicBool>,
}

impl Proxy {
    /// A proxy to the server on `port`.
    pub async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let accepting = tokio::spawn(accept(listener, port, Arc::clone(&state)));
        Self { port: own, state, accepting }
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the server says from now on is lost, or passed on again.
    pub fn lose_answers(&self, loses: bool) {
        self.state.loses_answers.store(loses, Ordering::SeqCst);
    }

    /// What the client says from now on is lost, or passed on again.
    pub fn lose_requests(&self, loses: bool) {
        self.state.loses_requests.store(loses, Ordering::SeqCst);
    }

    /// Loses nothing any more. Connections that have lost something are ended.
    pub fn heal(&self) {
        self.lose_answers(false);
        self.lose_requests(false);
        self.cut();
    }

    /// What either side says over the connections that there are is lost; new ones are as they should
    /// be.
    pub fn stall(&self) {
        let open = self.state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().for_each(|connection| connection.stands.store(true, Ordering::SeqCst));
    }

    /// How many connections there have been.
    pub fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }

    /// Ends all connections.
    pub fn cut(&self) {
        let mut open = self.state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.drain(..).for_each(|connection| connection.relay.abort());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn accept(listener: TcpListener, port: u16, state: Arc<State>) {
    while let Ok((client, _)) = listener.accept().await {
        state.accepted.fetch_add(1, Ordering::SeqCst);
        let stands = Arc::new(AtomicBool::default());
        let relayed = relay(client, port, (Arc::clone(&state), Arc::clone(&stands)));
        let relay = tokio::spawn(relayed).abort_handle();
        let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push(Open { relay, stands });
    }
}

async fn relay(client: TcpStream, port: u16, (state, stands): (Arc<State>, Arc<AtomicBool>)) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy(from_client, to_server, [&state.loses_requests, &stands]) => {}
        () = copy(from_server, to_client, [&state.loses_answers, &stands]) => {}
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, loses: [&AtomicBool; 2]) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        if loses.iter().any(|loses| loses.load(Ordering::SeqCst)) {
            continue;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
