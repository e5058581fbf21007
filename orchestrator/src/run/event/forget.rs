//! A fact about a session that is no more.

use serde::{Deserialize, Serialize};

use crate::run::ids::SessionId;

/// A session was removed, and whoever kept something of its calls is to forget it. It stands in a
/// session of its own, which belongs to no team and is removed once that is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForgetAsked {
    /// Team of the removed session.
    pub team: String,
    /// The removed session.
    pub session: SessionId,
    /// Who kept something.
    pub keepers: Vec<Keeper>,
    /// When they are given up, Unix time in milliseconds: what they keep has expired by then.
    pub until_ms: i64,
}

/// Who kept something of a session's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Keeper {
    /// The tool service.
    pub service: String,
    /// The store of the instance that a call went to; empty = its memory only.
    pub store: String,
    /// The incarnation of that instance.
    pub incarnation: String,
}
