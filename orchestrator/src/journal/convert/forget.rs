//! The fact about a session that is no more, both ways.
//!
//! Next: `word.rs`.

use callboard_proto::journal as wire;

use crate::run::event::{ForgetAsked, Keeper};

impl From<ForgetAsked> for wire::ForgetAsked {
    fn from(event: ForgetAsked) -> Self {
        Self {
            team: event.team,
            session: event.session.to_string(),
            keepers: event.keepers.into_iter().map(Into::into).collect(),
            until_ms: event.until_ms,
        }
    }
}

impl From<wire::ForgetAsked> for ForgetAsked {
    fn from(event: wire::ForgetAsked) -> Self {
        Self {
            team: event.team,
            session: event.session.into(),
            keepers: event.keepers.into_iter().map(Into::into).collect(),
            until_ms: event.until_ms,
        }
    }
}

impl From<Keeper> for wire::Keeper {
    fn from(keeper: Keeper) -> Self {
        let Keeper { service, store, incarnation } = keeper;
        Self { service, store, incarnation }
    }
}

impl From<wire::Keeper> for Keeper {
    fn from(keeper: wire::Keeper) -> Self {
        let wire::Keeper { service, store, incarnation } = keeper;
        Self { service, store, incarnation }
    }
}
