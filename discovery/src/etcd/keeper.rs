//! Keeps one lease alive: a keep-alive at every third of its time, a new stream at the next member
//! when an answer takes a quarter of it, a new lease when the old one has ended. What is bound to the
//! lease is put back by `registrar.rs`, which is next.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

use super::{
    backoff::Backoff, client::Client, cluster::Failure, wire::etcdserverpb::LeaseKeepAliveRequest,
};

/// The lease, and when it was last known to live.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pulse {
    pub(super) lease: i64,
    /// As granted, which may be more than was asked for.
    ttl: Duration,
    /// When the keep-alive was sent that was answered last: the cluster cannot have counted from
    /// an earlier time.
    asked: Instant,
}

impl Pulse {
    /// Asks for a lease.
    pub(super) async fn first(client: &mut Client, ttl: Duration) -> Result<Self, Failure> {
        let asked = Instant::now();
        let granted = client.grant(ttl).await?;
        Ok(Self { lease: granted.id, ttl: seconds(granted.ttl), asked })
    }

    /// False once the lease may have ended without our knowing.
    pub(super) fn is_fresh(&self) -> bool {
        self.asked.elapsed() < self.ttl
    }
}

/// See the file's head.
pub(super) struct Keeper {
    pub(super) client: Client,
    /// To ask for, should the lease end.
    pub(super) ttl: Duration,
    pub(super) pulse: watch::Sender<Pulse>,
    /// Told when somebody met with the end of the lease.
    pub(super) doubt: Arc<Notify>,
}

enum End {
    Lease,
    Stream(Failure),
}

impl Keeper {
    /// Keeps, without end. Dropping the future leaves the lease to end by itself.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            let before = self.pulse.borrow().asked;
            let end = self.keep().await;
            if self.pulse.borrow().asked != before {
                backoff.reset();
            }
            match end {
                End::Stream(failure) => {
                    tracing::debug!(%failure, "keep-alive not answered");
                    // The pauses stay well below a third of the shortest lease.
                    tokio::time::sleep(backoff.pause().min(Duration::from_millis(500))).await;
                }
                End::Lease => {
                    tracing::warn!("lease ended; asking for a new one");
                    // A lease that ends as soon as it is granted must not be asked for in a loop.
                    tokio::time::sleep(backoff.pause()).await;
                    self.renew(&mut backoff).await;
                }
            }
        }
    }

    async fn keep(&mut self) -> End {
        let Pulse { lease, ttl, .. } = *self.pulse.borrow();
        // Of three members one may stand still and another not know yet who leads: there must be time
        // for the third one before the lease ends.
        let (third, late) = (ttl / 3, ttl / 4);
        let mut asked = Instant::now();
        let opened = timeout(late, self.client.keep_alive(lease)).await;
        let mut dialogue = match opened {
            Ok(Ok(dialogue)) => dialogue,
            Ok(Err(failure)) => return End::Stream(failure),
            Err(_) => return self.stalled(),
        };
        loop {
            match timeout(late, dialogue.answers.message()).await {
                Ok(Ok(Some(answer))) if answer.ttl <= 0 => return End::Lease,
                Ok(Ok(Some(answer))) => self.pulse.send_modify(|pulse| {
                    pulse.asked = asked;
                    pulse.ttl = seconds(answer.ttl);
                }),
                Ok(Ok(None)) => {
                    self.client.turn();
                    return End::Stream(Failure::Away("the stream ended".to_owned()));
                }
                Ok(Err(status)) => return End::Stream(self.client.fail(&status)),
                Err(_) => return self.stalled(),
            }
            tokio::select! {
                () = tokio::time::sleep_until(asked + third) => {}
                () = self.doubt.notified() => {}
            }
            asked = Instant::now();
            // A closed channel shows in the next answer.
            let _ = dialogue.requests.try_send(LeaseKeepAliveRequest { id: lease });
        }
    }

    /// A stream can stall without an error; the next one gets a connection of its own.
    fn stalled(&mut self) -> End {
        self.client.turn();
        End::Stream(Failure::Away("no answer within a quarter of the lease".to_owned()))
    }

    async fn renew(&mut self, backoff: &mut Backoff) {
        loop {
            match Pulse::first(&mut self.client, self.ttl).await {
                Ok(pulse) => {
                    self.pulse.send_replace(pulse);
                    return;
                }
                Err(failure) => {
                    tracing::debug!(%failure, "no new lease");
                    tokio::time::sleep(backoff.pause()).await;
                }
            }
        }
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}
