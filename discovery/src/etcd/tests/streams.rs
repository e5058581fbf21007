//! Watches over an etcd that is played: lost events, empty answers, streams that end.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};
use tonic::Status;

use super::{
    fake::{Fake, Store},
    server::settings,
};
use crate::{
    Discovery as _, LiveSet,
    etcd::{
        Etcd, RELIST_EVERY, open,
        wire::{
            etcdserverpb::{ResponseHeader, WatchResponse},
            mvccpb::{Event, KeyValue, event::EventType},
        },
    },
    testing::{DEADLINE, has, instance, lacks, until},
};

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
