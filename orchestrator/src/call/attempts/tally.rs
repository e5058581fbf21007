//! What a call has tried so far, and what that leaves it to try.

use crate::call::outcome::Ending;
use crate::call::retry::{self, AttemptError, Decision, Settlement};
use crate::run::event::{AttemptStarted, Class};

/// How often a call is attached to before that is given up.
const MAX_ATTACHES: u32 = 4;

/// An attempt that has no end yet.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) started: AttemptStarted,
    /// When it was sent, Unix time in milliseconds.
    pub(super) sent_ms: i64,
}

/// What a call has tried so far.
#[derive(Debug)]
pub(super) struct Tally {
    /// Attempts, those of earlier owners included.
    pub(super) made: u32,
    /// Questions what became of one.
    pub(super) attaches: u32,
    /// Instance that failed the call last.
    pub(super) avoid: Option<String>,
    /// Incarnation that could not be reached at the last attempt.
    pub(super) unreachable: Option<String>,
    /// The last attempt that was sent and never answered.
    pub(super) unclear: Option<Open>,
    /// Whether a retry that is made only once was made.
    was_once: bool,
    max_attempts: u32,
}

impl Tally {
    pub(super) fn new(made: u32, max_attempts: u32) -> Self {
        Self {
            made,
            attaches: 0,
            avoid: None,
            unreachable: None,
            unclear: None,
            was_once: false,
            max_attempts,
        }
    }

    /// A decision, if its kind is still to be had.
    pub(super) fn bounded(&mut self, decision: Decision, class: Class) -> Option<Decision> {
        let has_attempts = self.made < self.max_attempts;
        match decision {
            Decision::Attach if self.attaches < MAX_ATTACHES => Some(Decision::Attach),
            // Nobody says what became of it; doing it again changes nothing more.
            Decision::Attach if class == Class::Idempotent && has_attempts => Some(Decision::Retry),
            Decision::RetryOnce if has_attempts && !self.was_once => {
                self.was_once = true;
                Some(Decision::RetryOnce)
            }
            Decision::Retry | Decision::RetryThere if has_attempts => Some(decision),
            Decision::Attach | Decision::RetryOnce | Decision::Retry | Decision::RetryThere => None,
            Decision::Settle(_) | Decision::Stop => Some(decision),
        }
    }

    /// The incarnation that the last attempt of all should not be spent on, while another may come.
    pub(super) fn kept_from(&self) -> Option<&str> {
        self.unreachable.as_deref().filter(|_| self.made + 1 == self.max_attempts)
    }

    /// How many waits there were before a decision is carried out.
    pub(super) fn rounds(&self, decision: Option<&Decision>) -> u32 {
        if decision == Some(&Decision::Attach) { self.attaches + 1 } else { self.made }
    }

    /// Where the next attempt must go: what may have been written once is written again only where
    /// the first time would be known.
    pub(super) fn bound_to(&self, class: Class) -> Option<Open> {
        self.unclear.clone().filter(|_| class == Class::Write)
    }

    /// The ending that the last attempt, `open`, gives. What it says is believed for the place that
    /// it went to; an earlier attempt elsewhere may have taken effect all the same.
    pub(super) fn settle(&self, settlement: Settlement, class: Class, open: &Open) -> Ending {
        match &self.unclear {
            Some(earlier) if class != Class::Read && !earlier.is_beside(open) => {
                Ending::Unknown { started_ms: earlier.sent_ms }
            }
            _ => ending(settlement, Some(open)),
        }
    }

    /// The ending if nothing more is tried after `error`: an earlier attempt may have taken effect,
    /// whatever the last one came to.
    pub(super) fn give_up(&self, error: &AttemptError, class: Class) -> Ending {
        match &self.unclear {
            Some(open) if class != Class::Read => Ending::Unknown { started_ms: open.sent_ms },
            open => ending(retry::give_up(error, class), open.as_ref()),
        }
    }
}

impl Open {
    /// Whether two attempts went to where each other's outcome is known.
    fn is_beside(&self, other: &Self) -> bool {
        let (one, two) = (&self.started, &other.started);
        one.incarnation == two.incarnation || (!one.store.is_empty() && one.store == two.store)
    }
}

/// The ending that a settlement is.
fn ending(settlement: Settlement, open: Option<&Open>) -> Ending {
    match settlement {
        Settlement::Failed(failure) => Ending::Failed(failure),
        Settlement::OutcomeUnknown => {
            Ending::Unknown { started_ms: open.map_or(0, |open| open.sent_ms) }
        }
    }
}
