//! A session: a virtual actor, woken by its first message and folded away when it is idle.
//!
//! `handle` is its address, `mailbox` the way there, `message` what it understands, `actor` the thin
//! shell around [`mod@crate::run`], `log` its hand on the journal, `effects` what it starts, `running`
//! what of that is under way, `watchers` who is told, `pause` what stays while the journal takes
//! nothing, `quarantine` which sessions are refused.
//! Which sessions live in this process is known to [`Sessions`]. Next: `run`.

mod actor;
mod choose;
mod clock;
mod effects;
mod error;
mod forget;
mod handle;
mod inbox;
mod leave;
mod log;
mod mailbox;
mod message;
mod offer;
mod outcome;
mod pause;
mod plan;
mod quarantine;
mod registry;
mod repeat;
mod report;
mod rollback;
mod running;
mod watchers;

pub use self::{
    clock::Clock,
    effects::Unseen,
    error::{Refusal, SessionError},
    handle::SessionHandle,
    log::load_up_to,
    message::{Attached, Decision, Start, Started, Takeback, Watch, Wish},
    offer::Offers,
    plan::{Looked, TakenBack},
    registry::{Ownership, Sessions, Shared},
    watchers::{Glimpse, Noted, Notice},
};
pub(crate) use self::{clock::wall_ms, watchers::RunTracker};
