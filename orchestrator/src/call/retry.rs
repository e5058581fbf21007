//! What to do after an attempt that gave no success: the only retry table.
//!
//! Pure. What happened comes from `attempts/classify`, what may be repeated from the tool's class,
//! whether the place can still be asked from the live set. Deadline, number of attempts and
//! [`Budget`] are the caller's: `attempts`, which is next.

use std::time::Duration;

use super::failure::{Failure, Kind};
use crate::run::event::{AttemptStatus, Class};

mod budget;

pub use self::budget::{Budget, Budgets};

/// Backoff before the second attempt; doubled before each later one.
pub const FIRST_BACKOFF: Duration = Duration::from_millis(100);

/// Why an attempt gave no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptError {
    /// Nothing was started: it never left, or the service says so.
    NotSent,
    /// The service has seen a newer owner of the session's partition.
    Fenced,
    /// The service does not take us for who we are.
    Unauthenticated,
    /// The service refused it for good.
    Refused(Failure),
    /// It collided with another call.
    Aborted,
    /// The service is full, and does not say that nothing was started.
    Exhausted,
    /// It may have been started; no outcome came.
    Unanswered(Lost),
    /// The service cannot do this, or lost data on the way; `answered` if any part of an answer
    /// came.
    Unusable {
        /// Whether any part of an answer came.
        answered: bool,
    },
    /// An attach met a place that never started the call.
    UnknownCall,
    /// The call was started and ended, and its outcome is no longer held.
    OutcomeGone,
    /// The service answered that it did not do it.
    Failed(Failure),
}

/// How an answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The connection or the service went away.
    Gone,
    /// The time was over.
    TimedOut,
    /// Somebody cancelled it, and it was not us.
    Cancelled,
    /// What came was no answer.
    Broken,
}

/// Whether the place that an attempt went to can still be asked what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The same incarnation is alive.
    Same,
    /// Another instance shares its store.
    Store,
    /// Neither.
    Gone,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Start it again, elsewhere if there is another instance.
    Retry,
    /// The same, unless it was done for this reason before.
    RetryOnce,
    /// Start it again, only where its outcome would be known had it been started.
    RetryThere,
    /// Ask what became of it, never starting it.
    Attach,
    /// Give the call its outcome.
    Settle(Settlement),
    /// Stop acting for the session.
    Stop,
}

/// How a call ends without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It did not do what it was asked.
    Failed(Failure),
    /// It may or may not have taken effect.
    OutcomeUnknown,
}

/// Decides by the table of retries.
pub fn decide(error: &AttemptError, class: Class, reach: Reach) -> Decision {
    use AttemptError as E;
    let changes_nothing = class == Class::Read;
    let can_repeat = class != Class::Write;
    let can_ask = reach != Reach::Gone;
    match error {
        E::NotSent => Decision::Retry,
        E::Fenced => Decision::Stop,
        E::Aborted | E::Exhausted | E::OutcomeGone | E::UnknownCall if can_repeat => {
            Decision::Retry
        }
        E::UnknownCall if can_ask => Decision::RetryThere,
        E::Unanswered(_) if can_ask && !changes_nothing => Decision::Attach,
        E::Unauthenticated | E::Unanswered(Lost::Broken) if can_repeat => Decision::RetryOnce,
        E::Unanswered(_) if can_repeat => Decision::Retry,
        E::Failed(failure) if can_repeat && failure.kind.is_transient() => Decision::Retry,
        E::Refused(_)
        | E::Failed(_)
        | E::Unusable { .. }
        | E::Unauthenticated
        | E::Aborted
        | E::Exhausted
        | E::Unanswered(_)
        | E::UnknownCall
        | E::OutcomeGone => Decision::Settle(give_up(error, class)),
    }
}

/// How a call ends if nothing more is tried after `error`.
pub fn give_up(error: &AttemptError, class: Class) -> Settlement {
    use AttemptError as E;
    let failed = |kind, message: &str| Settlement::Failed(Failure::new(kind, message));
    let service = |kind, what: &str| Settlement::Failed(Failure::of_service(kind, what));
    match error {
        E::Refused(failure) | E::Failed(failure) => Settlement::Failed(failure.clone()),
        E::NotSent => service(Kind::Unavailable, "cannot be reached now"),
        E::Fenced => failed(Kind::Unavailable, "another orchestrator has taken over"),
        E::Unauthenticated => {
            service(Kind::PermissionDenied, "refused our credentials; an operator was told")
        }
        E::Aborted => failed(
            Kind::Conflict,
            "it collided with another change; read the state again, then decide",
        ),
        E::Exhausted => service(Kind::RateLimited, "has too much to do now"),
        E::Unusable { answered: true } if class == Class::Write => Settlement::OutcomeUnknown,
        E::UnknownCall | E::OutcomeGone | E::Unanswered(_) if class != Class::Read => {
            Settlement::OutcomeUnknown
        }
        E::Unusable { .. } => service(Kind::Internal, "cannot answer this call"),
        E::UnknownCall | E::OutcomeGone => {
            service(Kind::Unavailable, "lost the call before it could answer")
        }
        E::Unanswered(lost) => match lost {
            Lost::Gone | Lost::Cancelled => {
                service(Kind::Unavailable, "went away before it answered")
            }
            Lost::TimedOut => service(Kind::Timeout, "did not answer in time"),
            Lost::Broken => service(Kind::Internal, "gave an answer that is none"),
        },
    }
}

impl AttemptError {
    /// Whether it is about the call, and not only about the question what became of it.
    pub fn tells_of_the_call(&self) -> bool {
        match self {
            Self::Fenced
            | Self::Failed(_)
            | Self::UnknownCall
            | Self::OutcomeGone
            | Self::Unanswered(_) => true,
            Self::NotSent
            | Self::Unauthenticated
            | Self::Refused(_)
            | Self::Aborted
            | Self::Exhausted
            | Self::Unusable { .. } => false,
        }
    }

    /// How the attempt ended, for the journal.
    pub fn status(&self) -> AttemptStatus {
        match self {
            Self::NotSent | Self::UnknownCall => AttemptStatus::NotSent,
            Self::Fenced
            | Self::Unauthenticated
            | Self::Refused(_)
            | Self::Aborted
            | Self::Exhausted => AttemptStatus::Refused,
            Self::Unanswered(_) | Self::Unusable { .. } | Self::OutcomeGone => {
                AttemptStatus::Unanswered
            }
            Self::Failed(_) => AttemptStatus::Answered,
        }
    }
}

/// How long to wait before the next attempt: full jitter under a bound that doubles. `draw` is
/// random, 0 to 1; a service that names a time is given at least that.
pub fn backoff(attempts_made: u32, draw: f64, asked_for: Option<Duration>) -> Duration {
    let doublings = attempts_made.saturating_sub(1).min(16);
    let bound = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(doublings));
    asked_for.unwrap_or_default().max(bound.mul_f64(draw.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests;
