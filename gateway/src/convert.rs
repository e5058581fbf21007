//! Wire messages as the JSON that clients get. Texts that are JSON (arguments, structured content,
//! the fields of a fact) are passed on as they are: nothing is parsed and written anew
//! (`convert/raw.rs`). Runs and calls are in `convert/run.rs`, tools in `convert/tool.rs`.

mod raw;
mod run;
mod tool;

use callboard_proto::agent::{Fact, Glimpse, RollbackStep, Session};
use serde::Serialize;

use self::raw::Raw;
pub(crate) use self::{
    raw::{DEPTH, depth},
    run::{DirectJson, RunJson},
    tool::ToolJson,
};

/// A session as lists show it; times are Unix time in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct SessionJson<'a> {
    id: &'a str,
    title: &'a str,
    agent: &'a str,
    kind: &'a str,
    state: &'a str,
    opened_at: i64,
    updated_at: i64,
    last_seq: u64,
}

impl<'a> From<&'a Session> for SessionJson<'a> {
    fn from(session: &'a Session) -> Self {
        Self {
            id: &session.id,
            title: &session.title,
            agent: &session.agent,
            kind: &session.kind,
            state: &session.state,
            opened_at: session.opened_ms,
            updated_at: session.updated_ms,
            last_seq: session.last_seq,
        }
    }
}

/// A durable event.
#[derive(Debug, Serialize)]
pub(crate) struct FactJson<'a> {
    seq: u64,
    r#type: &'a str,
    session: &'a str,
    run: &'a str,
    at: i64,
    data: Raw<'a>,
}

impl<'a> FactJson<'a> {
    pub(crate) fn new(session: &'a str, fact: &'a Fact) -> Self {
        Self {
            seq: fact.seq,
            r#type: &fact.r#type,
            session,
            run: &fact.run,
            at: fact.wall_ms,
            data: Raw::fields(&fact.json),
        }
    }
}

/// A durable event as exports hold it: everything that a fold needs.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedJson<'a> {
    seq: u64,
    wall_ms: i64,
    elapsed_ms: u64,
    trace_context: &'a str,
    event: EventJson<'a>,
}

#[derive(Debug, Serialize)]
struct EventJson<'a> {
    r#type: &'a str,
    data: Raw<'a>,
}

impl<'a> From<&'a Fact> for RecordedJson<'a> {
    fn from(fact: &'a Fact) -> Self {
        Self {
            seq: fact.seq,
            wall_ms: fact.wall_ms,
            elapsed_ms: fact.elapsed_ms,
            trace_context: &fact.trace_context,
            event: EventJson { r#type: &fact.r#type, data: Raw::fields(&fact.json) },
        }
    }
}

/// Something that is being made.
#[derive(Debug, Serialize)]
pub(crate) struct GlimpseJson<'a> {
    run: &'a str,
    request: u32,
    call_id: &'a str,
    offset: u64,
    text: &'a str,
    restarted: bool,
}

impl<'a> From<&'a Glimpse> for GlimpseJson<'a> {
    fn from(glimpse: &'a Glimpse) -> Self {
        Self {
            run: &glimpse.run,
            request: glimpse.request,
            call_id: &glimpse.call_id,
            offset: glimpse.offset,
            text: &glimpse.text,
            restarted: glimpse.restarted,
        }
    }
}

/// One call of a rollback.
#[derive(Debug, Serialize)]
pub(crate) struct RollbackJson<'a> {
    call_id: &'a str,
    status: &'a str,
    message: &'a str,
}

impl<'a> From<&'a RollbackStep> for RollbackJson<'a> {
    fn from(step: &'a RollbackStep) -> Self {
        Self { call_id: &step.call_id, status: &step.status, message: &step.message }
    }
}
