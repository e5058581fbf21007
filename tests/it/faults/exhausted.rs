//! Processes that have no file descriptor left: they say so, wait instead of spinning, and go on when
//! there are some again.

use std::time::Duration;

use callboard_discovery::Address;
use callboard_tests::{Cluster, Etcd, LEDGER_TOOLS, Member, Postgres, within};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tokio::net::TcpStream;

use super::{SETTINGS, SOON, services};
use crate::failover::{begin, check, results};

/// Descriptors that a process still gets.
const FREE: usize = 4;
/// Connections that are opened to it: more than it can accept.
const MANY: usize = 64;
/// For how long it is watched while it has none.
const WATCHED: Duration = Duration::from_secs(2);

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Lets a process open so many files, from now on.
fn limit_files(pid: u32, files: usize) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    let files = Some(u64::try_from(files).unwrap());
    prlimit(pid, Resource::Nofile, Rlimit { current: files, maximum: files }).unwrap();
}

/// Processor time that a process has used, in hundredths of a second (`getconf CLK_TCK`).
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // After the name: state is the first, user and system time are the 12th and 13th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Takes all descriptors of a process that listens there, watches it, and gives back those few that
/// it still got.
async fn exhaust(member: &Member, address: &str) {
    let before = open_files(member.pid);
    limit_files(member.pid, before + FREE);
    let mut held = Vec::new();
    for _ in 0..MANY {
        // The kernel accepts them for the process.
        held.push(TcpStream::connect(address).await.unwrap());
    }
    within(SOON, "it has none left", || (open_files(member.pid) >= before + FREE).then_some(()))
        .await;
    let used = ticks(member.pid);
    tokio::time::sleep(WATCHED).await;
    let used = ticks(member.pid) - used;
    assert!(used < 100, "it spins: {used} of 200 hundredths of a second");
    assert!(member.runs());
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(super) async fn a_process_without_file_descriptors_waits_and_goes_on() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::of_processes(&etcd, postgres, SETTINGS).await;
    let owner = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let ledger = cluster.ledger_process(services::LEDGER, "one");
    services::are_there(&cluster, &[&ledger]).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let live = cluster.discovery.live();
    let address_of = |member: &Member| {
        let live = live.borrow();
        match &live.instances.values().find(|one| one.pid == member.pid).unwrap().address {
            Address::Tcp(address) => address.clone(),
            other @ Address::Unix(_) => panic!("{other}"),
        }
    };
    let mut runs = Vec::new();
    let own = gateway.url.trim_start_matches("http://").to_owned();
    for (member, address) in
        [(&gateway, own), (&owner, address_of(&owner)), (&ledger, address_of(&ledger))]
    {
        exhaust(member, &address).await;
        for tool in LEDGER_TOOLS {
            let mut streams = begin(&cluster, &[&gateway], (2, tool, Duration::ZERO)).await;
            runs.extend(results(&mut streams).await);
        }
    }
    check(&cluster, &runs).await;
    assert!(cluster.said("orchestrator").contains("no connection accepted"));
}
