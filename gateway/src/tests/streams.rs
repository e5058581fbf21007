//! Event streams: resumed by clients, taken up again after breaks, cut off for slow readers. Never a
//! gap, never a repeat.

use http::{HeaderValue, Method};
use serde_json::json;

use super::{
    client::{Events, numbers},
    stage::{Stage, request},
};
use crate::Config;

#[tokio::test]
async fn a_stream_resumes_after_a_number() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    for (query, last_id, expected) in [
        ("?until=idle", None, vec![1, 2, 3, 4, 5, 6]),
        ("?after=0&until=idle", None, vec![1, 2, 3, 4, 5, 6]),
        ("?after=4&until=idle", None, vec![5, 6]),
        ("?after=6&until=idle", None, vec![]),
        // Beyond the end: the end is where the session is.
        ("?after=99999&until=idle", None, vec![]),
        ("?until=idle", Some("4"), vec![5, 6]),
        // A browser repeats the address that it was given first: its own place counts more.
        ("?after=1&until=idle", Some("5"), vec![6]),
    ] {
        let path = format!("/v1/sessions/{session}/events{query}");
        let mut ask = request(Method::GET, &path, None);
        if let Some(last) = last_id {
            ask.headers_mut().insert("last-event-id", HeaderValue::from_static(last));
        }
        let events = Events::open(&stage.socket, ask).await.rest().await;
        assert_eq!(numbers(&events), expected, "{query} {last_id:?}");
        let end = events.last().unwrap();
        assert_eq!((end.name.as_str(), &end.data), ("end", &json!({ "last_seq": 6 })));
    }
}

#[tokio::test]
async fn a_stream_goes_on_as_things_happen() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    let mut events = stage.events(&session, "?after=6").await;
    for number in 7..20 {
        assert_eq!(stage.script.journal.append(&session, "", "owner.taken", &json!({})), number);
        assert_eq!(events.next().await.unwrap().id, Some(number));
    }
}

/// Every run of six facts, broken at every place, in every way of asking.
#[tokio::test]
async fn a_broken_stream_is_taken_up_without_gap_or_repeat() {
    let stage = Stage::new().await;
    for cut in 0..6 {
        stage.script.cut_after(cut);
        let events = stage.stream("/v1/runs", json!({ "input": "40+5?" })).await.rest().await;
        assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6], "cut after {cut}");
        let results: Vec<_> = events.iter().filter(|event| event.name == "result").collect();
        assert_eq!((results.len(), &results[0].data["answer"]), (1, &json!("45")), "{cut}");

        stage.script.cut_after(cut);
        let call = stage.stream("/v1/tools/calculate/invoke", json!({ "arguments": {} })).await;
        let events = call.rest().await;
        assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6], "direct call cut after {cut}");
        assert_eq!(events.last().unwrap().data["content"], "45");

        stage.script.cut_after(cut);
        let reply = stage.post("/v1/runs", json!({ "input": "x", "wait": true })).await;
        assert_eq!(reply.json()["answer"], "45", "waiting, cut after {cut}");
    }
    // No run was begun twice.
    let runs = stage.script.journal.ids().into_iter();
    let runs: Vec<_> =
        runs.map(|id| stage.script.journal.session(&id).unwrap().runs.len()).collect();
    assert_eq!(runs, [1; 18]);
}

#[tokio::test]
async fn a_stream_that_breaks_again_and_again_still_moves_on() {
    let stage = Stage::new().await;
    // Each of the first six streams gives one fact and breaks.
    for _ in 0..6 {
        stage.script.cut_after(1);
    }
    let events = stage.stream("/v1/runs", json!({ "input": "40+5?" })).await.rest().await;
    assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_stream_that_brings_nothing_new_is_given_up_with_a_place_to_go_on() {
    let stage = Stage::with(Config { park_ms: 100, ..Config::default() }).await;
    let session = stage.played().await;
    for _ in 0..20 {
        stage.script.cut_after(0);
    }
    let events = stage.events(&session, "?after=4").await.rest().await;
    let [error] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((error.name.as_str(), &error.data["status"]), ("error", &json!(503)));
    assert_eq!(error.data["resume_after"], 4);
}

#[tokio::test]
async fn a_silent_stream_says_that_it_lives() {
    let stage = Stage::with(Config { heartbeat_ms: 20, ..Config::default() }).await;
    let session = stage.played().await;
    let mut events = stage.events(&session, "?after=6").await;
    events.heartbeat().await;
    events.heartbeat().await;
}

/// The client reads nothing until the gateway has let it go.
#[tokio::test]
async fn a_slow_client_is_let_go_with_a_place_to_go_on() {
    let stage = Stage::with(Config { slow_ms: 50, ..Config::default() }).await;
    let session = stage.played().await;
    let large = "x".repeat(200_000);
    for _ in 0..20 {
        stage.script.journal.append(&session, "", "owner.taken", &json!({ "owner": large }));
    }
    // 4 MB find no room in the buffers on the way: the gateway lets go of the orchestrator's stream.
    let events = stage.events(&session, "?after=6").await;
    stage.script.wait_for_streams(1).await;
    stage.script.wait_for_streams(0).await;
    let events = events.rest().await;
    let (last, facts) = (events.last().unwrap(), numbers(&events));
    assert_eq!((last.name.as_str(), &last.data["reason"]), ("error", &json!("slow")));
    let seen = *facts.last().unwrap();
    assert_eq!(facts, (7..=seen).collect::<Vec<_>>(), "no gap before the end");
    assert_eq!(last.data["resume_after"], seen);
    assert!(seen < 26, "something was left: {seen}");
    // And the rest is there for whoever comes back.
    let back = stage.events(&session, &format!("?after={seen}&until=idle")).await.rest().await;
    assert_eq!(numbers(&back), (seen + 1..=26).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_place_that_is_no_number_is_refused() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    for (query, last) in
        [("?after=x", "1"), ("?until=dawn", "1"), ("?afte=1", "1"), ("", "x"), ("", "-1")]
    {
        let path = format!("/v1/sessions/{session}/events{query}");
        let mut ask = request(Method::GET, &path, None);
        ask.headers_mut().insert("last-event-id", HeaderValue::from_static(last));
        let reply = stage.send(ask).await;
        assert_eq!(reply.status, 400, "{query} {last}");
        reply.problem();
    }
    let id = "018f2c3e-0000-7000-8000-000000000000";
    for id in [id, "no-uuid"] {
        assert_eq!(stage.get(&format!("/v1/sessions/{id}/events")).await.status, 404);
    }
}
