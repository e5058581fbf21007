//! Every point at which an orchestrator can die or be paused, in the life of a run with one call: the
//! point is armed in the owner, another orchestrator carries on, and the ledger says how often the
//! call was made.
//!
//! Each point once is here; those of a rollback are in `crash_points/rollback.rs`, and one fault many
//! times is `crash_points/soak.rs`.

mod file;
mod rollback;
mod soak;

pub(crate) use self::{rollback::noted_calls, soak::is_soaked};

use std::{
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use callboard_orchestrator::crash::POINTS;
use callboard_tests::{Cluster, Etcd, Events, LEASE, LEDGER_TOOLS, Postgres, within};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use rustix::process::Signal;

use super::failover::check;

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_mins(2);
/// Scenarios at the same time: most of each is waiting for a lease to end, and starts processes
/// meanwhile.
const AT_ONCE: usize = 4;
/// How long the call works.
const WORK: Duration = Duration::from_millis(100);

/// What happens to the process at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT as soon as discovery has given everything to another one: who is first in
    /// the journal decides.
    Stop,
    /// SIGSTOP, and SIGCONT when another one has ended the run.
    StopLong,
}

/// What the ledger is built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// Raw gRPC.
    Wire,
    /// The kit.
    Kit,
}

/// One way for an owner to fail.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    point: &'static str,
    /// At which crossing.
    nth: u32,
    act: Act,
    tool: &'static str,
    ledger: On,
}

impl Scenario {
    /// The crossing is drawn from those that every run makes.
    fn draw(point: &'static str, act: Act, tool: &'static str, random: &mut fastrand::Rng) -> Self {
        let crossings = match point {
            "append.before_submit" | "append.after_durable" => 3,
            // Appends share commits.
            "journal.before_commit"
            | "journal.after_commit"
            | "model.before_call"
            | "model.after_reply" => 2,
            _ => 1,
        };
        Self { point, nth: random.u32(1..=crossings), act, tool, ledger: On::Wire }
    }

    /// As the composition root reads it.
    fn armed(self) -> String {
        let stop = if self.act == Act::Kill { "" } else { ":stop" };
        format!("{}:{}{stop}", self.point, self.nth)
    }

    /// Runs it to its end, in a cluster of its own, and checks everything; how long the run took
    /// after the fault.
    async fn run(self, etcd: &Etcd, postgres: &Postgres) -> Duration {
        let settings = "rebalance_after_ms = 600000\n";
        let cluster = match self.ledger {
            On::Wire => Cluster::start(etcd, postgres, settings).await,
            On::Kit => Cluster::on_kit(etcd, postgres, settings).await,
        };
        let mut owner = cluster.orchestrator(&[("CALLBOARD_CRASH_POINT", &self.armed())]);
        let fails = || (!owner.runs()).then_some(());
        let what = format!("{self:?} fires");
        let is_claim = self.point.starts_with("claim.");
        if is_claim {
            within(SOON, &what, fails).await;
        } else {
            cluster.settled(1).await;
        }
        let other = cluster.orchestrator(&[]);
        let live = cluster.discovery.live();
        within(SOON, "the other one is there", || {
            live.borrow().instances.values().any(|one| one.pid == other.pid).then_some(())
        })
        .await;
        let gateway = cluster.gateway().await;
        cluster.offers_ledger(&gateway).await;
        let mut request = cluster.request(&gateway, self.tool, WORK);
        if self.point.ends_with("_fold") {
            // A session that may be there is looked for before its first event.
            request = request.header("idempotency-key", "once");
        }
        let ends = async {
            let mut events = Events::of(request).await;
            events.result().await
        };
        let fired = async {
            within(SOON, &what, fails).await;
            if self.act != Act::Kill {
                assert!(owner.is_stopped(), "{self:?}");
            }
            if self.act == Act::Stop {
                let has_lost = || (cluster.owned_by(other.pid) == 256).then_some(());
                within(SOON, "the other one owns everything", has_lost).await;
                owner.signal(Signal::CONT);
            }
            Instant::now()
        };
        let (run, fired) = tokio::join!(tokio::time::timeout(SOON, ends), fired);
        let took = fired.elapsed();
        match self.act {
            Act::Kill => assert_eq!(owner.ended().await, None, "{self:?}: a signal ended it"),
            Act::Stop => {}
            Act::StopLong => owner.signal(Signal::CONT),
        }
        if self.act != Act::Kill {
            // With a lease of its own again it has seen that it owns nothing. What it was about to
            // send it has sent, and was refused, or given up, if it saw that first.
            within(SOON, "it takes part again", || {
                live.borrow().instances.values().any(|one| one.pid == owner.pid).then_some(())
            })
            .await;
        }
        let run = run.unwrap_or_else(|_| panic!("{self:?}: the run does not end"));
        assert_eq!(run["tool_calls"][0]["tool"], self.tool, "{self:?}");
        check(&cluster, &[run]).await;
        took
    }
}

/// Runs scenarios, some at the same time; how long each took after its fault, those left out that
/// failed.
async fn run_all(scenarios: Vec<Scenario>) -> Vec<(Act, Duration)> {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let runs = stream::iter(scenarios).map(|scenario| {
        let run = scenario.run(&etcd, postgres);
        // The hook has told of a panic already, and the others are worth their figures.
        async move { Some((scenario.act, AssertUnwindSafe(run).catch_unwind().await.ok()?)) }
    });
    runs.buffer_unordered(AT_ONCE).filter_map(async |took| took).collect().await
}

/// The time within which so many of a hundred runs ended.
fn quantile(took: &mut [Duration], percent: usize) -> Duration {
    took.sort_unstable();
    let at = took.len() * percent / 100;
    took.get(at.min(took.len().saturating_sub(1))).copied().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_made_twice_wherever_its_owner_dies_or_is_paused() {
    let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    // `CRASH_POINT=NAME` looks at one alone.
    let only = std::env::var("CRASH_POINT").ok();
    let mut scenarios = Vec::new();
    for point in POINTS.iter().filter(|point| only.as_ref().is_none_or(|only| only == *point)) {
        for act in [Act::Kill, if random.bool() { Act::Stop } else { Act::StopLong }] {
            for tool in LEDGER_TOOLS {
                scenarios.push(Scenario::draw(point, act, tool, &mut random));
            }
        }
    }
    // With a service on the kit the points around its calls are enough.
    let of_calls = |one: &&Scenario| one.point.starts_with("attempt.") && one.tool != "ledger_read";
    let on_kit: Vec<Scenario> = scenarios.iter().filter(of_calls).copied().collect();
    scenarios.extend(on_kit.into_iter().map(|one| Scenario { ledger: On::Kit, ..one }));
    let count = scenarios.len();
    let took = run_all(scenarios).await;
    assert_eq!(took.len(), count, "scenarios that hold; the words of the others are above");
    let killed = took.iter().filter(|(act, _)| *act == Act::Kill);
    let mut killed: Vec<Duration> = killed.map(|(_, took)| *took).collect();
    let (middle, most) = (quantile(&mut killed, 50), quantile(&mut killed, 95));
    println!(
        "{count} scenarios; after SIGKILL half of the runs ended within {middle:?}, 95 % within \
         {most:?}, with a lease of {LEASE:?}"
    );
}
