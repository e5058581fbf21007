//! Rollbacks over real services: who is asked, with what, and what becomes of the answer.

use callboard_proto::reason;
use callboard_proto::tool::rollback_response::Result as Answer;

use super::*;
use crate::call::testing::*;
use crate::run::call::Attempt;
use crate::run::event::{AttemptStarted, CallPlanned, CallSettled, WantedCall};

/// Longest that a service is asked here.
const UNTIL: Duration = Duration::from_millis(600);

/// A call that went to the instance `a`.
async fn made(world: &World, token: &str) -> Call {
    let planned = world.runnable("write", "{}").await.planned;
    call(planned, token)
}

fn call(planned: CallPlanned, token: &str) -> Call {
    let started = AttemptStarted {
        call_id: CALL.into(),
        attempt: 1,
        instance: "a".to_owned(),
        incarnation: "incarnation-of-a".to_owned(),
        ..AttemptStarted::default()
    };
    let settled = CallSettled { undo_token: token.to_owned(), ..CallSettled::default() };
    Call {
        wanted: WantedCall { call_id: CALL.into(), ..WantedCall::default() },
        planned: Some(planned),
        judged: None,
        asked: None,
        decided: None,
        attempts: vec![Attempt { started, ended: None }],
        settled: Some(settled),
        chosen: None,
        undone: None,
        repeated: None,
        planned_at_ms: 0,
    }
}

async fn undo(world: &World, call: &Call, aim: Aim<'_>) -> (UndoStatus, String) {
    try_undo(world, call, aim).await.unwrap()
}

async fn try_undo(
    world: &World,
    call: &Call,
    aim: Aim<'_>,
) -> Result<(UndoStatus, String), Abandoned> {
    let until = Instant::now() + UNTIL;
    world.path.undo(Undo { call, aim, until }, &context()).await
}

fn said(status: UndoStatus, words: &str) -> (UndoStatus, String) {
    (status, words.to_owned())
}

fn answers() -> Script {
    Arc::new(|_, request| vec![output(request, "done")])
}

/// The tools, of which the one that writes can be undone.
fn reversible() -> Vec<callboard_proto::tool::ToolDescriptor> {
    let mut tools = tools();
    for tool in &mut tools {
        tool.reversible = tool.name == "write";
    }
    tools
}

#[tokio::test]
async fn what_a_service_says_is_what_comes_of_it() {
    let world = World::new(Setting::default());
    let service = world.serve("a", reversible(), answers()).await;
    let call = made(&world, "token").await;
    for (answer, status) in [
        (Answer::Undone("words".to_owned()), UndoStatus::Undone),
        (Answer::Conflict("words".to_owned()), UndoStatus::Conflict),
        (Answer::NotReversible("words".to_owned()), UndoStatus::NotReversible),
    ] {
        service.set_way_back(move |_| Ok(answer.clone()));
        assert_eq!(undo(&world, &call, Aim::Do { name: "n" }).await, said(status, "words"));
    }
    let after = ["x".into(), "y".into()];
    let looked = undo(&world, &call, Aim::Look { after: &after }).await;
    assert_eq!(looked, said(UndoStatus::NotReversible, "words"));
    let asked = service.taken_back();
    let (done, looked) = (&asked[0], &asked[3]);
    assert_eq!((done.dry_run, done.rollback_id.as_str()), (false, "n"));
    assert_eq!((&*done.undo_token, done.assumed_undone.len()), ("token", 0));
    assert_eq!(done.mode, i32::from(RollbackMode::Strict));
    let sent = done.call.clone().unwrap();
    assert_eq!((&*sent.call_id, &*sent.tool), (CALL, "write"));
    assert_eq!((&*sent.incarnation, sent.epoch.unwrap().revision), ("incarnation-of-a", 42));
    assert!(looked.dry_run && looked.rollback_id.is_empty());
    assert_eq!(looked.assumed_undone, ["x", "y"]);
}

#[tokio::test]
async fn what_passes_is_tried_again_under_the_same_name() {
    let world = World::new(Setting::default());
    let service = world.serve("a", reversible(), answers()).await;
    let call = made(&world, "token").await;
    service.set_way_back(|nth| match nth {
        0 => Err(Status::unavailable("not now")),
        1 => Err(Status::aborted("another one is at it")),
        _ => Ok(Answer::Undone("restored".to_owned())),
    });
    let ended = undo(&world, &call, Aim::Do { name: "n" }).await;
    assert_eq!(ended, said(UndoStatus::Undone, "restored"));
    assert!(service.taken_back().iter().all(|asked| asked.rollback_id == "n"));
    assert_eq!(service.taken_back().len(), 3);
    service.set_way_back(|_| Err(Status::unavailable("not now")));
    let why = "its service did not answer; ask again to find out what it did";
    assert_eq!(undo(&world, &call, Aim::Do { name: "n" }).await, said(UndoStatus::Failed, why));
}

#[tokio::test]
async fn a_refusal_ends_it() {
    let world = World::new(Setting::default());
    let service = world.serve("a", reversible(), answers()).await;
    let call = made(&world, "token").await;
    let takes_nothing = "its service takes nothing back";
    let ended = undo(&world, &call, Aim::Do { name: "n" }).await;
    assert_eq!(ended, said(UndoStatus::NotReversible, takes_nothing));
    let Act::Fail(stale) = refusal(Code::FailedPrecondition, reason::STALE_OWNER) else {
        unreachable!()
    };
    service.set_way_back(move |_| Err(stale.clone()));
    let ended = try_undo(&world, &call, Aim::Do { name: "n" }).await;
    assert_eq!(ended, Err(Abandoned::Fenced));
    service.set_way_back(|_| Err(Status::invalid_argument("no such workspace")));
    let (status, _) = undo(&world, &call, Aim::Do { name: "n" }).await;
    assert_eq!((status, service.taken_back().len()), (UndoStatus::Failed, 3));
}

#[tokio::test]
async fn only_who_holds_what_the_call_left_is_asked() {
    let world = World::new(Setting::default());
    let service = world.serve("b", reversible(), answers()).await;
    service.set_way_back(|_| Ok(Answer::Undone("restored".to_owned())));
    let mut call = made(&world, "token").await;
    // Kept in memory only, by an instance that is gone.
    let gone = "the instance that made the call is gone, and kept no record";
    let aim = Aim::Do { name: "n" };
    assert_eq!(undo(&world, &call, aim).await, said(UndoStatus::NotReversible, gone));
    call.attempts[0].started.store = "disk".to_owned();
    let away = "its service is away; nothing was done";
    assert_eq!(undo(&world, &call, aim).await, said(UndoStatus::Failed, away));
    assert_eq!(service.taken_back().len(), 0);
    call.attempts[0].started.incarnation = "incarnation-of-b".to_owned();
    assert_eq!(undo(&world, &call, aim).await, said(UndoStatus::Undone, "restored"));
}

#[tokio::test]
async fn a_call_without_a_token_left_nothing_where_its_service_keeps_records() {
    let world = World::new(Setting::default());
    let service = world.serve("a", reversible(), answers()).await;
    let mut call = made(&world, "").await;
    let aim = Aim::Look { after: &[] };
    let ended = undo(&world, &call, aim).await;
    assert_eq!(ended.0, UndoStatus::NotReversible, "who keeps nothing cannot say so");
    call.attempts[0].started.store = "disk".to_owned();
    assert_eq!(undo(&world, &call, aim).await, said(UndoStatus::Undone, "It changed nothing."));
    assert_eq!(service.taken_back().len(), 1);
    call.settled.as_mut().unwrap().status = CallStatus::OutcomeUnknown;
    assert_eq!(undo(&world, &call, aim).await.0, UndoStatus::NotReversible);
    assert_eq!(service.taken_back().len(), 2, "of a lost answer only the service knows");
}
