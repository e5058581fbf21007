//! An actor's mailbox: bounded, for many senders and one reader. A channel of tokio makes room for what
//! may come; this one makes none before something comes, since an idle session may stay for a while.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// The mailbox is closed: what was sent, and not read before, is dropped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed;

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    room: Semaphore,
    /// Something changed for the reader.
    come: Notify,
    senders: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    queue: VecDeque<T>,
    is_closed: bool,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, message: T, room: SemaphorePermit<'_>) -> Result<(), Closed> {
        {
            let mut state = self.state();
            if state.is_closed {
                return Err(Closed);
            }
            state.queue.push_back(message);
        }
        // It is given back by who reads the message.
        room.forget();
        self.come.notify_one();
        Ok(())
    }

    fn close(&self) {
        self.state().is_closed = true;
        self.room.close();
    }
}

/// Where messages are sent. The reader hears of the end of the last one.
#[derive(Debug)]
pub(super) struct Sender<T>(Arc<Shared<T>>);

/// Where they are read. Dropping it closes the mailbox.
#[derive(Debug)]
pub(super) struct Receiver<T>(Arc<Shared<T>>);

/// A mailbox for so many messages.
pub(super) fn mailbox<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(State { queue: VecDeque::new(), is_closed: false });
    let (room, come) = (Semaphore::new(capacity), Notify::new());
    let shared = Arc::new(Shared { state, room, come, senders: AtomicUsize::new(1) });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Sends a message, once there is room. Dropping the future sends nothing.
    ///
    /// # Errors
    /// [`Closed`]: nobody will read it.
    pub(super) async fn send(&self, message: T) -> Result<(), Closed> {
        let room = self.0.room.acquire().await.map_err(|_| Closed)?;
        self.0.push(message, room)
    }

    /// Sends a message if there is room for it; whether it was sent.
    pub(super) fn try_send(&self, message: T) -> bool {
        let Ok(room) = self.0.room.try_acquire() else { return false };
        let sent = self.0.push(message, room);
        sent.is_ok()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.come.notify_one();
        }
    }
}

impl<T> Receiver<T> {
    /// The next message; `None` once nobody can send one any more. Dropping the future loses nothing.
    pub(super) async fn recv(&mut self) -> Option<T> {
        loop {
            // Before the queue is looked at: whoever sends last has counted itself out after that.
            let has_senders = self.0.senders.load(Ordering::Acquire) > 0;
            {
                let mut state = self.0.state();
                if let Some(message) = state.queue.pop_front() {
                    if state.queue.is_empty() {
                        state.queue = VecDeque::new();
                    }
                    drop(state);
                    self.0.room.add_permits(1);
                    return Some(message);
                }
                if state.is_closed || !has_senders {
                    return None;
                }
            }
            self.0.come.notified().await;
        }
    }

    /// Takes nothing more; what was sent is still read.
    pub(super) fn close(&mut self) {
        self.0.close();
    }

    /// True if nothing waits to be read.
    pub(super) fn is_empty(&self) -> bool {
        self.0.state().queue.is_empty()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.close();
        let left = std::mem::take(&mut self.0.state().queue);
        // Outside the lock: whoever waits for an answer may hear of it at once.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Whether a future is still waiting after all that can happen has happened.
    async fn waits<T>(future: impl Future<Output = T>) -> bool {
        tokio::time::timeout(Duration::from_secs(1), future).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn messages_come_in_order_and_only_as_many_as_there_is_room_for() {
        let (sender, mut receiver) = mailbox(2);
        assert!(receiver.is_empty() && waits(receiver.recv()).await);
        sender.send(1).await.unwrap();
        sender.send(2).await.unwrap();
        assert!(waits(sender.send(9)).await, "there is no room, and it gives up");
        assert!(!sender.try_send(9));
        let third = tokio::spawn({
            let sender = sender.clone();
            async move { sender.send(3).await }
        });
        for expected in 1..=3 {
            assert_eq!(receiver.recv().await, Some(expected));
        }
        third.await.unwrap().unwrap();
        assert!(receiver.is_empty() && sender.try_send(4));
        assert_eq!(receiver.recv().await, Some(4));
        drop(sender);
        assert_eq!(receiver.recv().await, None, "nobody can send any more");
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_last_sender_wakes_the_reader_after_what_it_sent() {
        let (sender, mut receiver) = mailbox(2);
        let reader = tokio::spawn(async move {
            let mut read = Vec::new();
            while let Some(message) = receiver.recv().await {
                read.push(message);
            }
            read
        });
        let other = sender.clone();
        drop(sender);
        other.send(1).await.unwrap();
        other.send(2).await.unwrap();
        drop(other);
        assert_eq!(reader.await.unwrap(), [1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_closed_takes_nothing_and_what_was_sent_is_read_or_dropped() {
        let (sender, mut receiver) = mailbox(1);
        sender.send(Arc::new(())).await.unwrap();
        let second = tokio::spawn({
            let sender = sender.clone();
            async move { sender.send(Arc::new(())).await }
        });
        tokio::task::yield_now().await;
        receiver.close();
        assert_eq!(second.await.unwrap(), Err(Closed), "it waited for room");
        assert!(receiver.recv().await.is_some());
        assert_eq!(receiver.recv().await, None);
        assert_eq!(sender.send(Arc::new(())).await, Err(Closed));

        let (sender, receiver) = mailbox(1);
        let message = Arc::new(());
        sender.send(Arc::clone(&message)).await.unwrap();
        drop(receiver);
        assert_eq!(Arc::strong_count(&message), 1, "what nobody reads is dropped");
        assert_eq!(sender.send(message).await, Err(Closed));
    }

    #[test]
    fn an_empty_one_is_small() {
        assert!(size_of::<Shared<Box<u8>>>() <= 168, "{}", size_of::<Shared<Box<u8>>>());
    }
}
