//! The etcd backend over a real etcd and real processes: membership and ownership here, what etcd
//! itself may do in `outages.rs` and, where a real one cannot be made to do it, in `streams.rs`.

mod fake;
mod outages;
mod server;
mod streams;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Stdio,
    sync::Arc,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    sync::watch,
    time::{Instant, sleep, timeout},
};

use self::server::{LOOK, Server, settings};
use super::{Settings, connect, wire::mvccpb::KeyValue};
use crate::{
    Discovery as _, Error, Held, Instance, InstanceId, LiveSet, Owners, State,
    testing::{DEADLINE, has, instance, lacks, orchestrator, until},
};

async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < DEADLINE, "it never came: {what}");
        sleep(LOOK).await;
    }
}

/// The owners that the store itself has, by partition.
async fn stored(server: &Server) -> BTreeMap<u32, (InstanceId, u64)> {
    let list = server.client().list("/callboard/partitions/").await.unwrap();
    let owner = |kv: KeyValue| {
        let partition = String::from_utf8(kv.key).unwrap();
        let partition = partition.strip_prefix("/callboard/partitions/").unwrap().parse().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&kv.value).unwrap();
        let instance = InstanceId::from(value["instance"].as_str().unwrap());
        (partition, (instance, u64::try_from(kv.create_revision).unwrap()))
    };
    list.kvs.into_iter().map(owner).collect()
}

/// Checks that store, owners and holders agree.
async fn settled(
    server: &Server,
    owners: &mut watch::Receiver<Owners>,
    held: &[(&str, &watch::Receiver<Held>)],
) {
    let agree = async || {
        let stored = stored(server).await;
        let holders: BTreeMap<u32, (InstanceId, u64)> = held
            .iter()
            .flat_map(|(id, held)| {
                let held = Arc::clone(&held.borrow());
                held.iter()
                    .map(|(it, revision)| (*it, ((*id).into(), *revision)))
                    .collect::<Vec<_>>()
            })
            .collect();
        let sum: usize = held.iter().map(|(_, held)| held.borrow().len()).sum();
        let seen: BTreeMap<u32, (InstanceId, u64)> = owners
            .borrow()
            .iter()
            .map(|(it, owner)| (*it, (owner.instance.clone(), owner.revision)))
            .collect();
        sum == holders.len() && stored == holders && stored == seen
    };
    eventually("store, owners and holders agree", agree).await;
}

#[tokio::test]
async fn what_is_registered_is_seen_by_all_and_gone_after_release() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let two = connect(server.settings()).await.unwrap();
    let registration = one.register(instance("c-1")).await.unwrap();
    for discovery in [&one, &two] {
        let live = until(&mut discovery.live(), has("c-1")).await;
        assert_eq!(*live.instances, BTreeMap::from([("c-1".into(), instance("c-1"))]));
        assert!(discovery.is_confirmed());
    }
    let keys = server.client().list("/callboard/").await.unwrap().kvs;
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].key, b"/callboard/services/tool/default/calculator/c-1");
    assert_ne!(keys[0].lease, 0);

    registration.set_state(State::Draining).await.unwrap();
    let draining = |live: &LiveSet| live.instances[&"c-1".into()].state == State::Draining;
    until(&mut two.live(), draining).await;

    // A backend that only looks sees what is there at once.
    let late = connect(server.settings()).await.unwrap();
    assert!(late.live().borrow().instances.contains_key(&"c-1".into()));
    assert!(late.is_confirmed());

    registration.release().await;
    assert_eq!(server.client().list("/callboard/").await.unwrap().kvs, []);
    until(&mut two.live(), lacks("c-1")).await;

    let dropped = one.register(instance("c-2")).await.unwrap();
    until(&mut two.live(), has("c-2")).await;
    drop(dropped);
    until(&mut two.live(), lacks("c-2")).await;
}

#[tokio::test]
async fn a_deployment_has_one_id_that_stays_and_another_prefix_another_one() {
    let server = Server::start().await;
    let (one, two) = tokio::join!(connect(server.settings()), connect(server.settings()));
    let (one, two) = (one.unwrap(), two.unwrap());
    let (first, second) = tokio::join!(one.deployment(), two.deployment());
    let id = first.unwrap();
    assert_eq!((id.len(), &second.unwrap()), (32, &id));
    let late = connect(server.settings()).await.unwrap();
    assert_eq!(late.deployment().await.unwrap(), id);
    let keys = server.client().list("/callboard/").await.unwrap().kvs;
    assert_eq!(keys.len(), 1);
    assert_eq!((&keys[0].key[..], keys[0].lease), (&b"/callboard/deployment"[..], 0));
    let other = connect(Settings { prefix: "/other".to_owned(), ..server.settings() }).await;
    assert_ne!(other.unwrap().deployment().await.unwrap(), id);
}

#[tokio::test]
async fn all_partitions_are_claimed_at_once_with_their_create_revision() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let held = one.claim(&registration, 256).await.unwrap();
    assert_eq!(held.borrow().keys().copied().collect::<Vec<_>>(), (0..256).collect::<Vec<_>>());
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
    // Few transactions, not one for each partition.
    let revisions: BTreeSet<u64> = held.borrow().values().copied().collect();
    assert_eq!(revisions.len(), 4);
    let error = one.claim(&registration, 8).await.unwrap_err();
    assert!(matches!(error, Error::Setting { key: "partition count", .. }), "{error}");
}

#[tokio::test]
async fn two_claimants_at_once_share_and_never_overlap() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let two = connect(server.settings()).await.unwrap();
    let (a, b) = tokio::join!(one.register(orchestrator("a")), two.register(orchestrator("b")));
    let (a, b) = (a.unwrap(), b.unwrap());
    let (held_a, held_b) = tokio::join!(one.claim(&a, 256), two.claim(&b, 256));
    let (mut held_a, mut held_b) = (held_a.unwrap(), held_b.unwrap());
    until(&mut one.owners(), |owners| owners.len() == 256).await;
    settled(&server, &mut two.owners(), &[("a", &held_a), ("b", &held_b)]).await;

    // What one lets go the other takes, with a higher revision.
    let (giver, held_giver, held_taker) = if held_a.borrow().is_empty() {
        (&b, &held_b, &mut held_a)
    } else {
        (&a, &held_a, &mut held_b)
    };
    let few: Vec<u32> = held_giver.borrow().keys().copied().take(3).collect();
    let before = held_giver.borrow()[&few[0]];
    giver.let_go(few.clone()).await.unwrap();
    assert!(few.iter().all(|it| !held_giver.borrow().contains_key(it)));
    let taken = |held: &Held| few.iter().all(|it| held.get(it).is_some_and(|r| *r > before));
    until(held_taker, taken).await;
    settled(&server, &mut one.owners(), &[("a", &held_a), ("b", &held_b)]).await;

    b.release().await;
    until(&mut held_a, |held| held.len() == 256).await;
    settled(&server, &mut one.owners(), &[("a", &held_a)]).await;
}

#[tokio::test]
async fn two_that_do_not_know_of_each_other_still_have_one_owner_each() {
    // Registered as gateways, neither gives the other a head start: both claim everything at once.
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let two = connect(server.settings()).await.unwrap();
    let gateway = |id: &str| Instance { role: crate::Role::Gateway, ..orchestrator(id) };
    let (a, b) = tokio::join!(one.register(gateway("a")), two.register(gateway("b")));
    let (a, b) = (a.unwrap(), b.unwrap());
    let (held_a, held_b) = tokio::join!(one.claim(&a, 256), two.claim(&b, 256));
    let (held_a, held_b) = (held_a.unwrap(), held_b.unwrap());
    assert_eq!(held_a.borrow().len() + held_b.borrow().len(), 256);
    settled(&server, &mut one.owners(), &[("a", &held_a), ("b", &held_b)]).await;
}

/// Runs only as a child of other tests: registers, claims, and says what it holds until it is
/// killed.
#[tokio::test]
async fn registrant_process() {
    let Some(url) = env::var_os("CALLBOARD_TEST_ETCD") else { return };
    let one = connect(settings(url.to_str().unwrap())).await.unwrap();
    let registration = one.register(orchestrator("child")).await.unwrap();
    let mut held = one.claim(&registration, 8).await.unwrap();
    loop {
        println!("\nholds {}", held.borrow_and_update().len());
        held.changed().await.unwrap();
    }
}

async fn spawn_registrant(server: &Server) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "etcd::tests::registrant_process", "--nocapture"])
        .env("CALLBOARD_TEST_ETCD", server.url())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    says(&mut lines, "holds 8").await;
    (child, lines)
}

async fn says(lines: &mut Lines<BufReader<ChildStdout>>, wanted: &str) {
    let read = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == wanted {
                return;
            }
        }
        panic!("the child ended without saying `{wanted}`");
    };
    timeout(DEADLINE, read).await.unwrap();
}

#[tokio::test]
async fn a_killed_process_is_forgotten_and_its_partitions_are_claimed() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let (mut child, _lines) = spawn_registrant(&server).await;
    until(&mut one.live(), has("child")).await;
    let registration = one.register(orchestrator("a")).await.unwrap();
    let mut held = one.claim(&registration, 8).await.unwrap();
    assert!(held.borrow().is_empty());
    let before = until(&mut one.owners(), |owners| owners.len() == 8).await;

    child.kill().await.unwrap();
    let after = until(&mut held, |held| held.len() == 8).await;
    until(&mut one.live(), lacks("child")).await;
    assert!(after.iter().all(|(partition, revision)| *revision > before[partition].revision));
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
}

#[tokio::test]
async fn a_paused_process_loses_its_partitions_and_comes_back_without_them() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let (child, mut lines) = spawn_registrant(&server).await;
    let registration = one.register(orchestrator("a")).await.unwrap();
    let mut held = one.claim(&registration, 8).await.unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    until(&mut held, |held| held.len() == 8).await;
    until(&mut one.live(), lacks("child")).await;
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    says(&mut lines, "holds 0").await;
    until(&mut one.live(), has("child")).await;
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
}

#[tokio::test]
async fn a_successor_of_the_same_name_waits_for_its_predecessors_end() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let (mut child, _lines) = spawn_registrant(&server).await;
    let error = one.register(orchestrator("child")).await.unwrap_err();
    assert!(matches!(&error, Error::Taken(id) if id.as_str() == "child"), "{error}");
    let before = until(&mut one.owners(), |owners| owners.len() == 8).await;
    child.kill().await.unwrap();
    let registration = one.register(orchestrator("child")).await.unwrap();
    let mut held = one.claim(&registration, 8).await.unwrap();
    let after = until(&mut held, |held| held.len() == 8).await;
    assert!(after.iter().all(|(partition, revision)| *revision > before[partition].revision));
}
