//! Live steps on standard error: a spinner for what is being done, a line for what was done.
//!
//! It only shows; off a terminal it keeps the calls in mind and shows nothing. Next: `approval`.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::{AnsiColors, OwoColorize as _};
use tokio::time::{Instant, sleep_until};

use crate::client::shapes::{Fact, Glimpse};
use crate::commands::words;
use crate::print;

/// Characters of arguments and results in a line.
const BRIEF: usize = 60;
/// How long a model may be silent before that is said.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// A call as the facts tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its tool.
    pub(super) tool: String,
    /// Its arguments, JSON text.
    pub(super) arguments: String,
}

/// The display.
#[derive(Debug)]
pub(super) struct Live {
    /// Nothing where nobody looks.
    screen: Option<MultiProgress>,
    calls: BTreeMap<String, Seen>,
    spinners: BTreeMap<String, ProgressBar>,
    /// The reply in the making.
    reply: String,
    /// The model that was asked and has said nothing yet, and when that is to be said.
    silent: Option<(String, Instant)>,
    /// Lines that wait until the question on the screen is answered; `None` = there is none.
    held: Option<Vec<String>>,
    has_colors: bool,
}

/// The spinner of the model call; calls have theirs by id.
const MODEL: &str = "";

impl Live {
    /// A display that shows something, or not.
    pub(super) fn new(is_shown: bool) -> Self {
        let screen =
            is_shown.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        let has_colors = print::err_has_colors();
        Self {
            screen,
            calls: BTreeMap::new(),
            spinners: BTreeMap::new(),
            reply: String::new(),
            silent: None,
            held: None,
            has_colors,
        }
    }

    /// What a fact changes on the screen.
    pub(super) fn fact(&mut self, fact: &Fact) {
        let call_id = fact.text("call_id");
        match fact.kind.as_str() {
            "model.requested" => {
                self.reply.clear();
                let model = fact.text("model").to_owned();
                self.spin(MODEL, &format!("{model} thinks"));
                self.silent = Some((model, Instant::now() + PATIENCE));
            }
            "model.replied" | "model.failed" => {
                self.silent = None;
                self.stop(MODEL);
            }
            "call.planned" => {
                let seen = Seen {
                    tool: fact.text("tool").to_owned(),
                    arguments: fact.text("arguments").to_owned(),
                };
                self.spin(call_id, &seen.line());
                self.calls.insert(call_id.to_owned(), seen);
            }
            "attempt.started" if fact.data["attempt"].as_u64().is_some_and(|n| n > 1) => {
                let text = format!("{} (again)", self.call(call_id).line());
                self.spin(call_id, &text);
            }
            "call.settled" => {
                self.stop(call_id);
                self.settled(fact);
            }
            "limit.hit" | "progress.missed" => self.note(fact.text("message")),
            "run.ended" => {
                self.silent = None;
                self.clear();
            }
            _ => {}
        }
    }

    /// Waits until the model's silence is worth a word; for ever while it is not.
    pub(super) async fn silence(&self) {
        match &self.silent {
            Some((_, due)) => sleep_until(*due).await,
            None => std::future::pending().await,
        }
    }

    /// Says, once for each time it is asked, that the model is silent: also off a terminal, where
    /// nothing else would tell a person from a program that hangs.
    pub(super) fn tell_silence(&mut self) {
        let Some((model, _)) = self.silent.take() else { return };
        self.say(&format!("waiting for the model ({model}), which has not answered yet"));
    }

    /// Says something that a person must know, also off a terminal.
    fn say(&mut self, text: &str) {
        if self.screen.is_some() {
            self.note(text);
        } else {
            print::err(&format!("callboard: {}", print::visible(text)));
        }
    }

    /// What a glimpse changes on the screen.
    pub(super) fn glimpse(&mut self, glimpse: &Glimpse) {
        if !glimpse.call_id.is_empty() {
            let text = format!(
                "{}: {}",
                self.call(&glimpse.call_id).tool,
                words::brief(&glimpse.text, BRIEF)
            );
            self.spin(&glimpse.call_id.clone(), &text);
            return;
        }
        if glimpse.request == 0 {
            // A word about the run itself, such as why it is paused.
            self.say(&glimpse.text);
            return;
        }
        if glimpse.restarted {
            self.reply.clear();
        }
        if !glimpse.text.is_empty() {
            self.silent = None;
        }
        self.reply.push_str(&glimpse.text);
        let last = self.reply.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let text = words::brief(last, BRIEF);
        self.spin(MODEL, &text);
    }

    /// The call, as far as it was told.
    pub(super) fn call(&self, call_id: &str) -> Seen {
        self.calls.get(call_id).cloned().unwrap_or_default()
    }

    /// A line for the person.
    pub(super) fn note(&mut self, text: &str) {
        self.line(&format!("  {}", self.dim(&print::visible(text))));
    }

    /// Puts a question on the screen and keeps everything else off it until [`Self::resume`].
    pub(super) fn pause(&mut self, text: &str) {
        self.clear();
        self.held.get_or_insert_default();
        print::prompt(text);
    }

    /// The question is gone: shows what was held back.
    pub(super) fn resume(&mut self) {
        for line in self.held.take().into_iter().flatten() {
            self.line(&line);
        }
    }

    /// Prints a line above the spinners; nothing where nobody looks.
    fn line(&mut self, text: &str) {
        match (&self.screen, &mut self.held) {
            (None, _) => {}
            (Some(_), Some(held)) => held.push(text.to_owned()),
            (Some(screen), None) => screen.suspend(|| print::err(text)),
        }
    }

    fn settled(&mut self, fact: &Fact) {
        let seen = self.call(fact.text("call_id"));
        let took = fact.data["duration_ms"].as_u64().map(words::duration).unwrap_or_default();
        let (mark, said) = match fact.text("status") {
            "ok" => (self.mark("✓", AnsiColors::Green), words::brief(fact.text("content"), BRIEF)),
            status => {
                let why = fact.text("failure_message");
                let why = if why.is_empty() { fact.text("content") } else { why };
                (
                    self.mark("✗", AnsiColors::Red),
                    format!("{status}: {}", words::brief(why, 2 * BRIEF)),
                )
            }
        };
        self.line(&format!("{mark} {}  {said}  {}", seen.line(), self.dim(&took)));
    }

    fn spin(&mut self, key: &str, text: &str) {
        let (Some(screen), None) = (&self.screen, &self.held) else { return };
        let spinner = self.spinners.entry(key.to_owned()).or_insert_with(|| {
            let spinner = screen.add(ProgressBar::new_spinner());
            let template =
                if self.has_colors { "{spinner:.cyan} {wide_msg}" } else { "{spinner} {wide_msg}" };
            if let Ok(style) = ProgressStyle::with_template(template) {
                spinner.set_style(
                    style.tick_strings(&["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏", " "]),
                );
            }
            spinner.enable_steady_tick(TICK);
            spinner
        });
        spinner.set_message(text.to_owned());
    }

    fn stop(&mut self, key: &str) {
        if let Some(spinner) = self.spinners.remove(key) {
            spinner.finish_and_clear();
        }
    }

    fn clear(&mut self) {
        for spinner in std::mem::take(&mut self.spinners).into_values() {
            spinner.finish_and_clear();
        }
    }

    fn dim(&self, text: &str) -> String {
        if self.has_colors { text.dimmed().to_string() } else { text.to_owned() }
    }

    fn mark(&self, mark: &str, color: AnsiColors) -> String {
        if self.has_colors { mark.color(color).to_string() } else { mark.to_owned() }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Seen {
    /// Tool and arguments on one line.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.tool, words::brief(&self.arguments, BRIEF))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_remembered_where_nothing_is_shown() {
        let mut live = Live::new(false);
        live.fact(&Fact {
            kind: "call.planned".into(),
            data: json!({"call_id": "c1", "tool": "calculate", "arguments": "{\"e\": 1}"}),
            ..Fact::default()
        });
        assert_eq!(live.call("c1").line(), "calculate {\"e\": 1}");
        assert_eq!(live.call("c2"), Seen::default());
    }
}
