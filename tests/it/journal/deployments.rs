//! Two deployments that were given one database: the second one is refused, and says what to do.

use std::time::Duration;

use callboard_orchestrator::journal::{
    JournalError,
    postgres::{self, PostgresJournal},
};
use callboard_tests::{Cluster, Etcd, Postgres, within};
use rustix::process::Signal;

use super::place::{Backend, on_both};
use crate::failover::{begin, check, results};

#[tokio::test]
async fn a_journal_belongs_to_the_first_deployment_that_asks() {
    let backend = Backend::postgres().await;
    let opened = [backend.open().await.unwrap(), backend.open().await.unwrap()];
    let asked = tokio::join!(opened[0].belong("one"), opened[1].belong("two"));
    let (owner, other) = if asked.0.is_ok() { ("one", "two") } else { ("two", "one") };
    assert!(asked.0.is_ok() != asked.1.is_ok(), "{asked:?}");
    for journal in &opened {
        journal.belong(owner).await.unwrap();
        let refused = journal.belong(other).await.unwrap_err();
        let JournalError::OtherDeployment { found, asked, .. } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!((found.as_str(), asked.as_str()), (owner, other));
    }
    let Backend::Postgres(url) = &backend else { unreachable!() };
    let operator = PostgresJournal::open(postgres::Config::new(url)).await.unwrap();
    assert_eq!(operator.raise_generation(other).await.unwrap(), 2);
    opened[0].belong(other).await.unwrap();
    assert!(opened[0].belong(owner).await.is_err(), "it was given away");
    assert_eq!(opened[0].generation().await.unwrap(), 2);
    assert_eq!(operator.raise_generation(other).await.unwrap(), 3);
    opened[1].belong(other).await.unwrap();
}

#[tokio::test]
async fn a_journal_that_nobody_asked_for_is_anyones() {
    on_both(async |place| {
        place.journal.belong("one").await.unwrap();
        let place = place.again().await;
        place.journal.belong("one").await.unwrap();
        assert_eq!(place.journal.generation().await.unwrap(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn a_second_deployment_on_one_database_is_refused_and_disturbs_nobody() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "rebalance_after_ms = 600000\n").await;
    let owner = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let work = Duration::from_millis(500);
    let mut streams = begin(&cluster, &[&gateway], (4, "ledger_add", work)).await;
    let elsewhere = [("CALLBOARD__DISCOVERY__PREFIX", "/elsewhere")];
    let mut second = cluster.orchestrator(&elsewhere);
    assert_eq!(second.ended().await, Some(1));
    let said = cluster.said("orchestrator");
    let place = format!("postgresql://127.0.0.1:{}/", postgres.port());
    for words in [
        place.as_str(),
        "belongs to another deployment",
        "`orchestrator.journal.url`",
        "`callboard journal raise-generation`",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let mut runs = results(&mut streams).await;
    let mut more = begin(&cluster, &[&gateway], (2, "ledger_add", Duration::ZERO)).await;
    runs.extend(results(&mut more).await);
    check(&cluster, &runs).await;
    assert_eq!(cluster.owned_by(owner.pid), 256, "nothing moved");

    // Its etcd is lost, and a new one takes its place.
    owner.signal(Signal::KILL);
    let config = cluster.config();
    let mut raise =
        cluster.callboard.command(&["--config", &config, "journal", "raise-generation"]);
    let raised = raise.envs(elsewhere).output().await.unwrap();
    assert!(raised.status.success(), "{raised:?}");
    let third = cluster.orchestrator(&elsewhere);
    let claimed = "SELECT count(*) FROM partition WHERE generation = 2";
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    while crate::failover::count(&cluster, claimed).await < 256 {
        assert!(std::time::Instant::now() < deadline, "{}", cluster.said("orchestrator"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(third.runs());
    let mut late = cluster.orchestrator(&[]);
    assert_eq!(late.ended().await, Some(1), "the old one is the other one now");
    within(Duration::from_secs(1), "the new one goes on", || third.runs().then_some(())).await;
}
