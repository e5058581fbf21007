//! What running effects report to their actor while they run.

use crate::{
    call::{Progress, Record},
    model::Delta,
};

/// A report of a running effect.
#[derive(Debug)]
pub(super) enum Report {
    /// A fact to append.
    Record(Record),
    /// A sign of life of a call.
    Progress(Progress),
    /// A piece of a reply.
    Delta { request: u32, delta: Delta },
}
