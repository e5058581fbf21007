//! The actor behind the catalog: follows the live set, asks each service once for each digest what
//! it offers, and publishes a new view when something changed.
//!
//! A service that does not answer is asked again, ever more seldom, and holds nobody else up. What a
//! view looks like is decided in `view`, what an offer is worth in `offer`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use callboard_discovery::transport::{Credentials, channel};
use callboard_discovery::{LiveSet, Role};
use callboard_proto::size;
use callboard_proto::tool::DescribeRequest;
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::offer::{self, Key, Offer, Problem};
use super::view::{self, Known, Parts, key_of};
use super::{Config, Instance, Snapshot};
use crate::call::pattern::Pattern;

/// First wait before a service that did not describe itself is asked again; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Descriptions that are asked for at once.
const MAX_ASKING: usize = 16;

/// Follows discovery for one catalog.
pub(super) struct Follower {
    config: Config,
    trusted: Vec<Pattern>,
    credentials: Credentials,
    snapshots: watch::Sender<Arc<Snapshot>>,
    /// By id and incarnation.
    instances: BTreeMap<(String, String), Arc<Instance>>,
    offers: BTreeMap<Key, Known>,
    /// Failed attempts to describe, and when to ask again.
    waits: HashMap<Key, (u32, Instant)>,
    asking: JoinSet<(Key, Result<Offer, Problem>)>,
    /// Offers that no instance says it has, and until when they stay known.
    gone: Vec<(Key, Arc<Offer>, Instant)>,
    /// Whether the view that is out is no longer true.
    is_stale: bool,
}

impl Follower {
    pub(super) fn new(
        config: Config,
        credentials: Credentials,
        snapshots: watch::Sender<Arc<Snapshot>>,
    ) -> Self {
        let trusted = config.trusted.iter().filter_map(|glob| {
            let pattern = Pattern::new("orchestrator.catalog.trusted", glob);
            // What cannot be read trusts nobody.
            pattern.inspect_err(|error| tracing::error!(%error, "pattern left out")).ok()
        });
        Self {
            trusted: trusted.collect(),
            config,
            credentials,
            snapshots,
            instances: BTreeMap::new(),
            offers: BTreeMap::new(),
            waits: HashMap::new(),
            asking: JoinSet::new(),
            gone: Vec::new(),
            is_stale: true,
        }
    }

    pub(super) async fn run(
        mut self,
        mut live: watch::Receiver<LiveSet>,
        shutdown: CancellationToken,
    ) {
        let first = live.borrow_and_update().clone();
        self.see(&first);
        let mut is_live = true;
        loop {
            self.ask();
            self.publish();
            let wake = self.next_wake();
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                changed = live.changed(), if is_live => match changed {
                    Ok(()) => {
                        let set = live.borrow_and_update().clone();
                        self.see(&set);
                    }
                    // Discovery is gone: the last known view stays.
                    Err(_) => is_live = false,
                },
                Some(done) = self.asking.join_next(), if !self.asking.is_empty() => {
                    if let Ok((key, answer)) = done {
                        self.learn(key, answer);
                    }
                }
                () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
        self.asking.shutdown().await;
    }

    /// Takes a live set in.
    fn see(&mut self, set: &LiveSet) {
        self.is_stale = true;
        let mut seen = BTreeMap::new();
        for record in set.instances.values().filter(|record| record.role == Role::Tool) {
            let key = (record.id.to_string(), record.incarnation.clone());
            let instance = match self.instances.get(&key) {
                Some(known) => known.renewed(record),
                None => match channel(&record.address, &self.credentials) {
                    Ok(channel) => Instance::new(record, channel),
                    Err(error) => {
                        tracing::warn!(instance = %record.id, %error, "instance left out");
                        continue;
                    }
                },
            };
            seen.insert(key, Arc::new(instance));
        }
        self.instances = seen;
        let keys: Vec<Key> = self.instances.values().map(|instance| key_of(instance)).collect();
        for key in &keys {
            // A service that is back under the same digest offers what it offered.
            let before = self.gone.iter().find(|(gone, ..)| gone == key);
            let known =
                before.map_or(Known::Asking, |(_, offer, _)| Known::Offer(Arc::clone(offer)));
            self.offers.entry(key.clone()).or_insert(known);
        }
        let until = Instant::now() + self.config.remember();
        let gone = self.offers.extract_if(.., |key, _| !keys.contains(key));
        for (key, known) in gone {
            self.waits.remove(&key);
            if let Known::Offer(offer) = known {
                self.gone.push((key, offer, until));
            }
        }
        self.forget_replaced();
    }

    /// What a service offered before stays known until one of its instances has said what it offers.
    fn forget_replaced(&mut self) {
        let offers = &self.offers;
        self.gone.retain(|(gone, ..)| {
            let is_its = |key: &Key| key.team == gone.team && key.service == gone.service;
            !offers.iter().any(|(key, known)| is_its(key) && matches!(known, Known::Offer(_)))
        });
    }

    /// Asks what nobody has asked yet, as far as it is time.
    fn ask(&mut self) {
        let now = Instant::now();
        let due: Vec<Key> = self
            .offers
            .iter()
            .filter(|(key, known)| match known {
                Known::Offer(_) => false,
                Known::Asking | Known::Faulty(_) => {
                    self.waits.get(*key).is_none_or(|(_, at)| *at <= now)
                }
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            if self.asking.len() >= MAX_ASKING {
                return;
            }
            let failures = self.waits.get(&key).map_or(0, |(failures, _)| *failures);
            let Some(instance) = self.instance_of(&key, failures) else { continue };
            // Not again before this answer is in.
            let timeout = self.config.describe_timeout();
            self.waits.insert(key.clone(), (failures, now + timeout + LONGEST_WAIT));
            let is_trusted = self.is_trusted(&key);
            self.asking.spawn(async move {
                let answer = describe(&key, &instance, timeout, is_trusted).await;
                (key, answer)
            });
        }
    }

    /// Another instance each time one failed.
    fn instance_of(&self, key: &Key, failures: u32) -> Option<Arc<Instance>> {
        let mut able: Vec<&Arc<Instance>> =
            self.instances.values().filter(|instance| key_of(instance) == *key).collect();
        let nth = usize::try_from(failures).unwrap_or_default() % able.len().max(1);
        (nth < able.len()).then(|| Arc::clone(able.swap_remove(nth)))
    }

    fn is_trusted(&self, key: &Key) -> bool {
        let name = format!("{}/{}", key.team, key.service);
        self.trusted.iter().any(|pattern| pattern.matches(&name))
    }

    fn learn(&mut self, key: Key, answer: Result<Offer, Problem>) {
        let Some(known) = self.offers.get_mut(&key) else { return };
        self.is_stale = true;
        match answer {
            Ok(offer) => {
                for tool in offer.tools.iter().filter(|tool| !tool.withheld.is_empty()) {
                    tracing::warn!(
                        service = %key.service, tool = %tool.descriptor.name,
                        reason = %tool.withheld, "tool withheld"
                    );
                }
                self.waits.remove(&key);
                *known = Known::Offer(Arc::new(offer));
                self.forget_replaced();
            }
            Err(problem) => {
                let failures = self.waits.get(&key).map_or(0, |(failures, _)| *failures);
                if failures == 0 {
                    tracing::warn!(service = %key.service, %problem, "service withheld");
                }
                *known = Known::Faulty(problem);
                let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures.min(16)));
                let at = Instant::now() + wait.min(LONGEST_WAIT);
                self.waits.insert(key, (failures.saturating_add(1), at));
            }
        }
    }

    fn publish(&mut self) {
        let (now, count) = (Instant::now(), self.gone.len());
        self.gone.retain(|(_, _, until)| *until > now);
        if !std::mem::take(&mut self.is_stale) && self.gone.len() == count {
            return;
        }
        let instances: Vec<Arc<Instance>> = self.instances.values().cloned().collect();
        let gone: Vec<(Key, Arc<Offer>)> =
            self.gone.iter().map(|(key, offer, _)| (key.clone(), Arc::clone(offer))).collect();
        let before = Arc::clone(&self.snapshots.borrow());
        let snapshot = view::view(&Parts {
            instances: &instances,
            offers: &self.offers,
            gone: &gone,
            before: &before,
            shared_team: &self.config.shared_team,
        });
        self.snapshots.send_replace(Arc::new(snapshot));
    }

    /// When to look again without being told.
    fn next_wake(&self) -> Option<Instant> {
        let waits = self.waits.values().map(|(_, at)| *at);
        let gone = self.gone.iter().map(|(_, _, until)| *until);
        waits.chain(gone).min()
    }
}

/// Asks one instance what its service offers.
async fn describe(
    key: &Key,
    instance: &Instance,
    timeout: Duration,
    is_trusted: bool,
) -> Result<Offer, Problem> {
    let mut client =
        ToolServiceClient::new(instance.channel()).max_decoding_message_size(size::MESSAGE);
    let mut request = tonic::Request::new(DescribeRequest {});
    request.set_timeout(timeout);
    let answer = tokio::time::timeout(timeout, client.describe(request)).await;
    let response = match answer {
        Ok(Ok(response)) => response.into_inner(),
        Ok(Err(status)) => return Err(Problem::Silent(status.code().description().to_owned())),
        Err(_) => return Err(Problem::Silent("it did not answer in time".to_owned())),
    };
    let key = key.clone();
    // Compiling schemas takes a while for a large offer.
    let checked = tokio::task::spawn_blocking(move || offer::check(&key, response, is_trusted));
    checked.await.unwrap_or_else(|_| Err(Problem::Silent("its offer cannot be read".to_owned())))
}
