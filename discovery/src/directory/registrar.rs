//! The actor behind a registration: holds the lock, writes the record, claims partitions, and puts
//! all of it back should the folder be emptied under it. It owns no view; it is told of changes by
//! the watcher.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::task::TaskTracker;

use super::{
    blocking,
    folders::{self, Folders},
    lock::{self, InstanceLock, Place},
    owners::{self, Claimant},
    scan::Snapshot,
};
use crate::{
    Error, Held, Instance, LiveSet, State,
    claims::{Claims, Holder},
    lease::{MAILBOX_CAPACITY, Message},
};

/// After a failure of the file system, try again this much later.
const RETRY: Duration = Duration::from_millis(500);

struct Registrar {
    folders: Arc<Folders>,
    instance: Instance,
    lock: InstanceLock,
    claims: Option<Claims>,
    held: watch::Sender<Held>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    due: Option<Instant>,
}

/// Registers, and answers with the mailbox of the actor that keeps it so.
pub(super) async fn spawn(
    folders: Arc<Folders>,
    instance: Instance,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    tasks: &TaskTracker,
) -> Result<mpsc::Sender<Message>, Error> {
    let lock = present(&folders, &instance).await?;
    let (mailbox, inbox) = mpsc::channel(MAILBOX_CAPACITY);
    let held = watch::Sender::default();
    let actor = Registrar { folders, instance, lock, claims: None, held, snapshot, due: None };
    tasks.spawn(actor.run(inbox));
    Ok(mailbox)
}

/// Takes the lock and writes the record.
async fn present(folders: &Arc<Folders>, instance: &Instance) -> Result<InstanceLock, Error> {
    let lock = lock::acquire(folders, &instance.id).await?;
    write(folders, instance).await?;
    Ok(lock)
}

async fn write(folders: &Arc<Folders>, instance: &Instance) -> Result<(), Error> {
    let (folders, instance) = (Arc::clone(folders), instance.clone());
    blocking(move || folders::write(&folders.record(&instance.id), &instance)).await?
}

impl Registrar {
    async fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        let mut released = None;
        loop {
            let due = self.due;
            tokio::select! {
                biased;
                message = inbox.recv() => match message {
                    Some(Message::Release(reply)) => {
                        released = Some(reply);
                        break;
                    }
                    Some(message) => self.handle(message).await,
                    None => break,
                },
                changed = self.snapshot.changed() => match changed {
                    Ok(()) => self.step().await,
                    // The backend is gone: nobody would learn of a claim any more.
                    Err(_) => break,
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.step().await;
                }
            }
        }
        self.leave().await;
        if let Some(reply) = released {
            // A lost caller is no error.
            let _ = reply.send(());
        }
    }

    async fn handle(&mut self, message: Message) {
        match message {
            Message::SetState(state, reply) => {
                let _ = reply.send(self.set_state(state).await);
            }
            Message::Claim(count, reply) => {
                let answer = self.claim(count).await;
                let _ = reply.send(answer);
            }
            Message::LetGo(partitions, reply) => {
                let _ = reply.send(self.let_go(&partitions).await);
            }
            Message::Release(reply) => drop(reply),
        }
    }

    async fn set_state(&mut self, state: State) -> Result<(), Error> {
        self.instance.state = state;
        if let Some(claims) = &mut self.claims {
            claims.follow(state);
        }
        self.due = Some(Instant::now());
        write(&self.folders, &self.instance).await
    }

    async fn claim(&mut self, count: u32) -> Result<watch::Receiver<Held>, Error> {
        if Claims::begin(&mut self.claims, &self.instance, count)? {
            self.step().await;
        }
        Ok(self.held.subscribe())
    }

    async fn let_go(&mut self, partitions: &[u32]) -> Result<(), Error> {
        if let Some(claims) = &mut self.claims {
            claims.leave(partitions, Instant::now());
        }
        let claimant = self.claimant();
        self.held.send_modify(|held| {
            Arc::make_mut(held).retain(|partition, _| !partitions.contains(partition));
        });
        self.due = Some(Instant::now());
        owners::let_go(&self.folders, claimant, partitions).await
    }

    /// Puts right what is not as it should be: our presence, then our claims.
    async fn step(&mut self) {
        self.due = None;
        let done = match self.restore().await {
            Ok(()) => self.claim_what_is_due().await,
            failed => failed,
        };
        if let Err(error) = done {
            tracing::warn!(instance = %self.instance.id, %error, "cannot keep the registration");
            self.due = Some(Instant::now() + RETRY);
        }
    }

    /// Registers anew if the folder was emptied.
    async fn restore(&mut self) -> Result<(), Error> {
        let (folders, id) = (Arc::clone(&self.folders), self.instance.id.clone());
        let there = blocking(move || {
            (Place::of(&folders.lock(&id)), Place::of(&folders.record(&id)).is_some())
        });
        let (place, is_recorded) = there.await?;
        let is_locked = place == Some(self.lock.place());
        if is_locked && is_recorded {
            return Ok(());
        }
        tracing::warn!(instance = %self.instance.id, "record is gone; registering again");
        let folders = Arc::clone(&self.folders);
        blocking(move || folders.create()).await??;
        if is_locked {
            return write(&self.folders, &self.instance).await;
        }
        // Whoever looked while we were gone may have taken our partitions.
        self.held.send_modify(|held| *held = Held::default());
        self.lock = present(&self.folders, &self.instance).await?;
        Ok(())
    }

    async fn claim_what_is_due(&mut self) -> Result<(), Error> {
        let Some(claims) = &mut self.claims else { return Ok(()) };
        let snapshot = Arc::clone(&self.snapshot.borrow_and_update());
        let held = Arc::clone(&self.held.borrow());
        let live = LiveSet { instances: Arc::new(snapshot.live.clone()), confirmed: true };
        let plan = claims.plan(Instant::now(), &live, |partition| {
            match snapshot.owners.get(&partition) {
                _ if held.contains_key(&partition) => Holder::Me,
                Some(owner) if owner.instance != self.instance.id => Holder::Other,
                // In our name, but not held: let go, or a predecessor's. The record decides.
                Some(_) | None => Holder::None,
            }
        });
        self.due = plan.again;
        if plan.claim.is_empty() {
            return Ok(());
        }
        let won = owners::claim(&self.folders, self.claimant(), plan.claim).await?;
        if !won.is_empty() {
            tracing::info!(instance = %self.instance.id, partitions = won.len(), "partitions claimed");
            self.held.send_modify(|held| Arc::make_mut(held).extend(won));
        }
        Ok(())
    }

    fn claimant(&self) -> Claimant {
        Claimant {
            id: self.instance.id.clone(),
            incarnation: self.instance.incarnation.clone(),
            held: Arc::clone(&self.held.borrow()),
        }
    }

    async fn leave(self) {
        // The claims end with the record: they count only beside it.
        self.held.send_modify(|held| *held = Held::default());
        let lock = self.lock;
        if let Ok(Err(error)) = blocking(move || lock.clear()).await {
            tracing::warn!(%error, "record left behind; it is cleared away by the next look");
        }
    }
}
