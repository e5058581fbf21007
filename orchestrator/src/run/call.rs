//! One tool call inside the fold: what was planned, judged, decided, tried and settled.
//!
//! The order of its events is the order of the path; whatever breaks it is refused here.

use super::event::{
    ApprovalAsked, ApprovalDecided, AttemptEnded, AttemptStarted, CallJudged, CallPlanned,
    CallSettled, Event, OutcomeChosen, Verdict, WantedCall,
};

/// A tool call after the events so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As the model asked for it.
    pub wanted: WantedCall,
    /// With its tool and arguments that fit.
    pub planned: Option<CallPlanned>,
    /// The verdict.
    pub judged: Option<CallJudged>,
    /// The question to a person.
    pub asked: Option<ApprovalAsked>,
    /// The answer.
    pub decided: Option<ApprovalDecided>,
    /// Attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// The one outcome.
    pub settled: Option<CallSettled>,
    /// What a person said of it, where it is unknown.
    pub chosen: Option<OutcomeChosen>,
    /// What was restored, once a person had it taken back.
    pub undone: Option<String>,
    /// What came of its repetition, once there is one.
    pub repeated: Option<String>,
    /// Working time of the run when it was planned, in milliseconds.
    pub planned_at_ms: u64,
}

/// One try.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Where it went.
    pub started: AttemptStarted,
    /// How it ended; `None` while nobody knows.
    pub ended: Option<AttemptEnded>,
}

/// How far a call is on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Neither planned nor judged.
    Wanted,
    /// A person has to decide.
    Asked,
    /// A person said no.
    Denied,
    /// It may run, or runs.
    Runnable,
    /// It has its outcome.
    Settled,
}

impl Call {
    pub(super) fn new(wanted: WantedCall) -> Self {
        Self {
            wanted,
            planned: None,
            judged: None,
            asked: None,
            decided: None,
            attempts: Vec::new(),
            settled: None,
            chosen: None,
            undone: None,
            repeated: None,
            planned_at_ms: 0,
        }
    }

    /// How far the call is.
    pub fn phase(&self) -> Phase {
        if self.settled.is_some() {
            return Phase::Settled;
        }
        match (&self.judged, &self.decided) {
            (None, _) => Phase::Wanted,
            (Some(judged), _) if judged.verdict == Verdict::Allow => Phase::Runnable,
            (Some(_), Some(decided)) if decided.approved => Phase::Runnable,
            (Some(_), Some(_)) => Phase::Denied,
            (Some(_), None) => Phase::Asked,
        }
    }

    /// The attempt whose end nobody knows.
    pub fn open_attempt(&self) -> Option<&AttemptStarted> {
        self.attempts.last().filter(|last| last.ended.is_none()).map(|last| &last.started)
    }

    pub(super) fn apply(&mut self, event: &Event, elapsed_ms: u64) -> Result<(), &'static str> {
        if self.settled.is_some() {
            return Err("the call is settled");
        }
        match event {
            Event::CallPlanned(planned) => {
                refuse(self.planned.is_some(), "the call is planned already")?;
                self.planned = Some(planned.clone());
                self.planned_at_ms = elapsed_ms;
            }
            Event::CallJudged(judged) => {
                refuse(self.planned.is_none(), "the call was never planned")?;
                refuse(self.judged.is_some(), "the call is judged already")?;
                self.judged = Some(judged.clone());
            }
            Event::ApprovalAsked(asked) => {
                let wants = self.judged.as_ref().is_some_and(|j| j.verdict == Verdict::Ask);
                refuse(!wants, "nothing needs an approval")?;
                self.asked = Some(asked.clone());
            }
            Event::ApprovalDecided(decided) => {
                refuse(self.asked.is_none(), "nobody was asked")?;
                refuse(self.decided.is_some(), "another decision stands")?;
                self.decided = Some(decided.clone());
            }
            Event::AttemptStarted(started) => {
                refuse(self.phase() != Phase::Runnable, "the call may not run")?;
                refuse(self.open_attempt().is_some(), "another attempt is open")?;
                self.attempts.push(Attempt { started: started.clone(), ended: None });
            }
            Event::AttemptEnded(ended) => {
                let open = self
                    .attempts
                    .last_mut()
                    .filter(|last| last.ended.is_none() && last.started.attempt == ended.attempt);
                open.ok_or("no such attempt is open")?.ended = Some(ended.clone());
            }
            Event::CallSettled(settled) => self.settled = Some(settled.clone()),
            _ => return Err("not an event of a call"),
        }
        Ok(())
    }
}

fn refuse(is_wrong: bool, why: &'static str) -> Result<(), &'static str> {
    if is_wrong { Err(why) } else { Ok(()) }
}
