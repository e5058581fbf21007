//! Events and appends for the journal's tests: any event at all, and small ones by hand.

use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

use crate::run::event::*;
use crate::run::ids::{CallId, RunId, SessionId};

use super::convert::word::Word;
use super::{Append, Epoch, SessionState};

/// The epoch under which tests append.
pub(super) const EPOCH: Epoch = Epoch { generation: 1, revision: 7 };

/// An append of `events`, numbered from `expected_seq` on, in partition 3.
pub(super) fn append(session: &str, expected_seq: u64, events: Vec<Event>) -> Append {
    let number = |(seq, event)| Recorded {
        seq,
        wall_ms: 1_700_000_000_000 + i64::try_from(seq).unwrap(),
        elapsed_ms: seq * 10,
        trace_context: String::new(),
        event,
    };
    Append {
        session: SessionId::from(session),
        partition: 3,
        epoch: EPOCH,
        append_id: Uuid::now_v7(),
        expected_seq,
        events: (expected_seq..).zip(events).map(number).collect(),
        state: SessionState::Active,
        wake_at_ms: None,
    }
}

/// The first event of a session of `team`.
pub(super) fn opened(team: &str) -> Event {
    Event::SessionOpened(SessionOpened {
        team: team.to_owned(),
        agent: "default".to_owned(),
        title: "a title".to_owned(),
        ..SessionOpened::default()
    })
}

/// An event that says `text`.
pub(super) fn progress(text: &str) -> Event {
    Event::ProgressMissed(ProgressMissed { run: "r".into(), message: text.to_owned() })
}

fn text() -> BoxedStrategy<String> {
    // The empty text, any characters, and one that is long enough to be shared.
    let long = any::<char>().prop_map(|letter| letter.to_string().repeat(300));
    prop_oneof![Just(String::new()), any::<String>(), long].boxed()
}

fn word<W: Word + std::fmt::Debug>() -> BoxedStrategy<W> {
    prop::sample::select(W::ALL).boxed()
}

fn texts() -> BoxedStrategy<Vec<String>> {
    vec(text(), 0..3).boxed()
}

fn run() -> BoxedStrategy<RunId> {
    text().prop_map(RunId::from).boxed()
}

fn call() -> BoxedStrategy<CallId> {
    text().prop_map(CallId::from).boxed()
}

fn limits() -> BoxedStrategy<Limits> {
    any::<(u32, u32, u32, u64, u64)>()
        .prop_map(|it| Limits {
            max_steps: it.0,
            max_calls: it.1,
            max_parallel: it.2,
            max_time_ms: it.3,
            max_tokens: it.4,
        })
        .boxed()
}

/// Any event.
pub(super) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![session_event(), model_event(), judged_event(), attempt_event(), end_event()]
}

/// Any event with what every event carries, at a number of its own.
pub(super) fn recorded() -> impl Strategy<Value = Recorded> {
    (any::<u64>(), any::<i64>(), any::<u64>(), text(), event()).prop_map(|it| Recorded {
        seq: it.0,
        wall_ms: it.1,
        elapsed_ms: it.2,
        trace_context: it.3,
        event: it.4,
    })
}

fn session_event() -> BoxedStrategy<Event> {
    let opened = (text(), word(), text(), text(), text(), texts(), text());
    let opened = opened.prop_map(|it| SessionOpened {
        team: it.0,
        kind: it.1,
        agent: it.2,
        title: it.3,
        key: it.4,
        models: it.5,
        body_digest: it.6,
    });
    let input = prop_oneof![
        text().prop_map(Input::Text),
        (text(), text()).prop_map(|(tool, arguments)| Input::Direct { tool, arguments }),
    ];
    let received = (run(), input, text(), text(), any::<bool>(), texts(), limits(), text());
    let received = received.prop_map(|it| InputReceived {
        run: it.0,
        input: it.1,
        key: it.2,
        body_digest: it.3,
        approver_attached: it.4,
        approve: it.5,
        limits: it.6,
        principal: it.7,
    });
    let started =
        (run(), text(), texts(), limits(), text(), any::<u32>()).prop_map(|it| RunStarted {
            run: it.0,
            agent: it.1,
            models: it.2,
            limits: it.3,
            system_prompt: it.4,
            context_tokens: it.5,
        });
    prop_oneof![
        opened.prop_map(Event::SessionOpened),
        text().prop_map(|owner| Event::OwnerTaken(OwnerTaken { owner })),
        received.prop_map(Event::InputReceived),
        started.prop_map(Event::RunStarted),
    ]
    .boxed()
}

fn model_event() -> BoxedStrategy<Event> {
    let requested = (run(), any::<u32>(), text(), texts(), text(), text(), any::<u32>());
    let requested = requested.prop_map(|it| ModelRequested {
        run: it.0,
        request: it.1,
        model: it.2,
        offered: it.3,
        offered_digest: it.4,
        prompt_digest: it.5,
        tool_tokens: it.6,
    });
    let wanted = (call(), text(), text(), text()).prop_map(|it| WantedCall {
        call_id: it.0,
        model_id: it.1,
        name: it.2,
        arguments: it.3,
    });
    let replied = (
        (run(), any::<u32>(), text(), text(), vec(wanted, 0..3)),
        (any::<u64>(), any::<u64>(), word(), text()),
    );
    let replied = replied.prop_map(|(first, second)| ModelReplied {
        run: first.0,
        request: first.1,
        text: first.2,
        reasoning: first.3,
        calls: first.4,
        input_tokens: second.0,
        output_tokens: second.1,
        finish: second.2,
        model: second.3,
    });
    let failed = (run(), any::<u32>(), text(), text()).prop_map(|it| ModelFailed {
        run: it.0,
        request: it.1,
        kind: it.2,
        message: it.3,
    });
    prop_oneof![
        requested.prop_map(Event::ModelRequested),
        replied.prop_map(Event::ModelReplied),
        failed.prop_map(Event::ModelFailed),
    ]
    .boxed()
}

fn judged_event() -> BoxedStrategy<Event> {
    let planned =
        ((call(), text(), text(), text(), text()), (text(), texts(), word(), any::<u64>()));
    let planned = planned.prop_map(|(first, second)| CallPlanned {
        call_id: first.0,
        tool: first.1,
        service: first.2,
        descriptor_digest: first.3,
        arguments: first.4,
        arguments_digest: second.0,
        repairs: second.1,
        class: second.2,
        timeout_ms: second.3,
    });
    let judged = (call(), word(), text(), text(), texts()).prop_map(|it| CallJudged {
        call_id: it.0,
        verdict: it.1,
        rule: it.2,
        reason: it.3,
        denied_effects: it.4,
    });
    let asked = (call(), text(), text(), text(), any::<i64>()).prop_map(|it| ApprovalAsked {
        call_id: it.0,
        preview: it.1,
        preview_digest: it.2,
        reason: it.3,
        expires_ms: it.4,
    });
    let decided = (call(), any::<bool>(), text(), text(), text(), text());
    let decided = decided.prop_map(|it| ApprovalDecided {
        call_id: it.0,
        approved: it.1,
        by: it.2,
        note: it.3,
        key: it.4,
        body_digest: it.5,
    });
    prop_oneof![
        planned.prop_map(Event::CallPlanned),
        judged.prop_map(Event::CallJudged),
        asked.prop_map(Event::ApprovalAsked),
        decided.prop_map(Event::ApprovalDecided),
    ]
    .boxed()
}

fn attempt_event() -> BoxedStrategy<Event> {
    let started = (call(), any::<u32>(), text(), text(), text(), any::<u64>());
    let started = started.prop_map(|it| AttemptStarted {
        call_id: it.0,
        attempt: it.1,
        instance: it.2,
        incarnation: it.3,
        store: it.4,
        timeout_ms: it.5,
    });
    let ended = (call(), any::<u32>(), word(), text()).prop_map(|it| AttemptEnded {
        call_id: it.0,
        attempt: it.1,
        status: it.2,
        detail: it.3,
    });
    let violation = (text(), text()).prop_map(|(pointer, message)| Violation { pointer, message });
    let failure = (text(), text(), vec(violation, 0..3)).prop_map(|it| FailureInfo {
        kind: it.0,
        message: it.1,
        violations: it.2,
    });
    let settled = (
        (call(), word(), text(), text(), proptest::option::of(failure)),
        (text(), text(), any::<u64>(), any::<bool>(), any::<u64>()),
    );
    let settled = settled.prop_map(|(first, second)| CallSettled {
        call_id: first.0,
        status: first.1,
        content: first.2,
        structured: first.3,
        failure: first.4,
        artifact: second.0,
        undo_token: second.1,
        duration_ms: second.2,
        untrusted: second.3,
        waited_ms: second.4,
    });
    prop_oneof![
        started.prop_map(Event::AttemptStarted),
        ended.prop_map(Event::AttemptEnded),
        settled.prop_map(Event::CallSettled),
        chosen_event(),
    ]
    .boxed()
}

fn chosen_event() -> BoxedStrategy<Event> {
    let chosen = (run(), call(), word(), run(), text(), text(), text(), text());
    let chosen = chosen.prop_map(|it| OutcomeChosen {
        run: it.0,
        call_id: it.1,
        choice: it.2,
        repeat_run: it.3,
        by: it.4,
        note: it.5,
        key: it.6,
        body_digest: it.7,
    });
    let asked = (text(), vec(call(), 0..3), text(), text(), text());
    let asked = asked.prop_map(|it| RollbackAsked {
        rollback: it.0.into(),
        calls: it.1,
        by: it.2,
        key: it.3,
        body_digest: it.4,
    });
    let started =
        (text(), call()).prop_map(|it| RollbackStarted { rollback: it.0.into(), call_id: it.1 });
    let keeper = (text(), text(), text()).prop_map(|it| Keeper {
        service: it.0,
        store: it.1,
        incarnation: it.2,
    });
    let forget = (text(), text(), vec(keeper, 0..3), any::<i64>()).prop_map(|it| ForgetAsked {
        team: it.0,
        session: it.1.into(),
        keepers: it.2,
        until_ms: it.3,
    });
    let ended = (text(), call(), word(), text()).prop_map(|it| RollbackEnded {
        rollback: it.0.into(),
        call_id: it.1,
        status: it.2,
        message: it.3,
    });
    prop_oneof![
        chosen.prop_map(Event::OutcomeChosen),
        asked.prop_map(Event::RollbackAsked),
        started.prop_map(Event::RollbackStarted),
        ended.prop_map(Event::RollbackEnded),
        forget.prop_map(Event::ForgetAsked),
    ]
    .boxed()
}

fn end_event() -> BoxedStrategy<Event> {
    let missed = (run(), text()).prop_map(|(run, message)| ProgressMissed { run, message });
    let hit =
        (run(), word(), text()).prop_map(|(run, limit, message)| LimitHit { run, limit, message });
    let cancel = (run(), text()).prop_map(|(run, reason)| CancelAsked { run, reason });
    let ended = (run(), word(), text(), text()).prop_map(|it| RunEnded {
        run: it.0,
        status: it.1,
        answer: it.2,
        reason: it.3,
    });
    prop_oneof![
        missed.prop_map(Event::ProgressMissed),
        hit.prop_map(Event::LimitHit),
        cancel.prop_map(Event::CancelAsked),
        ended.prop_map(Event::RunEnded),
    ]
    .boxed()
}
