//! The end of a gateway: nothing new, streams told where to go on, requests in flight answered.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::timeout;

use super::{
    client::{self, DEADLINE, Events},
    stage::{Stage, request},
};
use crate::Config;

#[tokio::test]
async fn streams_end_at_once_with_a_place_to_go_on() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    let mut watching = stage.events(&session, "?after=5").await;
    assert_eq!(watching.next().await.unwrap().id, Some(6));
    stage.shutdown.cancel();
    let rest = watching.rest().await;
    let [error] = rest.as_slice() else { panic!("{rest:?}") };
    assert_eq!((error.name.as_str(), &error.data["reason"]), ("error", &json!("moved")));
    assert_eq!(error.data["resume_after"], 6);
    timeout(DEADLINE, stage.gateway).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_request_in_flight_is_answered_and_nothing_new_is_taken() {
    let stage = Stage::new().await;
    stage.script.leave_runs_to_the_test();
    let journal = stage.script.journal.clone();
    let waiting = stage.post("/v1/runs", json!({ "input": "x", "wait": true }));
    let ending = async {
        let (session, kept) = journal.until(|kept| !kept.facts.is_empty()).await;
        stage.shutdown.cancel();
        // The socket is gone as soon as the gateway has stopped to accept.
        let client::Door::Socket(path) = &stage.socket else {
            unreachable!("as the stage makes it")
        };
        let closed = async {
            while tokio::net::UnixStream::connect(path).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, closed).await.unwrap();
        journal.end(&session, &kept.runs[0].id, |run| run.answer = "just in time".to_owned());
    };
    let (reply, ()) = tokio::join!(waiting, ending);
    assert_eq!((reply.status.as_u16(), &reply.json()["answer"]), (200, &json!("just in time")));
    timeout(DEADLINE, stage.gateway).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_request_that_would_wait_longer_is_told_that_the_run_goes_on() {
    let stage = Stage::with(Config { drain_ms: 200, ..Config::default() }).await;
    stage.script.leave_runs_to_the_test();
    let journal = stage.script.journal.clone();
    let waiting = stage.post("/v1/runs", json!({ "input": "x", "wait": true }));
    let ending = async {
        journal.until(|kept| !kept.facts.is_empty()).await;
        stage.shutdown.cancel();
    };
    let (reply, ()) = tokio::join!(waiting, ending);
    assert_eq!(reply.status, 503);
    assert!(reply.problem().contains("the run goes on"));
    let session = reply.json()["session"].as_str().unwrap().to_owned();
    assert!(journal.session(&session).is_some());
    timeout(DEADLINE, stage.gateway).await.unwrap().unwrap().unwrap();
}

/// A client that reads nothing cannot keep the gateway.
#[tokio::test]
async fn the_drain_is_bounded() {
    let stage = Stage::with(Config { drain_ms: 100, ..Config::default() }).await;
    let session = stage.played().await;
    let large = "x".repeat(200_000);
    for _ in 0..20 {
        stage.script.journal.append(&session, "", "owner.taken", &json!({ "owner": large }));
    }
    let path = format!("/v1/sessions/{session}/events");
    let _unread = Events::open(&stage.socket, request(Method::GET, &path, None)).await;
    stage.shutdown.cancel();
    timeout(Duration::from_secs(10), stage.gateway).await.unwrap().unwrap().unwrap();
    // Its registration is gone with it.
    let mut live = stage.discovery.live();
    let gone = live.wait_for(|live| live.instances.values().all(|i| i.name != "gateway"));
    timeout(DEADLINE, gone).await.unwrap().unwrap();
}
