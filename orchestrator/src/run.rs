//! A run is a fold over its events: pure, without clock, randomness or I/O.
//!
//! [`event`] holds the facts, [`state`] folds them, [`next`] says what should be running now,
//! [`limits`] when to stop, [`context`] what a model gets to see.

pub mod context;
pub mod event;
pub mod ids;
