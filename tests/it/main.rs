//! Whole-system tests: one binary, one module per behaviour.

mod hook;
mod tidy;
