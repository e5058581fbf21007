//! What a registrant holds: a [`Registration`] is the address of the actor that keeps the lease
//! (etcd) or the lock (directory) for it. What the actor does is the backend's own; this file is
//! only the handle and the messages that both backends share.

use std::{any::Any, fmt, sync::Arc};

use tokio::sync::{mpsc, oneshot, watch};

use crate::{Error, Held, Instance, State};

/// Requests that may wait for a registrar.
pub(crate) const MAILBOX_CAPACITY: usize = 16;

/// A request to the actor that holds a registration.
#[derive(Debug)]
pub(crate) enum Message {
    /// Publish another state.
    SetState(State, oneshot::Sender<Result<(), Error>>),
    /// Claim partitions of `0..count` from now on.
    Claim(u32, oneshot::Sender<Result<watch::Receiver<Held>, Error>>),
    /// Give these partitions back.
    LetGo(Vec<u32>, oneshot::Sender<Result<(), Error>>),
    /// End the registration now.
    Release(oneshot::Sender<()>),
}

/// A registered instance. Dropping it releases it in the background, as far as the runtime still
/// runs; a process that dies without either is forgotten when its lease or lock ends.
pub struct Registration {
    instance: Instance,
    mailbox: mpsc::Sender<Message>,
    // The backend's views must live as long as a registration that claims by them.
    _backend: Arc<dyn Any + Send + Sync>,
}

impl Registration {
    pub(crate) fn new(
        instance: Instance,
        mailbox: mpsc::Sender<Message>,
        backend: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self { instance, mailbox, _backend: backend }
    }

    /// The instance as it was registered; its state may have changed since.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Publishes another state. [`State::Draining`] also ends the claiming of partitions; those
    /// held stay until they are let go or the registration is released.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the backend gave no answer: the state is then published as soon
    /// as it does. [`Error::Closed`] if the registration has ended.
    pub async fn set_state(&self, state: State) -> Result<(), Error> {
        self.ask(|reply| Message::SetState(state, reply)).await?
    }

    /// Gives back partitions, after the last append to each. Those not held are passed over, and
    /// none of them is claimed again by this registration for a while, so that others can.
    ///
    /// # Errors
    /// As [`Registration::set_state`].
    pub async fn let_go(&self, partitions: Vec<u32>) -> Result<(), Error> {
        self.ask(|reply| Message::LetGo(partitions, reply)).await?
    }

    /// Ends the registration: instance and partitions are free when this returns, or, where the
    /// backend gives no answer for two seconds, when the lease ends.
    pub async fn release(self) {
        // A stopped actor has released already.
        let _ = self.ask(Message::Release).await;
    }

    pub(crate) async fn claim(&self, count: u32) -> Result<watch::Receiver<Held>, Error> {
        self.ask(|reply| Message::Claim(count, reply)).await?
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Message,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(message(reply)).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("instance", &self.instance).finish_non_exhaustive()
    }
}
