//! The same points where the journal is a file on one machine: the owner is killed there, and another
//! process on the same state carries on. A process that is stopped keeps the file's lock, so that
//! nobody takes over: there is nothing to sweep.

use std::{sync::Mutex, time::Duration};

use callboard_orchestrator::crash::{OF_FILE, POINTS};
use callboard_tests::{LEDGER_TOOLS, OneMachine};
use futures_util::{StreamExt as _, future::join_all, stream};
use tokio::time::timeout;

use crate::journal::check_machine;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(1);
/// Scenarios at the same time.
const AT_ONCE: usize = 4;

/// Kills the owner at a crossing of a point; another one ends the run.
async fn killed_at(point: &str, nth: u32, tool: &str) {
    let what = format!("{point}:{nth} with {tool}");
    let machine = OneMachine::start(None).await;
    let mut owner = machine.orchestrator(&[("CALLBOARD_CRASH_POINT", &format!("{point}:{nth}"))]);
    let mut request = machine.request(tool);
    let died = async {
        let ended = timeout(SOON, owner.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("{what} fires: {}", machine.said())).unwrap();
        assert_eq!(ended.code(), None, "{what}: a signal ended it: {}", machine.said());
        machine.orchestrator(&[])
    };
    let (run, _other) = if point.starts_with("claim.") {
        let other = died.await;
        machine.offers_ledger().await;
        (events(request).await, other)
    } else {
        machine.offers_ledger().await;
        if point.ends_with("_fold") {
            // A session that may be there is looked for before its first event.
            request = request.header("idempotency-key", "once");
        }
        tokio::join!(events(request), died)
    };
    check_machine(&machine, &[run]).await;
}

async fn events(request: reqwest::RequestBuilder) -> (serde_json::Value, Vec<serde_json::Value>) {
    let ends = async {
        let mut events = callboard_tests::Events::of(request).await;
        (events.result().await, events.facts)
    };
    timeout(SOON, ends).await.expect("the run ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_made_twice_wherever_the_one_process_of_a_file_dies() {
    let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let only = std::env::var("CRASH_POINT").ok();
    let points = POINTS.iter().filter(|point| only.as_ref().is_none_or(|only| only == *point));
    let scenarios: Vec<_> = points
        .map(|point| {
            let crossings = if point.starts_with("journal.") { 2 } else { 1 };
            (*point, random.u32(1..=crossings), *random.choice(&LEDGER_TOOLS).unwrap())
        })
        .collect();
    let all = stream::iter(scenarios).map(|(point, nth, tool)| killed_at(point, nth, tool));
    all.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_being_moved_into_the_file_is_whole_after_a_crash() {
    for point in OF_FILE {
        let machine = OneMachine::start(None).await;
        let mut owner = machine.orchestrator(&[("CALLBOARD_CRASH_POINT", point)]);
        machine.offers_ledger().await;
        let acknowledged = Mutex::new(Vec::new());
        // Each session that is opened changes a few pages; a thousand in the log are moved.
        let open_many = join_all((0..4).map(async |_| {
            loop {
                if let Some(session) = machine.open("one of many").await {
                    acknowledged.lock().unwrap().push(session);
                }
            }
        }));
        let dies = async {
            tokio::select! {
                ended = owner.wait() => ended.unwrap().code(),
                _ = open_many => None,
            }
        };
        let code = timeout(SOON, dies).await;
        assert_eq!(code.unwrap_or_else(|_| panic!("{point} fires: {}", machine.said())), None);
        let _other = machine.orchestrator(&[]);
        machine.offers_ledger().await;
        let run = events(machine.request("ledger_add")).await;
        check_machine(&machine, &[run]).await;
        let file = rusqlite::Connection::open(machine.journal()).unwrap();
        let acknowledged = acknowledged.into_inner().unwrap();
        assert!(acknowledged.len() > 10, "{acknowledged:?}");
        for session in acknowledged {
            let sql = "SELECT count(*) FROM session WHERE id = ?1";
            let count: i64 = file.query_row(sql, [&session], |row| row.get(0)).unwrap();
            assert_eq!(count, 1, "{session} was acknowledged");
        }
    }
}
