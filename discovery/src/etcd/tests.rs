//! The etcd backend over a real etcd and real processes; what a real etcd cannot be made to do on
//! demand is played by `fake.rs`.

mod fake;
mod server;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tonic::Status;

use self::{
    fake::{Fake, Store},
    server::{LOOK, Mode, Proxy, Server, free_port, settings},
};
use super::{
    Etcd, RELIST_EVERY, Settings, connect, open,
    wire::{
        delete,
        etcdserverpb::{ResponseHeader, TxnRequest, WatchResponse},
        mvccpb::{Event, KeyValue, event::EventType},
    },
};
use crate::{
    Discovery as _, Error, Held, Instance, InstanceId, LiveSet, Login, Owners, State,
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

#[tokio::test]
async fn an_outage_changes_nothing_and_heals_by_itself() {
    let mut server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let held = one.claim(&registration, 8).await.unwrap();
    let mut live = one.live();
    until(&mut live, has("a")).await;
    until(&mut one.owners(), |owners| owners.len() == 8).await;
    let (owners, before) = (one.owners(), held.borrow().clone());

    server.kill().await;
    let away = until(&mut live, |live| !live.confirmed).await;
    assert!(away.instances.contains_key(&"a".into()));
    eventually("no keep-alive is answered", async || !one.is_confirmed()).await;
    let error = registration.set_state(State::Draining).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable { endpoints, .. } if *endpoints == server.url()));
    assert_eq!(*held.borrow(), before);
    assert_eq!(owners.borrow().len(), 8);

    server.resume().await;
    let draining = |live: &LiveSet| {
        live.confirmed
            && live.instances.get(&"a".into()).is_some_and(|it| it.state == State::Draining)
    };
    until(&mut live, draining).await;
    eventually("keep-alives are answered", async || one.is_confirmed()).await;
    // The lease outlived the outage, so nothing has moved.
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
    assert_eq!(*held.borrow(), before);
    registration.set_state(State::Serving).await.unwrap();
    let another = one.register(orchestrator("b")).await.unwrap();
    until(&mut live, has("b")).await;
    drop(another);
}

#[tokio::test]
async fn an_etcd_that_lost_everything_is_filled_again() {
    let mut server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    // Enough history that the new store is behind it.
    let registration = one.register(orchestrator("a")).await.unwrap();
    for _ in 0..20 {
        registration.set_state(State::Serving).await.unwrap();
    }
    let held = one.claim(&registration, 8).await.unwrap();
    let before = held.borrow()[&0];
    server.kill().await;
    server.resume_empty().await;
    let refilled = async || {
        stored(&server).await.len() == 8
            && held.borrow().len() == 8
            && held.borrow().values().all(|revision| *revision < before)
    };
    eventually("all is registered and claimed again", refilled).await;
    until(&mut one.live(), has("a")).await;
    eventually("keep-alives are answered", async || one.is_confirmed()).await;
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
}

#[tokio::test]
async fn a_lease_revoked_by_others_is_replaced() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let held = one.claim(&registration, 8).await.unwrap();
    until(&mut one.live(), has("a")).await;
    let before = held.borrow()[&0];
    let key = server.client().list("/callboard/services/").await.unwrap().kvs.remove(0);
    server.client().revoke(key.lease).await.unwrap();
    let replaced = |held: &Held| held.len() == 8 && held.values().all(|it| *it > before);
    until(&mut held.clone(), replaced).await;
    until(&mut one.live(), has("a")).await;
    let again = server.client().list("/callboard/services/").await.unwrap().kvs.remove(0);
    assert_ne!(again.lease, key.lease);
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
}

#[tokio::test]
async fn keys_deleted_by_others_are_put_back() {
    let server = Server::start().await;
    let one = connect(server.settings()).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let held = one.claim(&registration, 2).await.unwrap();
    until(&mut one.live(), has("a")).await;
    let before = held.borrow()[&1];
    for key in
        ["/callboard/services/orchestrator/default/orchestrator/a", "/callboard/partitions/1"]
    {
        let success = vec![delete(key)];
        let deleted = TxnRequest { success, ..TxnRequest::default() };
        assert!(server.client().txn(deleted).await.unwrap().succeeded);
    }
    until(&mut held.clone(), |held| held.get(&1).is_some_and(|it| *it > before)).await;
    settled(&server, &mut one.owners(), &[("a", &held)]).await;
    let put_back =
        async || server.client().list("/callboard/services/").await.unwrap().kvs.len() == 1;
    eventually("the record is put back", put_back).await;
}

#[tokio::test]
async fn compaction_while_cut_off_heals_without_flapping() {
    let server = Server::start().await;
    let proxy = Proxy::before(&server).await;
    let one = connect(settings(&proxy.url())).await.unwrap();
    let two = connect(server.settings()).await.unwrap();
    let (stays, goes) =
        tokio::join!(two.register(instance("stays")), two.register(instance("goes")));
    let (_stays, goes) = (stays.unwrap(), goes.unwrap());
    let mut live = one.live();
    until(&mut live, |live| live.instances.len() == 2).await;

    proxy.set(Mode::Cut);
    until(&mut live, |live| !live.confirmed).await;
    assert_eq!(live.borrow().instances.len(), 2);
    goes.release().await;
    let _comes = two.register(instance("comes")).await.unwrap();
    let revision = server.client().list("/").await.unwrap().header.unwrap().revision;
    let body = format!("{{\"revision\":{revision},\"physical\":true}}");
    let compacted = server.post("/v3/kv/compaction", &body).await;
    assert!(compacted.contains("200 OK"), "{compacted}");
    proxy.set(Mode::Pass);

    // The first value that is confirmed again is the truth: nothing in between.
    let healed = until(&mut live, |live| live.confirmed).await;
    let ids: Vec<&str> = healed.instances.keys().map(InstanceId::as_str).collect();
    assert_eq!(ids, ["comes", "stays"]);
    // And the stream goes on.
    let _more = two.register(instance("more")).await.unwrap();
    until(&mut live, has("more")).await;
}

#[tokio::test]
async fn a_stalled_connection_is_replaced_before_the_lease_ends() {
    let server = Server::start().await;
    let proxy = Proxy::before(&server).await;
    let stalled = Settings { lease_ttl: Duration::from_secs(4), ..settings(&proxy.url()) };
    let one = connect(stalled).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let key = server.client().list("/callboard/services/").await.unwrap().kvs.remove(0);
    proxy.stall();
    // More than a lease later it is still the same lease, and it was confirmed all the time.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(6) {
        assert!(one.is_confirmed());
        sleep(LOOK).await;
    }
    let still = server.client().list("/callboard/services/").await.unwrap().kvs.remove(0);
    assert_eq!((still.lease, still.create_revision), (key.lease, key.create_revision));
    registration.release().await;
}

#[tokio::test]
async fn a_cluster_with_users_wants_the_right_login() {
    let server = Server::start().await;
    let json = [
        ("/v3/auth/user/add", r#"{"name":"root","password":"p"}"#),
        ("/v3/auth/user/grant", r#"{"user":"root","role":"root"}"#),
        ("/v3/auth/enable", "{}"),
    ];
    server.post("/v3/auth/role/add", r#"{"name":"root"}"#).await;
    for (path, body) in json {
        let answer = server.post(path, body).await;
        assert!(answer.contains("200 OK"), "{answer}");
    }
    let login = |password: &str| {
        let login = Login { user: "root".into(), password: password.into() };
        Settings { login: Some(login), ..server.settings() }
    };
    let error = connect(login("wrong")).await.err().unwrap();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    let error = connect(server.settings()).await.err().unwrap();
    assert!(matches!(error, Error::Answer(_)), "{error}");

    let one = connect(login("p")).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let held = one.claim(&registration, 4).await.unwrap();
    assert_eq!(held.borrow().len(), 4);
    until(&mut one.live(), has("a")).await;
    // A login that the cluster does not ask for does no harm.
    let open = Server::start().await;
    let settings = Settings { endpoints: vec![open.url()], ..login("p") };
    connect(settings).await.unwrap().register(instance("c-1")).await.unwrap();
}

#[tokio::test]
async fn a_token_that_the_cluster_forgot_is_fetched_anew() {
    // Simple tokens live in the member's memory: a restart forgets them, as their age would.
    let mut server = Server::start().await;
    server.post("/v3/auth/role/add", r#"{"name":"root"}"#).await;
    server.post("/v3/auth/user/add", r#"{"name":"root","password":"p"}"#).await;
    server.post("/v3/auth/user/grant", r#"{"user":"root","role":"root"}"#).await;
    server.post("/v3/auth/enable", "{}").await;
    let login = Some(Login { user: "root".into(), password: "p".into() });
    let one = connect(Settings { login, ..server.settings() }).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let mut live = one.live();
    until(&mut live, has("a")).await;
    server.kill().await;
    until(&mut live, |live| !live.confirmed).await;
    server.resume().await;
    until(&mut live, has("a")).await;
    eventually("keep-alives are answered", async || one.is_confirmed()).await;
    registration.set_state(State::Draining).await.unwrap();
    let draining = |live: &LiveSet| live.instances[&"a".into()].state == State::Draining;
    until(&mut live, draining).await;
}

#[tokio::test]
async fn any_member_that_answers_is_enough() {
    let server = Server::start().await;
    let dead = format!("http://127.0.0.1:{}", free_port());
    let settings = || Settings { endpoints: vec![dead.clone(), server.url()], ..server.settings() };
    // Which one is asked first is chosen at random: both orders come up.
    for n in 0..6 {
        let one = connect(settings()).await.unwrap();
        let registration = one.register(orchestrator(&format!("o-{n}"))).await.unwrap();
        registration.release().await;
    }
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_with_what_would() {
    let url = format!("http://127.0.0.1:{}", free_port());
    let refused = async |settings: Settings| connect(settings).await.err().unwrap().to_string();
    let error = refused(settings(&url)).await;
    assert!(error.contains(&url) && error.contains("check that it runs"), "{error}");
    for endpoints in [vec![], vec!["https://h:1".to_owned()], vec!["h:1".to_owned()]] {
        let error = refused(Settings { endpoints, ..settings(&url) }).await;
        assert!(error.contains("etcd endpoints") && error.contains("http://host"), "{error}");
    }
    let error = refused(Settings { lease_ttl: Duration::from_secs(1), ..settings(&url) }).await;
    assert!(error.contains("2 s at least"), "{error}");
    let error = refused(Settings { prefix: "/".into(), ..settings(&url) }).await;
    assert!(error.contains("etcd prefix"), "{error}");
}

fn key_value(id: &str, revision: i64) -> KeyValue {
    KeyValue {
        key: format!("/callboard/services/tool/default/calculator/{id}").into_bytes(),
        value: serde_json::to_vec(&instance(id)).unwrap(),
        create_revision: revision,
        mod_revision: revision,
        version: 1,
        lease: 7,
    }
}

fn ids(live: &watch::Receiver<LiveSet>) -> Vec<String> {
    live.borrow().instances.keys().map(ToString::to_string).collect()
}

async fn over(fake: &Fake, relist_every: Duration) -> Arc<Etcd> {
    open(settings(&fake.url()), relist_every).await.unwrap()
}

#[tokio::test]
async fn a_lost_delete_is_found_by_listing_again() {
    let first = Store { revision: 5, kvs: vec![key_value("a", 3), key_value("b", 5)] };
    let mut fake = Fake::start(first).await;
    let one = over(&fake, Duration::from_millis(200)).await;
    let mut live = one.live();
    assert_eq!(ids(&live), ["a", "b"]);
    let (from, _stream) = fake.watches.recv().await.unwrap();
    assert_eq!(from, 6);
    // No event tells of it.
    fake.store.send_replace(Store { revision: 6, kvs: vec![key_value("a", 3)] });
    until(&mut live, lacks("b")).await;
    assert_eq!(ids(&live), ["a"]);
    let (from, _stream) = fake.watches.recv().await.unwrap();
    assert_eq!(from, 7);
}

#[tokio::test]
async fn empty_and_old_responses_change_nothing() {
    let mut fake = Fake::start(Store { revision: 5, kvs: vec![key_value("a", 5)] }).await;
    let one = over(&fake, RELIST_EVERY).await;
    let mut live = one.live();
    let (_, stream) = fake.watches.recv().await.unwrap();
    let event = |r#type: EventType, kv: KeyValue| Event { r#type: r#type.into(), kv: Some(kv) };
    let gone = KeyValue { value: Vec::new(), ..key_value("a", 5) };
    let answers = [
        vec![],
        // From before the list: already in it.
        vec![event(EventType::Delete, gone)],
        vec![event(EventType::Put, key_value("old", 4))],
        // Not one of ours, and broken.
        vec![event(EventType::Put, KeyValue { value: b"{".to_vec(), ..key_value("x", 6) })],
        vec![event(EventType::Put, key_value("b", 7))],
    ];
    for events in answers {
        let header = Some(ResponseHeader { revision: 99 });
        stream.send(Ok(WatchResponse { header, events, ..Default::default() })).await.unwrap();
    }
    until(&mut live, has("b")).await;
    assert_eq!(ids(&live), ["a", "b"]);
}

#[tokio::test]
async fn whatever_ends_the_stream_it_is_listed_and_watched_again() {
    let mut fake = Fake::start(Store { revision: 5, kvs: vec![key_value("a", 5)] }).await;
    let one = over(&fake, RELIST_EVERY).await;
    let live = one.live();
    let (_, mut stream) = fake.watches.recv().await.unwrap();
    let canceled = WatchResponse { canceled: true, ..WatchResponse::default() };
    let ends = [
        Some(Ok(WatchResponse { compact_revision: 9, ..canceled.clone() })),
        Some(Ok(WatchResponse { cancel_reason: "permission denied".into(), ..canceled })),
        Some(Err(Status::unavailable("no leader"))),
        None,
    ];
    for (end, revision) in ends.into_iter().zip(10..) {
        let id = format!("i-{revision}");
        fake.store.send_replace(Store { revision, kvs: vec![key_value(&id, revision)] });
        if let Some(end) = end {
            stream.send(end).await.unwrap();
        }
        drop(stream);
        let next = timeout(DEADLINE, fake.watches.recv()).await.unwrap().unwrap();
        assert_eq!((next.0, ids(&live)), (revision + 1, vec![id]));
        assert!(live.borrow().confirmed);
        stream = next.1;
    }
}

#[tokio::test]
async fn the_view_ends_with_the_last_handle() {
    let fake = Fake::start(Store::default()).await;
    let one = over(&fake, RELIST_EVERY).await;
    let mut live = one.live();
    drop(one);
    while live.changed().await.is_ok() {}
}
