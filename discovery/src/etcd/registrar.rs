//! The actor behind a registration: puts the record, claims partitions, gives them back, and does
//! all of it again under a new lease should the old one have ended. It compares what should be with
//! what the views say, and writes the difference (`transactions.rs`); a write without an answer is
//! tried again later, and what it did shows in the views.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    arrival,
    backoff::Backoff,
    client::Client,
    cluster::Failure,
    holding::Holding,
    keeper::{Keeper, Pulse},
    keys::{Claimed, Keys},
    transactions::{self, BATCH, Claim},
    views::Views,
};
use crate::{
    Error, Held, Instance,
    claims::Claims,
    lease::{MAILBOX_CAPACITY, Message},
};

/// How long a release waits for the cluster; after that the lease ends by itself.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Registrar {
    client: Client,
    keys: Keys,
    key: String,
    instance: Instance,
    views: Views,
    pulse: watch::Receiver<Pulse>,
    doubt: Arc<Notify>,
    keeper: JoinSet<()>,
    /// Lease that the rest of the state stands on.
    lease: i64,
    /// Revision at which the record was put as it is now; none = it has to be put.
    presented: Option<i64>,
    claims: Option<Claims>,
    holding: Holding,
    due: Option<Instant>,
    backoff: Backoff,
}

/// What a registration is reached and known by.
pub(super) struct Address {
    pub(super) mailbox: mpsc::Sender<Message>,
    pub(super) pulse: watch::Receiver<Pulse>,
}

/// Registers; the future that comes with the address keeps it so until the mailbox is dropped.
pub(super) async fn start(
    mut client: Client,
    keys: Keys,
    instance: Instance,
    ttl: Duration,
    views: Views,
) -> Result<(Address, impl Future<Output = ()> + Send + use<>), Error> {
    let key = keys.service(&instance)?;
    let (lease, presented) = arrival::register(&mut client, &key, &instance, ttl).await?;
    let (sender, pulse) = watch::channel(lease);
    let doubt = Arc::new(Notify::new());
    let keeper = Keeper {
        client: Client::new(Arc::clone(&client.cluster)),
        ttl,
        pulse: sender,
        doubt: Arc::clone(&doubt),
    };
    let mut children = JoinSet::new();
    children.spawn(keeper.run());
    let (mailbox, inbox) = mpsc::channel(MAILBOX_CAPACITY);
    let holding = Holding::new(keys.clone(), instance.id.clone());
    let actor = Registrar {
        client,
        keys,
        key,
        instance,
        views,
        pulse: pulse.clone(),
        doubt,
        keeper: children,
        lease: lease.lease,
        presented: Some(presented),
        claims: None,
        holding,
        due: None,
        backoff: Backoff::new(),
    };
    Ok((Address { mailbox, pulse }, actor.run(inbox)))
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
                changed = self.pulse.changed() => match changed {
                    Ok(()) if self.pulse.borrow_and_update().lease != self.lease => {
                        self.look().await;
                    }
                    Ok(()) => {}
                    // Nobody keeps the lease any more.
                    Err(_) => break,
                },
                changed = self.views.services.changed() => match changed {
                    Ok(()) => self.look().await,
                    // The backend is gone: nobody would learn of a claim any more.
                    Err(_) => break,
                },
                // Derived from the services, a moment later: who has gone counts for the claims.
                changed = self.views.live.changed() => match changed {
                    Ok(()) => self.look().await,
                    Err(_) => break,
                },
                changed = self.views.partitions.changed() => match changed {
                    Ok(()) => self.look().await,
                    Err(_) => break,
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.look().await;
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
                self.instance.state = state;
                self.presented = None;
                if let Some(claims) = &mut self.claims {
                    claims.follow(state);
                }
                let done = self.attend().await;
                let _ = reply.send(done.map_err(|failure| self.client.cluster.error(failure)));
            }
            Message::Claim(count, reply) => {
                let answer = self.claim(count).await;
                let _ = reply.send(answer);
            }
            Message::LetGo(partitions, reply) => {
                if let Some(claims) = &mut self.claims {
                    claims.leave(&partitions, Instant::now());
                }
                self.holding.let_go(&partitions);
                let done = self.attend().await;
                let _ = reply.send(done.map_err(|failure| self.client.cluster.error(failure)));
            }
            Message::Release(reply) => drop(reply),
        }
    }

    async fn claim(&mut self, count: u32) -> Result<watch::Receiver<Held>, Error> {
        if Claims::begin(&mut self.claims, &self.instance, count)? {
            // What could not be claimed yet is claimed later.
            let _ = self.attend().await;
        }
        Ok(self.holding.subscribe())
    }

    async fn look(&mut self) {
        // A failure is logged and tried again there.
        let _ = self.attend().await;
    }

    /// Puts right what is not as it should be, as far as the cluster answers.
    async fn attend(&mut self) -> Result<(), Failure> {
        self.due = None;
        let done = self.step().await;
        match &done {
            Ok(()) => self.backoff.reset(),
            Err(failure) => {
                tracing::debug!(instance = %self.instance.id, %failure, "registration not renewed");
                if matches!(failure, Failure::LeaseEnded) {
                    self.doubt.notify_one();
                }
                self.due = Some(Instant::now() + self.backoff.pause());
            }
        }
        done
    }

    async fn step(&mut self) -> Result<(), Failure> {
        let lease = self.pulse.borrow_and_update().lease;
        if lease != self.lease {
            // All that was bound to the old lease is gone, or somebody else's.
            self.lease = lease;
            self.presented = None;
            self.holding.clear();
        }
        let services = self.views.services.borrow_and_update().clone();
        if let Some(revision) = self.presented {
            let is_there = services.entries.get(&self.key).is_some_and(|it| it.lease == lease);
            if services.revision >= revision && !is_there {
                self.presented = None;
            }
        }
        let partitions = self.views.partitions.borrow_and_update().clone();
        self.holding.compare(&partitions, lease);
        if self.presented.is_none() {
            let (key, instance) = (&self.key, &self.instance);
            let written = transactions::present(&mut self.client, key, instance, lease);
            self.presented = written.await?;
            if self.presented.is_none() {
                tracing::error!(instance = %self.instance.id, "another process has taken this id");
                return Err(Failure::Answer("another process has taken this id".to_owned()));
            }
        }
        let leaving = self.holding.leaving();
        if !leaving.is_empty() {
            transactions::let_go(&mut self.client, &self.keys, &leaving).await?;
            self.holding.deleted(&leaving);
        }
        self.claim_what_is_due(lease).await
    }

    async fn claim_what_is_due(&mut self, lease: i64) -> Result<(), Failure> {
        let Some(claims) = &mut self.claims else { return Ok(()) };
        let live = self.views.live.borrow_and_update().clone();
        let plan = claims.plan(Instant::now(), &live, |partition| self.holding.holder(partition));
        self.due = plan.again;
        let me = Claimed {
            instance: self.instance.id.clone(),
            incarnation: self.instance.incarnation.clone(),
        };
        for batch in plan.claim.chunks(BATCH) {
            let mut wanted = batch.to_vec();
            while !wanted.is_empty() {
                match transactions::claim(&mut self.client, &self.keys, &wanted, &me, lease).await?
                {
                    Claim::Won(revision) => {
                        self.holding.won(&wanted, revision);
                        break;
                    }
                    // Those that are ours after all (an answer was lost) show in the view.
                    Claim::Taken(taken) => {
                        let before = wanted.len();
                        let taken: BTreeSet<Vec<u8>> = taken.into_iter().map(|kv| kv.key).collect();
                        wanted.retain(|it| !taken.contains(self.keys.partition(*it).as_bytes()));
                        if wanted.len() == before {
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn leave(mut self) {
        // Else it would take a new lease for the one that is revoked.
        self.keeper.shutdown().await;
        self.holding.clear();
        let lease = self.pulse.borrow().lease;
        // The first connection may be one that has stalled.
        for _ in 0..2 {
            match timeout(RELEASE_TIMEOUT / 2, self.client.revoke(lease)).await {
                Ok(Ok(()) | Err(Failure::LeaseEnded)) => return,
                Ok(Err(failure)) => tracing::debug!(%failure, "lease not revoked"),
                Err(_) => self.client.turn(),
            }
        }
        tracing::warn!(instance = %self.instance.id, "lease not revoked; it ends by itself");
    }
}
