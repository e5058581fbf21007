//! The supervisor's end of its clients: who holds on to the stack, and what they are told.
//!
//! A client is a connection to `control.sock`, or the socket that `ask` hands to the stack that it
//! starts. It leaves by saying so or by being gone, which the kernel tells also of a client that was
//! killed. Next: `supervisor`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::hello::{Answer, BYE};

/// Name of the control socket in the folder of sockets.
pub(crate) const NAME: &str = "control.sock";

/// Events of clients that wait for the supervisor; a full mailbox only makes clients wait.
const MAILBOX_CAPACITY: usize = 64;

/// What a client does.
#[derive(Debug)]
pub(crate) enum ClientEvent {
    /// It came.
    Came(UnixStream),
    /// It leaves, and waits until the stack has ended if it was the last.
    SaidBye(u64),
    /// It is gone.
    Gone(u64),
}

/// The clients of a stack.
#[derive(Debug)]
pub(crate) struct Clients {
    path: PathBuf,
    listener: Option<UnixListener>,
    next_id: u64,
    present: BTreeMap<u64, OwnedWriteHalf>,
    events: mpsc::Sender<ClientEvent>,
    mailbox: mpsc::Receiver<ClientEvent>,
    readers: JoinSet<()>,
}

impl Clients {
    /// Opens the control socket in `folder`; the caller holds the lock of the state folder.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = Some(UnixListener::bind(&path)?);
        let (events, mailbox) = mpsc::channel(MAILBOX_CAPACITY);
        let (next_id, present, readers) = (0, BTreeMap::new(), JoinSet::new());
        Ok(Self { path, listener, next_id, present, events, mailbox, readers })
    }

    /// Waits for the next thing that a client does. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> ClientEvent {
        loop {
            tokio::select! {
                event = self.mailbox.recv() => if let Some(event) = event {
                    return event;
                },
                accepted = async { match &self.listener {
                    Some(listener) => listener.accept().await,
                    None => std::future::pending().await,
                } } => match accepted {
                    Ok((stream, _)) if is_ours(&stream) => return ClientEvent::Came(stream),
                    Ok(_) => tracing::warn!("a client of another user was turned away"),
                    Err(error) => tracing::warn!(%error, "a client could not be accepted"),
                },
                Some(_) = self.readers.join_next() => {}
            }
        }
    }

    /// Counts a client as present, and returns its number.
    pub(crate) fn add(&mut self, stream: UnixStream) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let (reader, writer) = stream.into_split();
        self.present.insert(id, writer);
        self.readers.spawn(listen(id, reader, self.events.clone()));
        id
    }

    /// Tells one client; one that does not listen is dropped when its end is noticed.
    pub(crate) async fn tell(&mut self, id: u64, answer: &Answer) {
        let Some(writer) = self.present.get_mut(&id) else { return };
        let Ok(mut line) = serde_json::to_string(answer) else { return };
        line.push('\n');
        if let Err(error) = writer.write_all(line.as_bytes()).await {
            tracing::debug!(%error, "a client left before it was answered");
        }
    }

    /// Tells all clients.
    pub(crate) async fn tell_all(&mut self, answer: &Answer) {
        let ids: Vec<u64> = self.present.keys().copied().collect();
        for id in ids {
            self.tell(id, answer).await;
        }
    }

    /// Closes the connection to a client.
    pub(crate) fn remove(&mut self, id: u64) {
        self.present.remove(&id);
    }

    /// How many are present.
    pub(crate) fn count(&self) -> usize {
        self.present.len()
    }

    /// Takes no more clients: who comes now finds no socket, and waits for the lock instead.
    pub(crate) fn close(&mut self) {
        if self.listener.take().is_some() {
            // Missing is as good as removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.close();
    }
}

async fn listen(id: u64, reader: OwnedReadHalf, events: mpsc::Sender<ClientEvent>) {
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let event = match lines.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => ClientEvent::Gone(id),
            Ok(_) if line == BYE => ClientEvent::SaidBye(id),
            Ok(_) => continue,
        };
        let is_last = matches!(event, ClientEvent::Gone(_));
        if events.send(event).await.is_err() || is_last {
            return;
        }
    }
}

fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_client_that_goes_is_noticed_whether_it_says_so_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut clients = Clients::open(folder.path()).unwrap();
        let mut polite = UnixStream::connect(folder.path().join(NAME)).await.unwrap();
        let ClientEvent::Came(stream) = clients.next().await else { panic!("nobody came") };
        let first = clients.add(stream);
        let killed = UnixStream::connect(folder.path().join(NAME)).await.unwrap();
        let ClientEvent::Came(stream) = clients.next().await else { panic!("nobody came") };
        let second = clients.add(stream);

        polite.write_all(BYE).await.unwrap();
        assert!(matches!(clients.next().await, ClientEvent::SaidBye(id) if id == first));
        drop(killed);
        assert!(matches!(clients.next().await, ClientEvent::Gone(id) if id == second));
        clients.remove(first);
        assert_eq!(polite.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(clients.count(), 1);
    }

    #[tokio::test]
    async fn a_closed_stack_leaves_no_socket() {
        let folder = tempfile::tempdir().unwrap();
        let mut clients = Clients::open(folder.path()).unwrap();
        clients.close();
        assert!(!folder.path().join(NAME).exists());
        drop(clients);
        // A socket that a killed stack left behind is replaced.
        let listener = UnixListener::bind(folder.path().join(NAME)).unwrap();
        drop(listener);
        let _clients = Clients::open(folder.path()).unwrap();
    }
}
