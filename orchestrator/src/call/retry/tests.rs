use proptest::prelude::*;

use super::*;

const CLASSES: [Class; 3] = [Class::Read, Class::Idempotent, Class::Write];

/// A cell of the table, as a word.
fn cell(error: &AttemptError, class: Class, reach: Reach) -> &'static str {
    match decide(error, class, reach) {
        Decision::Retry => "retry",
        Decision::RetryOnce => "once",
        Decision::RetryThere => "there",
        Decision::Attach => "attach",
        Decision::Stop => "stop",
        Decision::Settle(Settlement::OutcomeUnknown) => "unknown",
        Decision::Settle(Settlement::Failed(failure)) => failure.kind.as_str(),
    }
}

fn failure(kind: Kind) -> Failure {
    Failure::new(kind, "words")
}

/// The table: what happened; read, idempotent, write while the place can be asked; the same after it
/// is gone.
fn table() -> Vec<(AttemptError, [&'static str; 3], [&'static str; 3])> {
    use AttemptError as E;
    vec![
        (E::NotSent, ["retry", "retry", "retry"], ["retry", "retry", "retry"]),
        (E::Fenced, ["stop", "stop", "stop"], ["stop", "stop", "stop"]),
        (
            E::Unauthenticated,
            ["once", "once", "permission_denied"],
            ["once", "once", "permission_denied"],
        ),
        (
            E::Refused(failure(Kind::InvalidArguments)),
            ["invalid_arguments"; 3],
            ["invalid_arguments"; 3],
        ),
        (E::Refused(failure(Kind::NotFound)), ["not_found"; 3], ["not_found"; 3]),
        (E::Aborted, ["retry", "retry", "conflict"], ["retry", "retry", "conflict"]),
        (E::Exhausted, ["retry", "retry", "rate_limited"], ["retry", "retry", "rate_limited"]),
        (E::Unanswered(Lost::Gone), ["retry", "attach", "attach"], ["retry", "retry", "unknown"]),
        (
            E::Unanswered(Lost::TimedOut),
            ["retry", "attach", "attach"],
            ["retry", "retry", "unknown"],
        ),
        (
            E::Unanswered(Lost::Cancelled),
            ["retry", "attach", "attach"],
            ["retry", "retry", "unknown"],
        ),
        (E::Unanswered(Lost::Broken), ["once", "attach", "attach"], ["once", "once", "unknown"]),
        (E::Unusable { answered: false }, ["internal"; 3], ["internal"; 3]),
        (
            E::Unusable { answered: true },
            ["internal", "internal", "unknown"],
            ["internal", "internal", "unknown"],
        ),
        (E::UnknownCall, ["retry", "retry", "there"], ["retry", "retry", "unknown"]),
        (E::OutcomeGone, ["retry", "retry", "unknown"], ["retry", "retry", "unknown"]),
        (
            E::Failed(failure(Kind::Unavailable)),
            ["retry", "retry", "unavailable"],
            ["retry", "retry", "unavailable"],
        ),
        (
            E::Failed(failure(Kind::Timeout)),
            ["retry", "retry", "timeout"],
            ["retry", "retry", "timeout"],
        ),
        (
            E::Failed(failure(Kind::RateLimited)),
            ["retry", "retry", "rate_limited"],
            ["retry", "retry", "rate_limited"],
        ),
        (E::Failed(failure(Kind::Internal)), ["internal"; 3], ["internal"; 3]),
        (E::Failed(failure(Kind::Conflict)), ["conflict"; 3], ["conflict"; 3]),
    ]
}

#[test]
fn the_table_is_as_it_is_written_down() {
    for (error, near, gone) in table() {
        for (nth, class) in CLASSES.into_iter().enumerate() {
            for reach in [Reach::Same, Reach::Store] {
                assert_eq!(cell(&error, class, reach), near[nth], "{error:?} {class:?} {reach:?}");
            }
            assert_eq!(cell(&error, class, Reach::Gone), gone[nth], "{error:?} {class:?} gone");
        }
    }
}

#[test]
fn giving_up_says_what_is_known() {
    use AttemptError as E;
    let word = |error: &E, class| match give_up(error, class) {
        Settlement::OutcomeUnknown => "unknown",
        Settlement::Failed(failure) => failure.kind.as_str(),
    };
    for (error, words) in [
        (E::NotSent, ["unavailable"; 3]),
        (E::Unanswered(Lost::Gone), ["unavailable", "unknown", "unknown"]),
        (E::Unanswered(Lost::TimedOut), ["timeout", "unknown", "unknown"]),
        (E::Unanswered(Lost::Broken), ["internal", "unknown", "unknown"]),
        (E::UnknownCall, ["unavailable", "unknown", "unknown"]),
        (E::Exhausted, ["rate_limited"; 3]),
        (E::Failed(failure(Kind::Timeout)), ["timeout"; 3]),
    ] {
        for (nth, class) in CLASSES.into_iter().enumerate() {
            assert_eq!(word(&error, class), words[nth], "{error:?} {class:?}");
        }
    }
}

#[test]
fn backoff_doubles_under_full_jitter_and_gives_at_least_what_was_asked_for() {
    let ms = Duration::from_millis;
    for (made, draw, asked, expected) in [
        (1, 0.0, None, ms(0)),
        (1, 1.0, None, ms(100)),
        (2, 1.0, None, ms(200)),
        (3, 0.5, None, ms(200)),
        (1, 1.0, Some(ms(700)), ms(700)),
        (3, 1.0, Some(ms(7)), ms(400)),
        (0, 1.0, None, ms(100)),
    ] {
        assert_eq!(backoff(made, draw, asked), expected, "{made} {draw} {asked:?}");
    }
    assert!(backoff(u32::MAX, 1.0, None) < Duration::from_hours(3));
}

fn any_error() -> impl Strategy<Value = AttemptError> {
    use AttemptError as E;
    let kinds = prop::sample::select(vec![
        Kind::Unavailable,
        Kind::Timeout,
        Kind::Conflict,
        Kind::Internal,
    ]);
    let lost =
        prop::sample::select(vec![Lost::Gone, Lost::TimedOut, Lost::Cancelled, Lost::Broken]);
    prop_oneof![
        Just(E::NotSent),
        Just(E::Fenced),
        Just(E::Unauthenticated),
        Just(E::Aborted),
        Just(E::Exhausted),
        Just(E::UnknownCall),
        Just(E::OutcomeGone),
        lost.prop_map(E::Unanswered),
        any::<bool>().prop_map(|answered| E::Unusable { answered }),
        kinds.clone().prop_map(|kind| E::Refused(failure(kind))),
        kinds.prop_map(|kind| E::Failed(failure(kind))),
    ]
}

proptest! {
    #[test]
    fn what_may_have_been_written_is_never_started_elsewhere(
        error in any_error(),
        reach in prop::sample::select(vec![Reach::Same, Reach::Store, Reach::Gone]),
    ) {
        let decision = decide(&error, Class::Write, reach);
        let starts = matches!(decision, Decision::Retry | Decision::RetryOnce);
        prop_assert!(!starts || error == AttemptError::NotSent, "{error:?} {decision:?}");
        let unclear = matches!(error, AttemptError::Unanswered(_) | AttemptError::OutcomeGone);
        let claims = matches!(decision, Decision::Settle(Settlement::Failed(_)));
        prop_assert!(!(unclear && claims), "{error:?} {decision:?}");
    }
}
