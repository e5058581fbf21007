//! The questions to the person: shown one at a time, with everything that was asked for spelled out.
//!
//! Control and invisible characters are escaped, so that what is shown is what would run. Keys typed
//! before a question was shown do not answer it. Next: `keys`.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;

use owo_colors::OwoColorize as _;

use super::keys::Keys;
use super::live::{Live, Seen};
use crate::client::shapes::Fact;
use crate::print;

/// A longer preview is shown from its beginning, with its size.
const PREVIEW_LIMIT: usize = 16 * 1024;

/// A call that waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The call.
    pub(super) call_id: String,
    /// Its tool and arguments.
    pub(super) call: Seen,
    /// What a person sees of it.
    pub(super) preview: String,
    /// Digest of the preview: the decision is on this one and on no other.
    pub(super) preview_digest: String,
    /// Why the person is asked.
    pub(super) reason: String,
}

impl Asked {
    /// As the fact tells it.
    pub(super) fn of(fact: &Fact, call: Seen) -> Self {
        Self {
            call_id: fact.text("call_id").to_owned(),
            call,
            preview: fact.text("preview").to_owned(),
            preview_digest: fact.text("preview_digest").to_owned(),
            reason: fact.text("reason").to_owned(),
        }
    }

    /// The question as it is printed.
    fn text(&self, has_colors: bool) -> String {
        let tool = print::visible(&self.call.tool);
        let mut text = if has_colors {
            format!("{} {} wants to run", "?".yellow().bold(), tool.bold())
        } else {
            format!("? {tool} wants to run")
        };
        if !self.reason.is_empty() {
            let _ = write!(text, ": {}", print::visible(&self.reason));
        }
        let (shown, rest) =
            cut(if self.preview.is_empty() { &self.call.arguments } else { &self.preview });
        for line in print::visible(shown).lines() {
            text.push_str("\n    ");
            text.push_str(line);
        }
        if rest > 0 {
            let _ = write!(text, "\n    … and {rest} more bytes");
        }
        text.push_str("\n  Run it? [y/n] ");
        text
    }
}

/// The questions that are open, the first of them on the screen.
#[derive(Debug, Default)]
pub(super) struct Question {
    waiting: VecDeque<Asked>,
    /// Keys are read as long as a question is on the screen.
    keys: Option<Keys>,
}

impl Question {
    /// Adds a question; it is shown when it is its turn.
    pub(super) fn add(&mut self, asked: Asked) {
        self.waiting.push_back(asked);
    }

    /// Takes a question back that was decided elsewhere.
    pub(super) fn remove(&mut self, call_id: &str) {
        let is_first = self.waiting.front().is_some_and(|asked| asked.call_id == call_id);
        if is_first && self.keys.take().is_some() {
            print::err("(decided elsewhere)");
        }
        self.waiting.retain(|asked| asked.call_id != call_id);
    }

    /// Takes all questions back.
    pub(super) fn close(&mut self) {
        self.waiting.clear();
        self.keys = None;
    }

    /// Puts the first question on the screen if it is not there yet; with none left, the screen is
    /// the display's again.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(super) fn put(&mut self, live: &mut Live) -> io::Result<()> {
        match (self.waiting.front(), &self.keys) {
            (Some(asked), None) => {
                // Before the question is seen: a fast answer must not be taken for an old key.
                self.keys = Some(Keys::open()?);
                live.pause(&asked.text(print::err_has_colors()));
            }
            (None, _) => live.resume(),
            (Some(_), Some(_)) => {}
        }
        Ok(())
    }

    /// Waits for the answer to the question on the screen; for ever if there is none. Dropping the
    /// future loses nothing.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(super) async fn answered(&mut self) -> io::Result<(Asked, bool)> {
        let is_approved = match &mut self.keys {
            Some(keys) => loop {
                match decision(keys.next().await?) {
                    Some(is_approved) => break is_approved,
                    None => print::prompt("Type y or n. "),
                }
            },
            None => std::future::pending().await,
        };
        self.keys = None;
        print::err(if is_approved { "y" } else { "n" });
        let asked = self.waiting.pop_front().ok_or(io::ErrorKind::NotFound)?;
        Ok((asked, is_approved))
    }
}

/// What a key says; `None` if it is no answer.
fn decision(key: u8) -> Option<bool> {
    match key {
        b'y' | b'Y' => Some(true),
        b'n' | b'N' => Some(false),
        _ => None,
    }
}

/// The beginning of a text and how many bytes are left out.
fn cut(text: &str) -> (&str, usize) {
    let end = text.floor_char_boundary(PREVIEW_LIMIT);
    (&text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(preview: &str) -> Asked {
        Asked {
            call_id: "c1".into(),
            call: Seen { tool: "run_command".into(), arguments: "{}".into() },
            preview: preview.into(),
            preview_digest: "d".into(),
            reason: "it starts a program".into(),
        }
    }

    #[test]
    fn the_question_shows_what_would_run_and_hides_nothing() {
        assert_eq!(
            asked("uname -s\nrm \u{1b}[1A\u{202e}x").text(false),
            "? run_command wants to run: it starts a program\n    uname -s\n    \
             rm \\u{1b}[1A\\u{202e}x\n  Run it? [y/n] "
        );
    }

    #[test]
    fn only_y_and_n_are_answers() {
        let keys = [b'y', b'Y', b'n', b'N', b'x', b' '];
        let answers = [Some(true), Some(true), Some(false), Some(false), None, None];
        assert_eq!(keys.map(decision), answers);
    }

    #[test]
    fn arguments_are_shown_where_there_is_no_preview_and_length_is_told() {
        assert!(asked("").text(false).contains("\n    {}\n"));
        let long = "x".repeat(PREVIEW_LIMIT + 7);
        assert!(asked(&long).text(false).contains("… and 7 more bytes"));
    }
}
