//! Services whose answers are none: each is found, told as `internal` (or as unknown, where it may
//! have changed something), and held against the instance; nothing grows without bound.

use callboard_proto::size;
use callboard_proto::tool as wire;
use callboard_proto::tool::invoke_response::Piece;

use super::*;

fn message(piece: Option<Piece>) -> Act {
    Act::Send(wire::InvokeResponse { piece })
}

fn result(request: &wire::InvokeRequest, output: wire::Output) -> Act {
    let id = &request.call.as_ref().unwrap().call_id;
    output_of(id, wire::outcome::Result::Output(output))
}

type Variant = (&'static str, fn(&wire::InvokeRequest) -> Vec<Act>);

/// Everything that a well-formed gRPC answer can get wrong.
const VARIANTS: [Variant; 9] = [
    ("outcome belongs to another call", |_| {
        vec![output_of("another", wire::outcome::Result::Output(wire::Output::default()))]
    }),
    ("two outcomes", |request| vec![output(request, "one"), output(request, "two")]),
    ("outcome says nothing", |request| {
        let call_id = request.call.as_ref().unwrap().call_id.clone();
        vec![message(Some(Piece::Outcome(wire::Outcome { call_id, result: None, duration_us: 0 })))]
    }),
    ("ended without an outcome", |_| vec![message(Some(Piece::Chunk("a".to_owned())))]),
    ("holds nothing that we know", |_| vec![message(None)]),
    ("chunk is over the limit", |request| {
        vec![message(Some(Piece::Chunk("x".repeat(size::CHUNK + 1)))), output(request, "late")]
    }),
    ("is no JSON", |request| {
        vec![result(request, wire::Output { structured: "{\"a\":".into(), ..Default::default() })]
    }),
    ("structured content is over the limit", |request| {
        let structured = format!("\"{}\"", "x".repeat(size::STRUCTURED)).into();
        vec![result(request, wire::Output { structured, ..Default::default() })]
    }),
    // Over the limit of one message: what our own end says of it.
    ("out_of_range", |request| {
        vec![result(
            request,
            wire::Output { content: "x".repeat(size::MESSAGE), ..Default::default() },
        )]
    }),
];

#[tokio::test]
async fn an_answer_that_is_none_is_internal_and_held_against_the_instance() {
    for (fault, acts) in VARIANTS {
        let world = world();
        let service = world.serve("a", tools(), script(move |request| vec![acts(request)])).await;
        let call = world.runnable("read", "{}").await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(words(&ran), (CallStatus::Failed, "internal".to_owned()), "{fault}");
        let detail = detail_of(&ran).to_lowercase();
        assert!(detail.contains(&fault.to_lowercase()), "{fault}: {detail}");
        assert_eq!(service.modes(), ["start", "start"], "{fault}");
        for _ in 0..2 {
            world.run(&call, &context()).await;
        }
        let snapshot = world.path.catalog().snapshot();
        let instance = &snapshot.instances_of("blue", "service")[0];
        assert!(instance.cost(Instant::now()) >= 0.5, "{fault}: not penalised");
    }
}

#[tokio::test]
async fn garbage_after_a_change_leaves_its_outcome_unknown() {
    for (fault, acts) in VARIANTS {
        let world = world();
        let service = world.serve("a", tools(), script(move |request| vec![acts(request)])).await;
        let call = world.runnable("write", "{}").await;
        let ran = world.run(&call, &context()).await;
        assert_eq!(ran.settled().status, CallStatus::OutcomeUnknown, "{fault}");
        assert_eq!(service.modes().iter().filter(|mode| **mode == "start").count(), 1, "{fault}");
    }
}

#[tokio::test]
async fn chunks_after_the_outcome_change_nothing() {
    let world = world();
    let _service = world
        .serve(
            "a",
            tools(),
            script(|request| {
                vec![vec![output(request, "whole"), message(Some(Piece::Chunk("late".to_owned())))]]
            }),
        )
        .await;
    let call = world.runnable("read", "{}").await;
    assert_eq!(world.run(&call, &context()).await.settled().content, "whole");
}

#[tokio::test]
async fn a_flood_of_chunks_ends_at_its_bound() {
    let world = world();
    let mut tools = tools();
    tools[2].default_timeout_ms = 60_000;
    let service = world
        .serve(
            "a",
            tools,
            Arc::new(|_, _| {
                let chunk = message(Some(Piece::Chunk("x".repeat(size::CHUNK))));
                vec![chunk; size::ARTIFACT / size::CHUNK + 8]
            }),
        )
        .await;
    let call = world.runnable("write", "{}").await;
    let ran = world.run(&call, &context()).await;
    assert_eq!(ran.settled().status, CallStatus::OutcomeUnknown);
    assert!(detail_of(&ran).contains("over the limit"), "{}", detail_of(&ran));
    assert_eq!(service.modes()[0], "start");
}

#[tokio::test]
async fn bad_text_and_bad_numbers_in_progress_are_cut_down() {
    let world = world();
    let _service = world
        .serve(
            "a",
            tools(),
            script(|request| {
                let note = |fraction| {
                    let message_ = "m".repeat(10_000);
                    message(Some(Piece::Progress(wire::Progress {
                        message: message_,
                        fraction: Some(fraction),
                    })))
                };
                vec![vec![note(f64::NAN), note(7.0), note(0.25), output(request, "done")]]
            }),
        )
        .await;
    let call = world.runnable("read", "{}").await;
    let ran = world.run(&call, &context()).await;
    let fractions: Vec<Option<f64>> = ran
        .pieces
        .iter()
        .map(|progress| match &progress.piece {
            crate::call::Piece::Note { message, fraction } => {
                assert_eq!(message.len(), 500);
                *fraction
            }
            crate::call::Piece::Chunk(_) => panic!("no chunk was sent"),
        })
        .collect();
    assert_eq!(fractions, [None, None, Some(0.25)]);
}
