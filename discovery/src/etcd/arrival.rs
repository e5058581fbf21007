//! The first write of a registration: a lease, and the record under it. Keeping both is
//! `keeper.rs` and `registrar.rs`, which is next.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{backoff::Backoff, client::Client, cluster::Failure, keeper::Pulse, transactions};
use crate::{Error, Instance};

/// A lease ends at most this much later than its time.
const PREDECESSOR_GRACE: Duration = Duration::from_secs(1);

/// How long a registration is tried before the last failure is told.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the lease of a registration that failed is tried to be given back.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(1);

/// Takes a lease and puts the record under it. A record of the same id may be that of a predecessor
/// whose lease has not ended yet, so it is waited for.
pub(super) async fn register(
    client: &mut Client,
    key: &str,
    instance: &Instance,
    ttl: Duration,
) -> Result<(Pulse, i64), Error> {
    let (mut backoff, began) = (Backoff::new(), Instant::now());
    let mut lease: Option<Pulse> = None;
    loop {
        let pulse = match lease.filter(Pulse::is_fresh) {
            Some(pulse) => Ok(pulse),
            None => Pulse::first(client, ttl).await,
        };
        let written = match pulse {
            Ok(pulse) => {
                lease = Some(pulse);
                transactions::present(client, key, instance, pulse.lease)
                    .await
                    .map(|revision| revision.map(|revision| (pulse, revision)))
            }
            Err(failure) => Err(failure),
        };
        let error = match written {
            Ok(Some(done)) => return Ok(done),
            Ok(None) if began.elapsed() < ttl + PREDECESSOR_GRACE => None,
            Ok(None) => Some(Error::Taken(instance.id.clone())),
            Err(Failure::Away(_) | Failure::LeaseEnded) if began.elapsed() < REGISTER_TIMEOUT => {
                None
            }
            Err(failure) => Some(client.cluster.error(failure)),
        };
        if let Some(error) = error {
            if let Some(pulse) = lease {
                // Else it ends by itself.
                let _ = timeout(REVOKE_TIMEOUT, client.revoke(pulse.lease)).await;
            }
            return Err(error);
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}
