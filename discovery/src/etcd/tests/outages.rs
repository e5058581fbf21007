//! What a real etcd does to those who rely on it: it goes away, forgets, compacts, stalls, and wants
//! a login. And what settings it cannot be reached by.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{
    eventually,
    server::{LOOK, Mode, Proxy, Server, free_port, settings},
    settled, stored,
};
use crate::{
    Discovery as _, Error, Held, InstanceId, LiveSet, Login, State,
    etcd::{
        Settings, connect,
        wire::{delete, etcdserverpb::TxnRequest},
    },
    testing::{has, instance, orchestrator, until},
};

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
async fn the_loss_of_any_one_member_moves_nothing() {
    let mut members = Server::start_cluster(3).await;
    let endpoints = members.iter().map(Server::url).collect();
    let lease_ttl = Duration::from_secs(4);
    let one = connect(Settings { endpoints, lease_ttl, ..members[0].settings() }).await.unwrap();
    let registration = one.register(orchestrator("a")).await.unwrap();
    let held = one.claim(&registration, 8).await.unwrap();
    let before = held.borrow().clone();
    assert_eq!(before.len(), 8);
    // One of them leads.
    for member in 0..3 {
        members[member].kill().await;
        let other = &members[(member + 1) % 3];
        // Changes go on with the two that are left.
        let id = format!("c-{member}");
        let comes = one.register(instance(&id)).await.unwrap();
        until(&mut one.live(), has(&id)).await;
        eventually("keep-alives are answered", async || one.is_confirmed()).await;
        settled(other, &mut one.owners(), &[("a", &held)]).await;
        assert_eq!(*held.borrow(), before);
        drop(comes);
        members[member].resume().await;
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
