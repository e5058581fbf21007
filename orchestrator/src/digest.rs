//! SHA-256 over several texts, each kept apart from the next, as lower-case hex.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// A digest that is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Adds a text; its length goes with it, so that two texts never read like one.
    pub(crate) fn field(&mut self, text: &str) {
        self.0.update(text.len().to_be_bytes());
        self.0.update(text.as_bytes());
    }

    /// The digest, lower-case hex.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
