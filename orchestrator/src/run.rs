//! A run is a fold over its events: pure, without clock, randomness or I/O.
//!
//! [`event`] holds the facts, [`state`] folds them in, [`next`] says what should be running now
//! ([`effect`]), [`limits`] when to stop, [`end`] how it ended, [`context`] what a model gets to
//! see. The shell around it is `session`.

pub mod ids;
pub mod event;
pub mod call;
pub mod choice;
pub mod rollback;
mod forget;
pub mod state;
pub mod effect;
pub mod next;
pub mod limits;
pub mod end;
pub mod context;
pub mod replay;

#[cfg(test)]
mod tests;
