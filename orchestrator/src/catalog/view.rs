//! From live instances and what their services offer to one view of the catalog.
//!
//! Pure. A name has one owner within a team: whoever had it before, else the first service by name.
//! While a service is being replaced, a tool is what most of its serving instances say it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use callboard_discovery::State;

use super::offer::{Key, Offer, Offered, Problem};
use super::tool::Tool;
use super::{Instance, Service, Snapshot};

/// Why a tool of a service without instances is withheld.
const GONE: &str = "no instance of its service is alive";
/// Why one is withheld while what comes after it is not known.
const UNSAID: &str = "its service has not said yet what it offers";

/// What is known of an offer.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// Nobody answered yet.
    Asking,
    /// This is it.
    Offer(Arc<Offer>),
    /// It cannot be used.
    Faulty(Problem),
}

/// Everything that a view is made of.
pub(super) struct Parts<'a> {
    /// Live instances of tool services.
    pub(super) instances: &'a [Arc<Instance>],
    /// What is known of their offers.
    pub(super) offers: &'a BTreeMap<Key, Known>,
    /// Offers of services that left a moment ago, and have not said what they offer now.
    pub(super) gone: &'a [(Key, Arc<Offer>)],
    /// The view before.
    pub(super) before: &'a Snapshot,
    /// Team whose services are offered to all.
    pub(super) shared_team: &'a str,
}

/// Tools that are said to be the same: one descriptor and who serves it.
struct Variant<'a> {
    offered: &'a Offered,
    instances: Vec<Arc<Instance>>,
}

/// Makes a view.
pub(super) fn view(parts: &Parts<'_>) -> Snapshot {
    let mut snapshot = Snapshot::of_builtins(parts.shared_team);
    snapshot.ready = true;
    let mut by_service: BTreeMap<(&str, &str), Vec<&Arc<Instance>>> = BTreeMap::new();
    for instance in parts.instances {
        by_service.entry((&instance.team, &instance.service)).or_default().push(instance);
    }
    // Services that own a name already come first, then all by name.
    let mut claims: Vec<(bool, Tool)> = Vec::new();
    for ((team, name), instances) in by_service {
        let mut problem = String::new();
        let mut variants: BTreeMap<&str, BTreeMap<&str, Variant<'_>>> = BTreeMap::new();
        for instance in &instances {
            let key = key_of(instance);
            match parts.offers.get(&key) {
                Some(Known::Offer(offer)) => collect(&mut variants, offer, instance),
                Some(Known::Faulty(fault)) => problem = fault.to_string(),
                Some(Known::Asking) | None => snapshot.ready = false,
            }
        }
        for variants in variants.into_values() {
            let mut tools = ranked(variants, parts.before).into_iter();
            let Some(tool) = tools.next() else { continue };
            let is_owner = parts.before.owner(team, &tool.descriptor.name) == Some(name);
            claims.push((is_owner, tool));
            // Not offered, but known for calls that were planned with them.
            tools.for_each(|other| snapshot.remember(Arc::new(other)));
        }
        let live = instances.iter().map(|one| Arc::clone(one)).collect();
        snapshot.instances.insert((team.to_owned(), name.to_owned()), live);
        snapshot.services.push(Service {
            team: team.to_owned(),
            name: name.to_owned(),
            instances: instances.len(),
            problem,
        });
    }
    claims.sort_by_key(|(is_owner, _)| !is_owner);
    for (_, tool) in claims {
        snapshot.claim(tool);
    }
    for (key, offer) in parts.gone {
        let mut services = snapshot.services.iter();
        let reason = match services.find(|one| one.team == key.team && one.name == key.service) {
            None => GONE.to_owned(),
            Some(back) if back.problem.is_empty() => UNSAID.to_owned(),
            Some(back) => back.problem.clone(),
        };
        for offered in &offer.tools {
            let descriptor = &offered.descriptor;
            if snapshot.owner(&descriptor.team, &descriptor.name).is_none() {
                snapshot.claim(Tool {
                    descriptor: Arc::clone(descriptor),
                    instances: Vec::new(),
                    withheld: reason.clone(),
                });
            }
        }
    }
    snapshot
}

/// Under which offer an instance registered.
pub(super) fn key_of(instance: &Instance) -> Key {
    Key {
        team: instance.team.clone(),
        service: instance.service.clone(),
        digest: instance.descriptors.clone(),
    }
}

fn collect<'a>(
    variants: &mut BTreeMap<&'a str, BTreeMap<&'a str, Variant<'a>>>,
    offer: &'a Offer,
    instance: &Arc<Instance>,
) {
    for offered in &offer.tools {
        let descriptor = &offered.descriptor;
        let of_name = variants.entry(&descriptor.name).or_default();
        let variant = of_name
            .entry(&descriptor.digest)
            .or_insert_with(|| Variant { offered, instances: Vec::new() });
        variant.instances.push(Arc::clone(instance));
    }
}

/// The variant that most serving instances offer comes first; between equals the one of the view
/// before, then the newer one.
fn ranked(variants: BTreeMap<&str, Variant<'_>>, before: &Snapshot) -> Vec<Tool> {
    let rank = |variant: &Variant<'_>| {
        let serving = variant.instances.iter().filter(|one| one.state == State::Serving).count();
        let descriptor = &variant.offered.descriptor;
        let was_chosen = before.is_current(descriptor);
        (variant.offered.withheld.is_empty(), serving, was_chosen, numbers(&descriptor.version))
    };
    let mut ranked: Vec<Variant<'_>> = variants.into_values().collect();
    ranked.sort_by_key(|variant| std::cmp::Reverse(rank(variant)));
    let tools = ranked.into_iter().map(|variant| Tool {
        descriptor: Arc::clone(&variant.offered.descriptor),
        instances: variant.instances,
        withheld: variant.offered.withheld.clone(),
    });
    tools.collect()
}

/// `1.10.0` after `1.9.0`.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
