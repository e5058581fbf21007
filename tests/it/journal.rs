//! The journal, on both backends and their real servers: one suite for what they promise alike, and
//! one file for what can happen to each alone.

mod append;
mod crowd;
mod damage;
pub(crate) mod deployments;
mod disk;
mod fencing;
mod fixture;
pub(crate) mod machine;
mod open;
pub(crate) mod outage;
mod place;
mod server;
mod tls;
pub(crate) mod whole;

use callboard_orchestrator::{
    journal::{Append, Epoch, SessionState},
    run::{
        event::{Event, ProgressMissed, Recorded, SessionOpened},
        ids::SessionId,
    },
};
use uuid::Uuid;

pub(crate) use self::machine::check as check_machine;

/// The epoch under which the suite appends.
const EPOCH: Epoch = Epoch { generation: 1, revision: 7 };
/// An epoch before it.
const OLDER: Epoch = Epoch { generation: 1, revision: 6 };
/// An epoch after it.
const NEWER: Epoch = Epoch { generation: 1, revision: 8 };

/// An append of `events`, numbered from `expected_seq` on, in partition 3.
fn append(session: &str, expected_seq: u64, events: Vec<Event>) -> Append {
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
fn opened(team: &str) -> Event {
    Event::SessionOpened(SessionOpened {
        team: team.to_owned(),
        agent: "default".to_owned(),
        title: "a title".to_owned(),
        ..SessionOpened::default()
    })
}

/// An event that says `text`.
fn progress(text: &str) -> Event {
    Event::ProgressMissed(ProgressMissed { run: "r".into(), message: text.to_owned() })
}

/// What events say, or of which kind they are.
fn texts(events: &[Recorded]) -> Vec<String> {
    let text = |recorded: &Recorded| match &recorded.event {
        Event::ProgressMissed(event) => event.message.clone(),
        event => event.kind().to_owned(),
    };
    events.iter().map(text).collect()
}
