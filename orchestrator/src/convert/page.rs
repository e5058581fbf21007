//! Runs of a session in messages of a bounded size: as many runs as one message holds, and of a run
//! that is larger as many of its calls. Nothing is left out: the next page goes on where one ended.

use callboard_proto::{agent, size};
use prost::Message as _;

use super::{calls_from, run_head, waiting};
use crate::run::state::{Run, Session, Waiting};

/// Bytes of a page after which no further call is added. One call alone may be larger.
const ROOM: usize = size::MESSAGE / 2;

/// Where a page begins. As text it is opaque to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the last event that all pages are made of, so that they fit together; 0 on the
    /// first page, which chooses it.
    last: u64,
    /// Runs before it.
    run: usize,
    /// Calls of its first run before it.
    call: usize,
}

impl Place {
    /// Reads a token; an empty one is the beginning. `None` for a text that is no token.
    pub(crate) fn read(token: &str) -> Option<Self> {
        if token.is_empty() {
            return Some(Self { last: 0, run: 0, call: 0 });
        }
        let (last, rest) = token.split_once('.')?;
        let (run, call) = rest.split_once('.')?;
        Some(Self { last: last.parse().ok()?, run: run.parse().ok()?, call: call.parse().ok()? })
    }

    /// Number of the last event to look at.
    pub(crate) fn last(self) -> u64 {
        if self.last == 0 { u64::MAX } else { self.last }
    }

    fn token(self) -> String {
        format!("{}.{}.{}", self.last, self.run, self.call)
    }
}

/// A page of a session's runs, oldest first, those that wait included, or of the one run that is
/// named; and the token of the next page, empty after the last one.
pub(crate) fn page(session: &Session, only: &str, from: Place) -> (Vec<agent::RunSummary>, String) {
    let begun = session.ended.iter().chain(session.current.as_deref()).map(Listed::Begun);
    let runs = begun.chain(session.waiting.iter().map(Listed::Queued));
    let runs = runs.filter(|run| only.is_empty() || run.id() == only).enumerate();
    let (mut page, mut room) = (Vec::new(), ROOM);
    for (nth, run) in runs.skip(from.run) {
        let call = if nth == from.run { from.call } else { 0 };
        // A page is never empty, however large a run's own words are.
        let ends = if room == 0 { Some(call) } else { run.fill(&mut page, call, &mut room) };
        if let Some(call) = ends {
            let next = Place { last: session.last_seq, run: nth, call };
            return (page, next.token());
        }
    }
    (page, String::new())
}

/// The result of a run that ended: with its first calls, where it has more than one page holds.
pub(super) fn result(run: &Run, session: &str) -> agent::RunResult {
    let (mut page, mut room) = (Vec::new(), ROOM);
    let rest = Listed::Begun(run).fill(&mut page, 0, &mut room);
    let next = rest.map(|call| Place { last: 0, run: 0, call }.token());
    agent::RunResult {
        session: session.to_owned(),
        run: page.pop(),
        next_page_token: next.unwrap_or_default(),
    }
}

#[derive(Clone, Copy)]
enum Listed<'a> {
    Begun(&'a Run),
    Queued(&'a Waiting),
}

impl Listed<'_> {
    fn id(&self) -> &str {
        match self {
            Self::Begun(run) => run.input.run.as_str(),
            Self::Queued(waiting) => waiting.input.run.as_str(),
        }
    }

    /// Adds the run to a page with as many of its calls, from `first` on, as there is room for.
    /// Gives back the call at which it had to stop.
    fn fill(
        self,
        page: &mut Vec<agent::RunSummary>,
        first: usize,
        room: &mut usize,
    ) -> Option<usize> {
        let (mut summary, run) = match self {
            Self::Begun(run) => (run_head(run), Some(run)),
            Self::Queued(queued) => (waiting(queued), None),
        };
        if first == 0 {
            // Where it goes on, its words were counted before: the page is for its calls.
            *room = room.saturating_sub(summary.encoded_len());
        }
        let mut rest = None;
        let calls = run.into_iter().flat_map(|run| calls_from(run, first));
        for (nth, call) in (first..).zip(calls) {
            if *room == 0 && nth > first {
                rest = Some(nth);
                break;
            }
            *room = room.saturating_sub(call.encoded_len());
            summary.calls.push(call);
        }
        page.push(summary);
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::event::{
        Event, Input, InputReceived, ModelReplied, ModelRequested, Recorded, RunEnded, RunStarted,
        SessionOpened, WantedCall,
    };

    /// A session of runs with these numbers of calls, each of 100,000 bytes; the last input waits.
    fn session(runs: &[usize]) -> Session {
        let mut session = Session::default();
        let mut record = |event| {
            let seq = session.last_seq + 1;
            let recorded =
                Recorded { seq, elapsed_ms: 0, wall_ms: 0, trace_context: String::new(), event };
            session.apply(&recorded).unwrap();
        };
        record(Event::SessionOpened(SessionOpened::default()));
        let input = |run: &str| {
            let (run, input) = (run.into(), Input::Text(format!("do {run}")));
            Event::InputReceived(InputReceived { run, input, ..InputReceived::default() })
        };
        for (nth, count) in runs.iter().enumerate() {
            let name = format!("r{nth}");
            let run: crate::run::ids::RunId = name.as_str().into();
            record(input(&name));
            record(Event::RunStarted(RunStarted { run: run.clone(), ..RunStarted::default() }));
            record(Event::ModelRequested(ModelRequested {
                run: run.clone(),
                request: 1,
                ..ModelRequested::default()
            }));
            let calls = (0..*count).map(|call| WantedCall {
                call_id: format!("{name}-{call}").into(),
                arguments: "x".repeat(100_000),
                ..WantedCall::default()
            });
            record(Event::ModelReplied(ModelReplied {
                run: run.clone(),
                request: 1,
                calls: calls.collect(),
                ..ModelReplied::default()
            }));
            record(Event::RunEnded(RunEnded { run, ..RunEnded::default() }));
        }
        record(input("queued"));
        session
    }

    /// Walks through all pages: the ids of the runs with the number of their calls, page by page.
    fn pages(session: &Session, only: &str) -> Vec<Vec<(String, usize)>> {
        let (mut pages, mut token) = (Vec::new(), String::new());
        loop {
            let place = Place::read(&token).unwrap();
            let (page, next) = page(session, only, place);
            let bytes: usize = page.iter().map(prost::Message::encoded_len).sum();
            assert!(bytes <= size::MESSAGE, "{bytes}");
            pages.push(page.into_iter().map(|run| (run.id, run.calls.len())).collect());
            if next.is_empty() {
                return pages;
            }
            assert_ne!(next, token, "every page goes on");
            token = next;
        }
    }

    #[test]
    fn pages_together_hold_everything_once_and_in_order() {
        let list = |page: &[(&str, usize)]| -> Vec<(String, usize)> {
            page.iter().map(|(id, calls)| ((*id).to_owned(), *calls)).collect()
        };
        // Eleven calls of 100,000 bytes are the first that fill a mebibyte.
        assert_eq!(
            pages(&session(&[2, 25, 0, 1]), ""),
            [
                list(&[("r0", 2), ("r1", 9)]),
                list(&[("r1", 11)]),
                list(&[("r1", 5), ("r2", 0), ("r3", 1), ("queued", 0)]),
            ]
        );
        assert_eq!(pages(&session(&[2, 12]), "r1"), [list(&[("r1", 11)]), list(&[("r1", 1)])]);
        assert_eq!(pages(&session(&[]), ""), [list(&[("queued", 0)])]);
        assert_eq!(pages(&session(&[11]), ""), [list(&[("r0", 11)]), list(&[("queued", 0)])]);
        assert_eq!(pages(&session(&[1]), "nobody"), [list(&[])]);
    }

    #[test]
    fn a_result_names_the_place_of_its_rest() {
        let session = session(&[12, 11]);
        let of = |nth: usize| result(&session.ended[nth], "s");
        assert_eq!((of(0).run.unwrap().calls.len(), of(0).next_page_token), (11, "0.0.11".into()));
        assert_eq!((of(1).run.unwrap().calls.len(), of(1).next_page_token), (11, String::new()));
    }

    #[test]
    fn a_text_that_is_no_token_is_refused() {
        for text in ["x", "1", "1.2", "1.2.", "1.2.3.4", "-1.0.0", "1.2.x"] {
            assert_eq!(Place::read(text), None, "{text}");
        }
        assert_eq!(Place::read("7.1.2"), Some(Place { last: 7, run: 1, call: 2 }));
    }
}
