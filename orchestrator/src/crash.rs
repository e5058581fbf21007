//! Named points at which a test ends or stops this process, one for each place where a session or the
//! journal's writer crosses a durable boundary. Debug builds only: a release has none of it.
//!
//! A point is armed once, by the composition root. Everything else is left to the test that armed it.

/// All points, each crossed in the life of one run with one call.
pub const POINTS: &[&str] = &[
    "claim.before_journal",
    "claim.before_commit",
    "claim.after_commit",
    "claim.after_journal",
    "session.before_fold",
    "session.after_fold",
    "append.before_submit",
    "append.after_durable",
    "journal.before_commit",
    "journal.after_commit",
    "model.before_call",
    "model.after_reply",
    "call.before_judge",
    "call.after_judge",
    "attempt.before_record",
    "attempt.before_send",
    "attempt.after_send",
    "attempt.after_outcome",
    "call.after_settled",
];

/// The points of a rollback; all but the first are crossed once for every call that is taken back.
pub const OF_ROLLBACK: &[&str] =
    &["rollback.before_asked", "rollback.before_send", "rollback.after_answer"];

/// The points of a removal.
pub const OF_REMOVAL: &[&str] =
    &["forget.after_noted", "forget.before_send", "forget.after_answer"];

/// The points of the log of a journal in a file being moved into it, which takes more than one run.
pub const OF_FILE: &[&str] = &["checkpoint.before_move", "checkpoint.after_move"];

/// Owner that poisons the event in which it takes a session over: who folds that event panics.
pub const POISON: &str = "poison";

/// Crosses a point: nothing happens unless it is armed, and nothing is left of it in a release.
macro_rules! crash_point {
    ($name:literal) => {
        #[cfg(debug_assertions)]
        $crate::crash::reach($name);
    };
}

pub(crate) use crash_point;

#[cfg(debug_assertions)]
pub use self::armed::arm;
#[cfg(debug_assertions)]
pub(crate) use self::armed::reach;
#[cfg(debug_assertions)]
pub(crate) use self::poison::swallow;

#[cfg(debug_assertions)]
mod poison {
    use super::POISON;
    use crate::run::event::Event;

    /// Panics at an event that is poisoned.
    #[expect(clippy::panic, reason = "that is what it is for")]
    pub(crate) fn swallow(event: &Event) {
        if matches!(event, Event::OwnerTaken(taken) if taken.owner == POISON) {
            panic!("a poisoned event was folded");
        }
    }
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    };

    use rustix::process::{Signal, getpid, kill_process};

    use super::{OF_FILE, OF_REMOVAL, OF_ROLLBACK, POINTS};

    /// The point that is armed.
    static ARMED: OnceLock<Armed> = OnceLock::new();

    #[derive(Debug)]
    struct Armed {
        name: String,
        /// Crossings until it acts.
        left: AtomicU32,
        act: Act,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Act {
        Signal(Signal),
        Panic,
    }

    /// Arms one point of this process, as `NAME[:NTH[:stop|panic]]`: at its NTH crossing, the first
    /// one where it is not said, the process is killed, or stopped, or what crosses it panics. The
    /// first call counts.
    ///
    /// # Errors
    /// A point that does not exist, or a number that is none.
    pub fn arm(text: &str) -> Result<(), String> {
        let armed = parse(text).ok_or_else(|| format!("no crash point is called `{text}`"))?;
        // A second one is as good as none.
        let _ = ARMED.set(armed);
        Ok(())
    }

    fn parse(text: &str) -> Option<Armed> {
        let mut parts = text.split(':');
        let name = parts.next().filter(|name| is_point(name))?.to_owned();
        let nth: u32 = parts.next().map_or(Some(1), |nth| nth.parse().ok())?;
        let act = match parts.next() {
            None => Act::Signal(Signal::KILL),
            Some("stop") => Act::Signal(Signal::STOP),
            Some("panic") => Act::Panic,
            Some(_) => return None,
        };
        Some(Armed { name, left: AtomicU32::new(nth.max(1)), act })
    }

    fn is_point(name: &str) -> bool {
        [POINTS, OF_ROLLBACK, OF_REMOVAL, OF_FILE].iter().any(|points| points.contains(&name))
    }

    /// See [`crash_point`](super::crash_point).
    #[expect(clippy::panic, reason = "where a test wants it to")]
    pub(crate) fn reach(name: &str) {
        debug_assert!(is_point(name), "{name} is listed");
        let Some(armed) = ARMED.get().filter(|armed| armed.name == name) else { return };
        let before = armed
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .unwrap_or(0);
        if before == 1 {
            match armed.act {
                // Our own process may always be signalled.
                Act::Signal(signal) => drop(kill_process(getpid(), signal)),
                Act::Panic => panic!("crossed {name}"),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_point_is_named_counted_and_given_its_act() {
            let armed = parse("append.before_submit:3:stop").unwrap();
            assert_eq!(armed.act, Act::Signal(Signal::STOP));
            assert_eq!(armed.name, "append.before_submit");
            assert_eq!(armed.left.into_inner(), 3);
            assert_eq!(parse("session.after_fold:2:panic").unwrap().act, Act::Panic);
            let armed = parse("claim.after_journal").unwrap();
            assert_eq!(armed.act, Act::Signal(Signal::KILL));
            assert_eq!(armed.left.into_inner(), 1);
            for wrong in ["", "nowhere", "claim.after_journal:x", "claim.after_journal:1:maybe"] {
                assert!(parse(wrong).is_none(), "{wrong}");
            }
        }
    }
}
