//! What a call came to, before it is worded: the domain's side of the wire's `Outcome`.

use bytes::Bytes;

use super::failure::Failure;

/// What a successful call returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Text for the model.
    pub content: String,
    /// Structured content, JSON text; empty if there is none.
    pub structured: String,
    /// Key for a rollback; empty if there is nothing to take back.
    pub undo_token: String,
    /// Remarks that are no failure.
    pub diagnostics: Vec<String>,
    /// The whole result where `content` is only a part of it; empty if it is all.
    pub artifact: Bytes,
    /// Whether it comes from the open world, whatever the tool says of itself.
    pub is_untrusted: bool,
    /// A sentence of ours that follows the result.
    pub note: String,
}

impl Output {
    /// Text and nothing else.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

/// How a call that was let through ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// It did what it was asked.
    Done(Output),
    /// It did not.
    Failed(Failure),
    /// It may or may not have taken effect.
    Unknown {
        /// When it was sent, Unix time in milliseconds.
        started_ms: i64,
    },
}
