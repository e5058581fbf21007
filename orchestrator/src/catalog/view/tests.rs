use std::collections::BTreeMap;

use callboard_discovery::transport::{Credentials, channel};

use super::*;
use crate::call::testing::{record, tool};
use crate::catalog::offer;

/// An instance of a service that registered under a digest.
fn instance(team: &str, service: &str, id: &str, digest: &str) -> Arc<Instance> {
    let mut record = record(id, std::path::Path::new("/nowhere.sock"), digest);
    record.team = team.to_owned();
    record.name = service.to_owned();
    let channel = channel(&record.address, &Credentials::default()).unwrap();
    Arc::new(Instance::new(&record, channel))
}

fn draining(instance: &Instance) -> Arc<Instance> {
    let mut record =
        record(instance.id.as_str(), std::path::Path::new("/nowhere.sock"), &instance.descriptors);
    record.team.clone_from(&instance.team);
    record.name.clone_from(&instance.service);
    record.state = State::Draining;
    Arc::new(instance.renewed(&record))
}

fn offer(team: &str, service: &str, version: &str, tools: &[(&str, &str)]) -> Known {
    let key = Key { team: team.into(), service: service.into(), digest: String::new() };
    let tools = tools.iter().map(|(name, description)| {
        let mut tool = tool(name, true, true);
        tool.description = (*description).to_owned();
        offer::offered(&key, version, tool, true)
    });
    Known::Offer(Arc::new(Offer { tools: tools.collect() }))
}

fn key(team: &str, service: &str, digest: &str) -> Key {
    Key { team: team.into(), service: service.into(), digest: digest.into() }
}

fn seen(instances: &[Arc<Instance>], offers: &BTreeMap<Key, Known>, before: &Snapshot) -> Snapshot {
    view(&Parts { instances, offers, gone: &[], before, shared_team: "shared" })
}

fn described<'a>(snapshot: &'a Snapshot, team: &str, name: &str) -> &'a str {
    &snapshot.tool(team, name).unwrap().descriptor.description
}

#[tokio::test]
async fn one_faulty_service_hides_nothing_of_the_others() {
    let instances = [instance("blue", "files", "f1", "d"), instance("blue", "broken", "b1", "d")];
    let fault = Problem::Silent("it did not answer in time".into());
    let offers = BTreeMap::from([
        (key("blue", "files", "d"), offer("blue", "files", "1.0.0", &[("look", "Looks.")])),
        (key("blue", "broken", "d"), Known::Faulty(fault)),
    ]);
    let snapshot = seen(&instances, &offers, &Snapshot::default());
    assert!(snapshot.ready());
    assert_eq!(described(&snapshot, "blue", "look"), "Looks.");
    let problems: Vec<(&str, &str)> =
        snapshot.services().iter().map(|s| (s.name.as_str(), s.problem.as_str())).collect();
    assert_eq!(
        problems,
        [("broken", "it does not describe itself: it did not answer in time"), ("files", "")]
    );
}

#[tokio::test]
async fn a_view_is_ready_once_nobody_is_being_asked() {
    let instances = [instance("blue", "files", "f1", "d")];
    let asking = BTreeMap::from([(key("blue", "files", "d"), Known::Asking)]);
    assert!(!seen(&instances, &asking, &Snapshot::default()).ready());
    assert!(seen(&[], &BTreeMap::new(), &Snapshot::default()).ready());
}

#[tokio::test]
async fn a_name_has_one_owner_who_keeps_it() {
    let offers = BTreeMap::from([
        (
            key("blue", "alpha", "d"),
            offer("blue", "alpha", "1.0.0", &[("look", "Alpha."), ("find_tools", "Fake.")]),
        ),
        (key("blue", "beta", "d"), offer("blue", "beta", "1.0.0", &[("look", "Beta.")])),
        (key("red", "beta", "d"), offer("red", "beta", "1.0.0", &[("look", "Red.")])),
    ]);
    let all = [
        instance("blue", "alpha", "a1", "d"),
        instance("blue", "beta", "b1", "d"),
        instance("red", "beta", "r1", "d"),
    ];
    let both = seen(&all, &offers, &Snapshot::default());
    assert_eq!(described(&both, "blue", "look"), "Alpha.", "the first by name");
    assert_eq!(described(&both, "red", "look"), "Red.", "teams have names of their own");
    let withheld: Vec<(String, String)> = both
        .tools("blue")
        .iter()
        .filter(|tool| !tool.withheld.is_empty())
        .map(|tool| (tool.descriptor.description.clone(), tool.withheld.clone()))
        .collect();
    assert_eq!(
        withheld,
        [
            ("Fake.".to_owned(), "the name belongs to the service `callboard`".to_owned()),
            ("Beta.".to_owned(), "the name belongs to the service `alpha`".to_owned()),
        ]
    );
    // Whoever was there first keeps it, also when one comes that is first by name.
    let beta_first = seen(&all[1..], &offers, &Snapshot::default());
    let later = seen(&all, &offers, &beta_first);
    assert_eq!(described(&later, "blue", "look"), "Beta.");
}

#[tokio::test]
async fn while_a_service_is_replaced_most_instances_decide_what_a_tool_is() {
    let offers = BTreeMap::from([
        (key("blue", "files", "old"), offer("blue", "files", "1.9.0", &[("look", "Old.")])),
        (key("blue", "files", "new"), offer("blue", "files", "1.10.0", &[("look", "New.")])),
    ]);
    let of = |id: &str, digest: &str| instance("blue", "files", id, digest);
    let (old, new) = ([of("o1", "old"), of("o2", "old")], [of("n1", "new"), of("n2", "new")]);
    let mix = |instances: &[&Arc<Instance>], before: &Snapshot| {
        let instances: Vec<Arc<Instance>> = instances.iter().map(|one| Arc::clone(one)).collect();
        seen(&instances, &offers, before)
    };
    let first = mix(&[&old[0], &old[1]], &Snapshot::default());
    let more_old = mix(&[&old[0], &old[1], &new[0]], &first);
    assert_eq!(described(&more_old, "blue", "look"), "Old.");
    let even = mix(&[&old[0], &old[1], &new[0], &new[1]], &more_old);
    assert_eq!(described(&even, "blue", "look"), "Old.", "between equals nothing changes");
    let fresh = mix(&[&old[0], &old[1], &new[0], &new[1]], &Snapshot::default());
    assert_eq!(described(&fresh, "blue", "look"), "New.", "1.10 is newer than 1.9");
    let leaving = draining(&old[1]);
    let drained = mix(&[&old[0], &leaving, &new[0], &new[1]], &even);
    assert_eq!(described(&drained, "blue", "look"), "New.", "who drains does not count");
    // A call that was planned with the old one still finds those who serve it.
    let digest = &first.tool("blue", "look").unwrap().descriptor.digest;
    let variant = drained.variant("blue", "files", digest).unwrap();
    let ids: Vec<&str> = variant.instances.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["o1", "o2"]);
    let chosen = &drained.tool("blue", "look").unwrap().instances;
    assert_eq!(chosen.len(), 2, "a tool is only served by those that offer it as it is");
}

#[tokio::test]
async fn tools_of_a_service_that_left_are_known_and_withheld() {
    let Known::Offer(offer) = offer("blue", "files", "1.0.0", &[("look", "Looks.")]) else {
        unreachable!()
    };
    let gone = [(key("blue", "files", "d"), offer)];
    let snapshot = view(&Parts {
        instances: &[],
        offers: &BTreeMap::new(),
        gone: &gone,
        before: &Snapshot::default(),
        shared_team: "shared",
    });
    assert_eq!(snapshot.tool("blue", "look").unwrap().withheld, GONE);
    assert!(
        snapshot.select("blue", "look", &[], 16).iter().all(|tool| tool.descriptor.name != "look")
    );
}

#[test]
fn versions_are_compared_by_number() {
    for (older, newer) in
        [("1.9.0", "1.10.0"), ("0.1.0", "0.1.1"), ("2.0.0-rc.1", "10.0.0"), ("", "0.0.1")]
    {
        assert!(numbers(older) < numbers(newer), "{older} {newer}");
    }
}
