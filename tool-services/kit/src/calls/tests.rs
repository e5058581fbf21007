use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use wire::{FailureKind, invoke_response::Piece};

use super::*;
use crate::{
    Rollback, UndoMode,
    fence::Epoch,
    served::Typed,
    specimens::{Record, Specimen},
};

const INCARNATION: &str = "this";
const LIMIT: Duration = Duration::from_secs(10);

struct Rig {
    calls: Calls,
    record: Arc<Record>,
}

impl Rig {
    fn new(capacity: usize) -> Self {
        Self { calls: Calls::new(INCARNATION.to_owned(), capacity, None), record: Record::new() }
    }

    fn wanted(&self, call_id: &str, tool: &'static str, act: &str) -> Wanted {
        let arguments = json!({"act": act}).to_string();
        let mut digest = [0; 32];
        digest[..arguments.len().min(32)]
            .copy_from_slice(arguments.as_bytes().get(..32).unwrap_or(arguments.as_bytes()));
        let facts =
            Facts { id: call_id.to_owned(), attempt: 1, tool: tool.to_owned(), ..Facts::default() };
        let start = Start {
            tool: Arc::new(Typed::new(Specimen::new(tool, &self.record))),
            arguments: arguments.into(),
            facts,
            deadline: Instant::now() + LIMIT,
        };
        Wanted {
            owner: owner(10),
            incarnation: INCARNATION.to_owned(),
            key: key(call_id),
            digest,
            mode: Mode::Start,
            start: Some(Box::new(start)),
        }
    }

    fn start(&self, call_id: &str, tool: &'static str, act: &str) -> Result<Subscription, Refusal> {
        self.invoke(self.wanted(call_id, tool, act))
    }

    /// Without a store nothing has to be waited for.
    fn invoke(&self, wanted: Wanted) -> Result<Subscription, Refusal> {
        self.calls.invoke(wanted).now_or_never().unwrap()
    }

    fn cancel(&self, owner: &Owner, call_id: &str) -> Result<bool, Refusal> {
        self.calls.cancel(owner, &key(call_id)).now_or_never().unwrap()
    }

    fn undo(&self, owner: Owner, call_id: &str) -> impl Future<Output = Result<Rollback, Undoing>> {
        let wanted = WantedBack {
            owner,
            incarnation: INCARNATION.to_owned(),
            key: key(call_id),
            tool: Arc::new(Typed::new(Specimen::new("change", &self.record))),
            call: Call::new(Facts::default(), Instant::now() + LIMIT),
            token: "wait".to_owned(),
            id: String::new(),
            dry_run: false,
            mode: UndoMode::Strict,
            assumed: Vec::new(),
        };
        let calls = self.calls.clone();
        async move { calls.undo(wanted).await }
    }

    fn attach(&self, call_id: &str) -> Result<Subscription, Refusal> {
        let wanted = self.wanted(call_id, "look", "answer");
        self.invoke(Wanted { mode: Mode::Attach { has_arguments: false }, ..wanted })
    }
}

fn owner(revision: u64) -> Owner {
    let epoch = Epoch { generation: 1, revision };
    Owner { deployment: "d".to_owned(), partition: 3, epoch }
}

fn key(call_id: &str) -> Key {
    Key { team: "t".to_owned(), session: "s".to_owned(), call_id: call_id.to_owned() }
}

async fn end(subscription: Subscription) -> wire::Outcome {
    let last = subscription.into_stream().map(Result::unwrap).collect::<Vec<_>>().await.pop();
    match last.unwrap().piece {
        Some(Piece::Outcome(outcome)) => outcome,
        other => panic!("{other:?}"),
    }
}

async fn failure(subscription: Subscription) -> (FailureKind, String) {
    match end(subscription).await.result {
        Some(wire::outcome::Result::Failure(failure)) => (failure.kind(), failure.message),
        other => panic!("{other:?}"),
    }
}

async fn content(subscription: Subscription) -> String {
    match end(subscription).await.result {
        Some(wire::outcome::Result::Output(output)) => output.content,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_answered_and_never_run() {
    let rig = Rig::new(4);
    let first = end(rig.start("a", "change", "answer").unwrap()).await;
    let again = end(rig.start("a", "change", "answer").unwrap()).await;
    let attached = end(rig.attach("a").unwrap()).await;
    assert_eq!((&again, &attached), (&first, &first));
    assert_eq!(rig.record.started(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn duplicates_at_the_same_time_share_one_run() {
    let rig = Rig::new(4);
    let subscriptions: Vec<_> =
        (0..20).map(|_| rig.start("a", "change", "wait").unwrap()).collect();
    rig.record.begun(1).await;
    let attached = rig.attach("a").unwrap();
    rig.record.gate.add_permits(20);
    for subscription in subscriptions {
        assert_eq!(content(subscription).await, "done");
    }
    assert_eq!(content(attached).await, "done");
    assert_eq!(rig.record.started(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn other_arguments_under_the_same_id_are_refused() {
    let rig = Rig::new(4);
    content(rig.start("a", "change", "answer").unwrap()).await;
    assert_eq!(rig.start("a", "change", "wait").unwrap_err(), Refusal::OtherArguments);
    let running = rig.start("b", "change", "wait").unwrap();
    assert_eq!(rig.start("b", "change", "answer").unwrap_err(), Refusal::OtherArguments);
    rig.record.gate.add_permits(1);
    content(running).await;
    assert_eq!(rig.record.started(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_attach_to_an_unknown_call_starts_nothing_and_raises_the_floor() {
    let rig = Rig::new(4);
    let mut wanted = rig.wanted("a", "change", "answer");
    (wanted.mode, wanted.owner) = (Mode::Attach { has_arguments: true }, owner(11));
    assert_eq!(rig.invoke(wanted).unwrap_err(), Refusal::UnknownCall);
    let seen = Epoch { generation: 1, revision: 11 };
    let stale = Refusal::Fenced(Fenced::Stale { seen });
    assert_eq!(rig.start("a", "change", "answer").unwrap_err(), stale);
    assert_eq!(rig.record.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_stale_owner_neither_starts_nor_cancels_nor_takes_back() {
    let rig = Rig::new(4);
    let running = rig.start("a", "change", "wait").unwrap();
    rig.record.begun(1).await;
    let seen = Epoch { generation: 1, revision: 12 };
    assert_eq!(rig.cancel(&owner(12), "unknown"), Ok(false));
    let stale = Refusal::Fenced(Fenced::Stale { seen });
    assert_eq!(rig.cancel(&owner(10), "a"), Err(stale));
    let undo = rig.undo(owner(11), "b").await.unwrap_err();
    assert_eq!(undo, Undoing::Refused(Refusal::Fenced(Fenced::Stale { seen })));
    rig.record.gate.add_permits(1);
    assert_eq!(content(running).await, "done");
}

#[tokio::test(start_paused = true)]
async fn a_call_for_another_incarnation_is_refused_and_its_epoch_believed() {
    let rig = Rig::new(4);
    let mut wanted = rig.wanted("a", "look", "answer");
    (wanted.incarnation, wanted.owner) = ("another".to_owned(), owner(11));
    assert_eq!(rig.invoke(wanted).unwrap_err(), Refusal::OtherIncarnation);
    let refusal = rig.start("a", "look", "answer").unwrap_err();
    assert!(matches!(refusal, Refusal::Fenced(Fenced::Stale { .. })), "{refusal:?}");
    assert_eq!(rig.record.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn losing_every_stream_ends_nothing() {
    let rig = Rig::new(4);
    drop(rig.start("a", "change", "wait").unwrap());
    rig.record.begun(1).await;
    drop(rig.attach("a").unwrap());
    rig.record.gate.add_permits(1);
    assert_eq!(content(rig.attach("a").unwrap()).await, "done");
}

#[tokio::test(start_paused = true)]
async fn the_calls_own_timer_ends_it() {
    let rig = Rig::new(4);
    let began = Instant::now();
    let (kind, message) = failure(rig.start("a", "look", "wait").unwrap()).await;
    assert_eq!(kind, FailureKind::Timeout);
    assert_eq!(message, "The call took too long and was stopped; it changes nothing.");
    let over = began.elapsed().checked_sub(LIMIT).unwrap();
    assert!(over <= Duration::from_millis(100), "{over:?}");
    assert_eq!(rig.record.open(), 0);
    let (_, message) = failure(rig.start("b", "change", "wait").unwrap()).await;
    assert!(message.ends_with("it may have been done in part: check before repeating it."));
    assert_eq!(failure(rig.attach("b").unwrap()).await.0, FailureKind::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_notices_the_end_says_what_was_done() {
    let rig = Rig::new(4);
    let (kind, message) = failure(rig.start("a", "change", "wait_politely").unwrap()).await;
    assert_eq!((kind, message.as_str()), (FailureKind::Timeout, "Stopped after 3 of 7."));
    let running = rig.start("b", "change", "wait_politely").unwrap();
    rig.record.begun(2).await;
    assert_eq!(rig.cancel(&owner(10), "b"), Ok(true));
    let (kind, message) = failure(running).await;
    assert_eq!((kind, message.as_str()), (FailureKind::Cancelled, "Stopped after 3 of 7."));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_tool_that_does_not_listen() {
    let rig = Rig::new(4);
    let running = rig.start("a", "change", "wait").unwrap();
    rig.record.begun(1).await;
    let began = Instant::now();
    assert_eq!(rig.cancel(&owner(10), "a"), Ok(true));
    let (kind, _) = failure(running).await;
    assert_eq!(kind, FailureKind::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(rig.record.open(), 0);
    assert_eq!(rig.cancel(&owner(10), "a"), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_internal_failure_that_keeps_its_words() {
    let rig = Rig::new(4);
    let (kind, message) = failure(rig.start("a", "change", "panic").unwrap()).await;
    assert_eq!(kind, FailureKind::Internal);
    assert!(!message.contains("as asked"), "{message}");
    assert_eq!(content(rig.start("b", "change", "answer").unwrap()).await, "done");
    assert_eq!(failure(rig.attach("a").unwrap()).await.0, FailureKind::Internal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_does_not_keep_its_caller() {
    let rig = Rig::new(4);
    let mut wanted = rig.wanted("a", "look", "block");
    wanted.start.as_mut().unwrap().deadline = Instant::now() + Duration::from_millis(100);
    let (kind, _) = failure(rig.invoke(wanted).unwrap()).await;
    assert_eq!((kind, rig.record.open()), (FailureKind::Timeout, 1));
}

#[tokio::test(start_paused = true)]
async fn what_was_not_started_may_be_sent_again() {
    let rig = Rig::new(4);
    let (kind, message) = failure(rig.start("a", "refuse", "answer").unwrap()).await;
    assert_eq!((kind, message.as_str()), (FailureKind::Blocked, "Never."));
    assert_eq!(
        failure(rig.start("a", "ask", "answer").unwrap()).await.0,
        FailureKind::PreviewChanged
    );
    assert_eq!(
        failure(rig.start("a", "look", "dance").unwrap()).await.0,
        FailureKind::InvalidArguments
    );
    assert_eq!(rig.attach("a").unwrap_err(), Refusal::UnknownCall);
    assert_eq!(rig.record.started(), Vec::<String>::new());
    assert_eq!(content(rig.start("a", "look", "answer").unwrap()).await, "done");
}

#[tokio::test(start_paused = true)]
async fn a_full_instance_refuses_before_it_starts() {
    let rig = Rig::new(2);
    let first = rig.start("a", "look", "wait").unwrap();
    let second = rig.start("b", "look", "wait").unwrap();
    assert_eq!(rig.start("c", "look", "answer").unwrap_err(), Refusal::Full);
    assert!(rig.attach("a").is_ok());
    rig.record.gate.add_permits(2);
    content(first).await;
    content(second).await;
    assert_eq!(content(rig.start("c", "look", "answer").unwrap()).await, "done");
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_calls_at_work_and_takes_no_new_one() {
    let rig = Rig::new(4);
    let running = rig.start("a", "change", "wait").unwrap();
    rig.record.begun(1).await;
    let calls = rig.calls.clone();
    let drain = tokio::spawn(async move { calls.drain(LIMIT / 2).await });
    tokio::task::yield_now().await;
    assert_eq!(rig.start("b", "look", "answer").unwrap_err(), Refusal::Draining);
    let refused = Err(Undoing::Refused(Refusal::Draining));
    assert_eq!(rig.undo(owner(10), "b").await, refused);
    let attached = rig.attach("a").unwrap();
    rig.record.gate.add_permits(1);
    drain.await.unwrap();
    assert_eq!((content(running).await, content(attached).await), ("done".into(), "done".into()));
}

#[tokio::test(start_paused = true)]
async fn a_drain_stops_what_does_not_end_in_time() {
    let rig = Rig::new(4);
    let deaf = rig.start("a", "look", "wait").unwrap();
    let polite = rig.start("b", "change", "wait_politely").unwrap();
    rig.record.begun(2).await;
    rig.calls.drain(Duration::from_secs(1)).await;
    assert_eq!(rig.record.open(), 0);
    let (kind, message) = failure(deaf).await;
    assert_eq!(kind, FailureKind::Unavailable);
    assert_eq!(message, "The service shut down during the call; it changes nothing.");
    assert_eq!(failure(polite).await, (FailureKind::Unavailable, "Stopped after 3 of 7.".into()));
}

#[tokio::test(start_paused = true)]
async fn one_rollback_at_a_time_and_none_of_a_call_at_work() {
    let rig = Rig::new(4);
    let refused = Err(Undoing::Refused(Refusal::Busy));
    let mut first = Box::pin(rig.undo(owner(10), "a"));
    assert_eq!(first.as_mut().now_or_never(), None);
    assert_eq!(rig.undo(owner(10), "a").await, refused);
    rig.record.gate.add_permits(1);
    assert_eq!(first.await, Ok(Rollback::Undone("waited".to_owned())));
    let _running = rig.start("b", "change", "wait").unwrap();
    assert_eq!(rig.undo(owner(10), "b").await, refused);
    rig.record.gate.add_permits(2);
    assert_eq!(rig.undo(owner(10), "a").await, Ok(Rollback::Undone("waited".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn glimpses_come_in_order_before_the_outcome_and_chunks_keep_their_size() {
    let rig = Rig::new(4);
    let text = format!("a{}", "数".repeat(100_000));
    let mut wanted = rig.wanted("a", "look", "tell");
    wanted.start.as_mut().unwrap().arguments =
        json!({"act": "tell", "text": text}).to_string().into();
    let stream = rig.invoke(wanted).unwrap().into_stream();
    let pieces: Vec<_> = stream.map(|piece| piece.unwrap().piece.unwrap()).collect().await;
    let Piece::Progress(first) = &pieces[0] else { panic!() };
    assert_eq!((first.message.as_str(), first.fraction), ("begun", None));
    let Piece::Progress(second) = &pieces[1] else { panic!() };
    assert_eq!(second.fraction, Some(0.5));
    let chunks: Vec<&String> = pieces[2..pieces.len() - 1]
        .iter()
        .map(|piece| match piece {
            Piece::Chunk(chunk) => chunk,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(chunks.iter().map(|chunk| chunk.len()).collect::<Vec<_>>(), [262_144, 37_857]);
    assert_eq!(chunks.into_iter().cloned().collect::<String>(), text);
    assert!(matches!(pieces.last(), Some(Piece::Outcome(_))));
}

#[tokio::test]
async fn a_start_that_meets_a_bare_question_is_not_confused_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Store::open(&crate::StoreSettings::new(folder.path()), INCARNATION).unwrap();
    let rig =
        Rig { calls: Calls::new(INCARNATION.to_owned(), 4, Some(opened)), record: Record::new() };
    // The owner is known by then, so that the question comes first.
    assert_eq!(rig.calls.cancel(&owner(10), &key("a")).await, Ok(false));
    let bare = Wanted {
        digest: [0; 32],
        mode: Mode::Attach { has_arguments: false },
        ..rig.wanted("a", "change", "answer")
    };
    let start = rig.wanted("a", "change", "answer");
    let (asked, started) = tokio::join!(rig.calls.invoke(bare), rig.calls.invoke(start));
    assert_eq!(asked.unwrap_err(), Refusal::UnknownCall);
    assert_eq!(content(started.unwrap()).await, "done");
    let other = rig.wanted("a", "change", "wait");
    assert_eq!(rig.calls.invoke(other).await.unwrap_err(), Refusal::OtherArguments);
    assert_eq!(rig.record.started(), ["a"]);
}
