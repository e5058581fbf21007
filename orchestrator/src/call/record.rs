//! How a call path that is under way reports: facts to the session actor's mailbox, progress to
//! whoever watches. Nothing here decides. Back to `attempts`, which does.

use tokio::sync::{mpsc, oneshot};

use crate::run::event::Event;
use crate::run::ids::CallId;

/// A fact for the session actor to append.
#[derive(Debug)]
pub struct Record {
    /// The fact; boxed, since a channel makes room for many at once.
    pub event: Box<Event>,
    /// Told once the fact is durable; dropped if it never will be.
    pub durable: Option<oneshot::Sender<()>>,
}

/// A sign of life of a running call; may be lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The call.
    pub call_id: CallId,
    /// A line for a person, or output as it comes.
    pub piece: Piece,
}

/// What kind of sign.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// How far the call is.
    Note {
        /// One line for a person.
        message: String,
        /// Share done, 0 to 1, where it is known.
        fraction: Option<f64>,
    },
    /// Output as it comes.
    Chunk(String),
}

/// The call is no longer ours to carry on; nobody is told anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Abandoned {
    /// A service has seen a newer owner of the session's partition: stop acting for it.
    #[error("another owner has taken over")]
    Fenced,
    /// The session actor takes no more records.
    #[error("the session actor is gone")]
    Closed,
}

/// The only way in which facts of attempts reach the journal.
#[derive(Clone, Debug)]
pub struct Recorder {
    mailbox: mpsc::Sender<Record>,
}

impl Recorder {
    /// A recorder that reports to a session actor's mailbox.
    pub fn new(mailbox: mpsc::Sender<Record>) -> Self {
        Self { mailbox }
    }

    /// Hands a fact over without waiting for the journal.
    ///
    /// # Errors
    /// [`Abandoned::Closed`].
    pub async fn record(&self, event: Event) -> Result<(), Abandoned> {
        self.send(Record { event: Box::new(event), durable: None }).await
    }

    /// Hands a fact over and waits until it is durable.
    ///
    /// # Errors
    /// [`Abandoned::Closed`], also if the fact never becomes durable.
    pub async fn record_durably(&self, event: Event) -> Result<(), Abandoned> {
        let (durable, done) = oneshot::channel();
        self.send(Record { event: Box::new(event), durable: Some(durable) }).await?;
        done.await.map_err(|_| Abandoned::Closed)
    }

    async fn send(&self, record: Record) -> Result<(), Abandoned> {
        self.mailbox.send(record).await.map_err(|_| Abandoned::Closed)
    }
}
