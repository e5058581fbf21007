//! A true copy of all keys under one prefix: listed at a revision, then followed from the next one.
//! Whenever the stream ends, is compacted away, or half a minute has passed (etcd has lost delete
//! events), it lists again and takes over the difference, so that nothing flaps. While no member
//! answers, the last copy stays and is marked as unconfirmed. Next is `views.rs`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{
    backoff::Backoff,
    client::Client,
    cluster::Failure,
    wire::{
        etcdserverpb::WatchResponse,
        mvccpb::{KeyValue, event::EventType},
    },
};

/// A stream that lasted this long was a success.
const LASTING: Duration = Duration::from_secs(5);

/// One key, its value understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry<T> {
    pub(super) content: T,
    /// Revision at which the key came into being.
    pub(super) created: i64,
    /// Lease that it ends with.
    pub(super) lease: i64,
}

/// The copy.
#[derive(Clone, Debug)]
pub(super) struct Listing<T> {
    pub(super) entries: Arc<BTreeMap<String, Entry<T>>>,
    /// All changes up to this revision are in it.
    pub(super) revision: i64,
    /// How often the store went back to a lower revision, as after a restore from a backup.
    pub(super) rewinds: u64,
    /// False while no member answers.
    pub(super) is_confirmed: bool,
}

/// Keeps a [`Listing`] true.
pub(super) struct Mirror<T> {
    client: Client,
    prefix: String,
    relist_every: Duration,
    understand: fn(&[u8]) -> Result<T, serde_json::Error>,
    listing: watch::Sender<Listing<T>>,
    listed: i64,
}

enum End {
    Due,
    Compacted,
    Broken(Failure),
}

impl<T: Clone + PartialEq> Mirror<T> {
    pub(super) fn new(
        client: Client,
        prefix: String,
        relist_every: Duration,
        understand: fn(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Self {
        let (entries, is_confirmed) = (Arc::default(), false);
        let (listing, _) =
            watch::channel(Listing { entries, revision: 0, rewinds: 0, is_confirmed });
        Self { client, prefix, relist_every, understand, listing, listed: 0 }
    }

    pub(super) fn listing(&self) -> watch::Receiver<Listing<T>> {
        self.listing.subscribe()
    }

    /// Lists once; each member is asked if need be.
    pub(super) async fn first(&mut self) -> Result<(), Failure> {
        let mut result = self.list().await;
        for _ in 1..self.client.cluster.len() {
            if !matches!(result, Err(Failure::Away(_))) {
                break;
            }
            result = self.list().await;
        }
        result
    }

    /// Follows what [`Mirror::first`] has listed, without end.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            let began = Instant::now();
            let end = self.follow().await;
            if began.elapsed() > LASTING || !matches!(end, End::Broken(_)) {
                backoff.reset();
            }
            if let End::Broken(failure) = end {
                tracing::debug!(prefix = self.prefix, %failure, "watch ended");
                tokio::time::sleep(backoff.pause()).await;
            }
            while let Err(failure) = self.list().await {
                self.lose(&failure);
                tokio::time::sleep(backoff.pause()).await;
            }
        }
    }

    async fn list(&mut self) -> Result<(), Failure> {
        let list = self.client.list(&self.prefix).await?;
        let revision = list.header.unwrap_or_default().revision;
        let mut entries = BTreeMap::new();
        for kv in list.kvs {
            if let Some((key, entry)) = self.entry(kv) {
                entries.insert(key, entry);
            }
        }
        self.listed = revision;
        self.listing.send_modify(|listing| {
            if !listing.is_confirmed {
                tracing::info!(prefix = self.prefix, revision, "view confirmed");
            }
            listing.is_confirmed = true;
            if revision < listing.revision {
                tracing::error!(prefix = self.prefix, revision, "etcd went back in its history");
                listing.rewinds += 1;
            }
            listing.revision = revision;
            if *listing.entries != entries {
                listing.entries = Arc::new(entries);
            }
        });
        Ok(())
    }

    fn lose(&self, failure: &Failure) {
        self.listing.send_if_modified(|listing| {
            let was_confirmed = std::mem::replace(&mut listing.is_confirmed, false);
            if was_confirmed {
                tracing::warn!(prefix = self.prefix, %failure, "etcd is away; going on with the last view");
            }
            was_confirmed
        });
    }

    async fn follow(&mut self) -> End {
        let mut dialogue = match self.client.watch(&self.prefix, self.listed + 1).await {
            Ok(dialogue) => dialogue,
            Err(failure) => return End::Broken(failure),
        };
        let due = Instant::now() + self.relist_every.mul_f64(0.8 + 0.4 * fastrand::f64());
        loop {
            let answer = tokio::select! {
                answer = dialogue.answers.message() => answer,
                () = tokio::time::sleep_until(due) => return End::Due,
            };
            match answer {
                Ok(Some(answer)) if answer.canceled && answer.compact_revision > 0 => {
                    return End::Compacted;
                }
                Ok(Some(answer)) if answer.canceled => {
                    // So it answers to a user who may not read, and to an old token.
                    self.client.pass.forget();
                    return End::Broken(Failure::Denied(answer.cancel_reason));
                }
                Ok(Some(answer)) => self.apply(answer),
                Ok(None) => return End::Broken(Failure::Away("the stream ended".to_owned())),
                Err(status) => return End::Broken(self.client.fail(&status)),
            }
        }
    }

    fn apply(&self, answer: WatchResponse) {
        // Created, progress, or the farewell of a member that shuts down.
        let Some(last) = answer.events.iter().filter_map(|it| it.kv.as_ref()).next_back() else {
            return;
        };
        // Of a fragment the rest is still to come.
        let revision = last.mod_revision - i64::from(answer.fragment);
        self.listing.send_modify(|listing| {
            let entries = Arc::make_mut(&mut listing.entries);
            for event in answer.events {
                let is_delete = event.r#type() == EventType::Delete;
                let Some(kv) = event.kv.filter(|kv| kv.mod_revision > self.listed) else {
                    continue;
                };
                let key = String::from_utf8_lossy(&kv.key).into_owned();
                match self.entry(kv).filter(|_| !is_delete) {
                    Some((key, entry)) => entries.insert(key, entry),
                    None => entries.remove(&key),
                };
            }
            listing.revision = listing.revision.max(revision);
        });
    }

    /// None for a value that nobody of ours has written; it is passed over.
    fn entry(&self, kv: KeyValue) -> Option<(String, Entry<T>)> {
        let key = String::from_utf8(kv.key).ok()?;
        match (self.understand)(&kv.value) {
            Ok(content) => {
                Some((key, Entry { content, created: kv.create_revision, lease: kv.lease }))
            }
            Err(error) => {
                if !kv.value.is_empty() {
                    tracing::warn!(key, %error, "value passed over");
                }
                None
            }
        }
    }
}
