//! Whatever two services and their connections do, a change takes effect at most once, and what is
//! said of it is true. The oracle is a ledger of the services' own.

use std::collections::HashMap;
use std::sync::Mutex;

use callboard_proto::tool::InvokeMode;
use futures_util::StreamExt as _;

use super::*;
use crate::call::testing::{Ran, Scripted};

/// Calls that took effect, by instance.
type Ledger = Arc<Mutex<HashMap<&'static str, Vec<String>>>>;

/// A service that remembers what it did, and whose answers get lost in every way.
fn unreliable(name: &'static str, ledger: Ledger, seed: u64) -> Script {
    let random = Mutex::new(fastrand::Rng::with_seed(seed));
    Arc::new(move |_, request| {
        let call_id = request.call.as_ref().unwrap().call_id.clone();
        let mut ledger = ledger.lock().unwrap();
        let done = ledger.entry(name).or_default();
        let draw = random.lock().unwrap().u8(..8);
        let is_known = done.contains(&call_id);
        if request.mode() == InvokeMode::Attach && !is_known {
            return vec![match draw {
                0 => Act::Fail(Status::unavailable("not heard")),
                _ => refusal(Code::NotFound, reason::UNKNOWN_CALL),
            }];
        }
        // Before any work.
        match draw {
            0 => return vec![refusal(Code::ResourceExhausted, reason::NOT_ADMITTED)],
            1 => return vec![Act::Fail(Status::unavailable("lost before it began"))],
            2 => return vec![Act::Fail(Status::permission_denied("never"))],
            _ => {}
        }
        if !is_known {
            done.push(call_id);
        }
        // It is done; the answer may get lost.
        match draw {
            3 => vec![Act::Fail(Status::unavailable("lost after it was done"))],
            4 => vec![Act::Fail(Status::internal("garbled"))],
            5 => vec![Act::Fail(Status::cancelled("by whom?"))],
            _ => vec![output(request, "done")],
        }
    })
}

async fn ran(tool: &str, seed: u64) -> (Ran, usize) {
    let world = world();
    let ledger = Ledger::default();
    let mut services: Vec<Scripted> = Vec::new();
    for (nth, name) in ["a", "b"].into_iter().enumerate() {
        let script = unreliable(name, Arc::clone(&ledger), seed * 2 + nth as u64);
        services.push(world.serve(name, tools(), script).await);
    }
    let call = world.runnable(tool, "{}").await;
    let ran = world.run(&call, &context()).await;
    let effects = ledger.lock().unwrap().values().map(Vec::len).sum();
    (ran, effects)
}

/// Many of them, some at once.
async fn all(tool: &'static str, count: u64) -> Vec<(u64, (Ran, usize))> {
    let runs = (0..count).map(|seed| async move { (seed, ran(tool, seed).await) });
    futures_util::stream::iter(runs).buffer_unordered(8).collect().await
}

#[tokio::test]
async fn a_change_takes_effect_at_most_once_and_is_told_truly() {
    let mut statuses: HashMap<String, usize> = HashMap::new();
    for (seed, (ran, effects)) in all("write", 60).await {
        let settled = ran.settled();
        *statuses.entry(format!("{:?}", settled.status)).or_default() += 1;
        assert!(effects <= 1, "seed {seed}: {effects} effects, {:?}", ran.lines());
        match settled.status {
            CallStatus::Ok => assert_eq!(effects, 1, "seed {seed}: {:?}", ran.lines()),
            CallStatus::Failed => assert_eq!(effects, 0, "seed {seed}: {:?}", ran.lines()),
            CallStatus::OutcomeUnknown => {}
            other => panic!("seed {seed}: {other:?}"),
        }
        let open = ran.lines().iter().filter(|line| line.contains("started")).count();
        assert_eq!(ran.lines().len(), 2 * open, "seed {seed}: every attempt has its end");
    }
    assert!(statuses.len() == 3, "every ending was met: {statuses:?}");
}

#[tokio::test]
async fn what_may_be_repeated_ends_well_more_often_and_never_lies() {
    let mut done = 0;
    for (seed, (ran, effects)) in all("repeat", 24).await {
        match ran.settled().status {
            CallStatus::Ok => done += 1,
            CallStatus::Failed => assert_eq!(effects, 0, "seed {seed}: {:?}", ran.lines()),
            CallStatus::OutcomeUnknown => {}
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(done >= 8, "{done} of 24");
}
