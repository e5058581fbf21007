use super::*;
use crate::catalog::tool::sample;

fn limits(concurrency: u32) -> Limits {
    let config = Config { concurrency, concurrency_changing: 1, ..Config::default() };
    Limits::new(&config).unwrap()
}

fn changing() -> Descriptor {
    let mut tool = sample::descriptor("files", "write");
    tool.annotations.read_only = false;
    tool
}

#[tokio::test(start_paused = true)]
async fn a_call_over_the_limit_waits_for_a_place_and_gets_it() {
    let limits = Arc::new(limits(2));
    let tool = sample::descriptor("files", "look");
    let deadline = Instant::now() + Duration::from_secs(5);
    let first = limits.enter("blue", &tool, deadline).await.unwrap();
    let _second = limits.enter("blue", &tool, deadline).await.unwrap();
    let (waiting, asked) = (Arc::clone(&limits), tool.clone());
    let third = tokio::spawn(async move { waiting.enter("blue", &asked, deadline).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!third.is_finished());
    drop(first);
    assert!(third.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_place_in_time_is_told_when_to_come_back() {
    let limits = limits(1);
    let tool = sample::descriptor("files", "look");
    let start = Instant::now();
    let _held = limits.enter("blue", &tool, start).await.unwrap();
    let deadline = start + Duration::from_millis(300);
    let failure = limits.enter("blue", &tool, deadline).await.unwrap_err();
    assert_eq!(failure.kind, Kind::RateLimited);
    assert_eq!(failure.retry_after, Some(RETRY_AFTER));
    assert_eq!(Instant::now(), deadline);
    assert!(limits.enter("red", &tool, start).await.is_ok(), "another team has its own places");
    let other = sample::descriptor("files", "other");
    assert!(limits.enter("blue", &other, start).await.is_ok(), "another tool, too");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_holds_no_place() {
    let limits = Arc::new(limits(1));
    let tool = sample::descriptor("files", "look");
    let deadline = Instant::now() + Duration::from_secs(5);
    let first = limits.enter("blue", &tool, deadline).await.unwrap();
    let (waiting, asked) = (Arc::clone(&limits), tool.clone());
    let second = tokio::spawn(async move { waiting.enter("blue", &asked, deadline).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    drop(first);
    assert!(limits.enter("blue", &tool, Instant::now()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_team_waits_for_one_round_of_the_others() {
    let config = Config { concurrency: 2, concurrency_total: 2, ..Config::default() };
    let limits = Arc::new(Limits::new(&config).unwrap());
    let tool = sample::descriptor("files", "look");
    let deadline = Instant::now() + Duration::from_mins(10);
    let (ended, mut order) = tokio::sync::mpsc::channel(42);
    // Forty calls of a second each by one team, then two of another.
    for (n, team) in (0..42).map(|n| (n, if n < 40 { "loud" } else { "calm" })) {
        let (limits, tool, ended) = (Arc::clone(&limits), tool.clone(), ended.clone());
        tokio::spawn(async move {
            let _place = limits.enter(team, &tool, deadline).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            ended.send((n, Instant::now())).await.unwrap();
        });
    }
    drop(ended);
    let start = Instant::now();
    let mut calm = Vec::new();
    while let Some((n, at)) = order.recv().await {
        if n >= 40 {
            calm.push((at - start).as_secs());
        }
    }
    // The two that were there first end after a second; then it is one of each.
    assert_eq!(calm, [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn tools_that_change_things_have_fewer_places() {
    let limits = limits(8);
    let now = Instant::now();
    let _held = limits.enter("blue", &changing(), now).await.unwrap();
    assert!(limits.enter("blue", &changing(), now).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_kept_per_team_and_tool_and_says_when_to_come_back() {
    tokio::time::advance(Duration::from_mins(2)).await;
    let rates = [("look*".to_owned(), 2), ("lookup".to_owned(), 0)].into();
    let limits = Limits::new(&Config { rates, ..Config::default() }).unwrap();
    let tool = sample::descriptor("files", "look");
    let now = Instant::now();
    for _ in 0..2 {
        drop(limits.enter("blue", &tool, now).await.unwrap());
    }
    let failure = limits.enter("blue", &tool, now + Duration::from_secs(20)).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.retry_after),
        (Kind::RateLimited, Some(Duration::from_secs(30)))
    );
    assert_eq!(failure.message, "the team may make 2 calls of `look` a minute, and has made them");
    assert_eq!(Instant::now(), now, "nobody waits in vain");
    assert!(limits.enter("red", &tool, now).await.is_ok());
    let free = sample::descriptor("files", "lookup");
    for _ in 0..10 {
        drop(limits.enter("blue", &free, now).await.unwrap());
    }
    // Within the deadline it is waited for.
    drop(limits.enter("blue", &tool, now + Duration::from_secs(40)).await.unwrap());
    assert_eq!(Instant::now(), now + Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_tool_names_its_own_rate_and_the_deployment_another() {
    let mut tool = sample::descriptor("search", "look");
    tool.calls_per_minute = Some(1);
    let now = Instant::now();
    let own = Limits::new(&Config::default()).unwrap();
    drop(own.enter("blue", &tool, now).await.unwrap());
    let failure = own.enter("blue", &tool, now).await.unwrap_err();
    assert!(failure.message.contains("1 call of `look` a minute"), "{}", failure.message);
    let rates = [("look".to_owned(), 3)].into();
    let set = Limits::new(&Config { rates, ..Config::default() }).unwrap();
    for _ in 0..3 {
        drop(set.enter("blue", &tool, now).await.unwrap());
    }
    assert!(set.enter("blue", &tool, now).await.is_err());
}
