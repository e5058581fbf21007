//! The text of an answer while it comes: what may be shown, what is thought, what is a call.
//!
//! Text that may turn out to be the beginning of a mark is held back until it is clear.

use super::{
    super::ToolDeclaration,
    markup::{self, Call, MARKS, Mark},
    tool_names::ToolNames,
};

const THINK_OPEN: &str = "<think>";
const THINK_CLOSE: &str = "</think>";

/// Where in the text we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing but white space so far.
    Start,
    /// In thoughts that a local server left in the text.
    Thought,
    /// Between thoughts and the answer.
    Gap,
    /// In the answer.
    Text,
    /// Behind the opening mark of a call.
    Call(Mark),
}

/// The text of one reply.
#[derive(Debug)]
pub(super) struct Content<'a> {
    tools: &'a [ToolDeclaration],
    names: &'a ToolNames,
    place: Place,
    /// Not yet clear what it is.
    pending: String,
    /// Bytes of `pending` that were searched for a closing mark before.
    searched: usize,
    /// Clear, and not yet shown.
    fresh: String,
    text: String,
    reasoning: String,
    calls: Vec<Call>,
}

/// All of it, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The answer.
    pub(super) text: String,
    /// The end of `text` that was not shown yet.
    pub(super) unshown: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<Call>,
    /// The text ends inside a call.
    pub(super) is_call_open: bool,
}

impl<'a> Content<'a> {
    pub(super) fn new(tools: &'a [ToolDeclaration], names: &'a ToolNames) -> Self {
        Self {
            tools,
            names,
            place: Place::Start,
            pending: String::new(),
            searched: 0,
            fresh: String::new(),
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, piece: &str) {
        self.pending.push_str(piece);
        while self.advance() {}
    }

    /// Text that may be shown now.
    pub(super) fn take_shown(&mut self) -> String {
        std::mem::take(&mut self.fresh)
    }

    /// The reply is over.
    pub(super) fn finish(mut self) -> Parts {
        let mut is_call_open = false;
        let rest = std::mem::take(&mut self.pending);
        match self.place {
            Place::Start | Place::Gap | Place::Text => self.show(&rest),
            Place::Thought => self.reasoning.push_str(&rest),
            Place::Call(mark) => {
                // The closing mark is often a stop token that never reaches us.
                if let Some(calls) = markup::calls(mark, &rest, self.tools, self.names) {
                    self.calls.extend(calls);
                } else {
                    is_call_open = rest.trim_start().starts_with(['{', '[', '<']);
                    self.show(mark.open);
                    self.show(&rest);
                }
            }
        }
        if !self.calls.is_empty() {
            let kept = self.text.trim_end().len();
            let dropped = self.text.len() - kept;
            self.text.truncate(kept);
            self.fresh.truncate(self.fresh.len().saturating_sub(dropped));
        }
        Parts {
            text: self.text,
            unshown: self.fresh,
            reasoning: self.reasoning,
            calls: self.calls,
            is_call_open,
        }
    }

    /// Makes one step; false if more text is needed.
    fn advance(&mut self) -> bool {
        match self.place {
            Place::Start => self.begin(),
            Place::Thought => {
                let Some(end) = self.find(THINK_CLOSE) else { return false };
                let rest = self.pending.split_off(end + THINK_CLOSE.len());
                self.reasoning.push_str(self.pending[..end].trim());
                self.pending = rest;
                self.place = Place::Gap;
                true
            }
            Place::Gap => {
                let kept = self.pending.trim_start().len();
                self.pending.drain(..self.pending.len() - kept);
                let has_text = kept > 0;
                if has_text {
                    self.place = Place::Text;
                }
                has_text
            }
            Place::Text => self.text_up_to_a_mark(),
            Place::Call(mark) => self.close(mark),
        }
    }

    fn begin(&mut self) -> bool {
        let begun = self.pending.trim_start();
        if let Some(rest) = begun.strip_prefix(THINK_OPEN) {
            self.pending = rest.to_owned();
            self.place = Place::Thought;
            return true;
        }
        if THINK_OPEN.starts_with(begun) {
            return false;
        }
        self.place = Place::Text;
        true
    }

    fn text_up_to_a_mark(&mut self) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let marks = if self.tools.is_empty() { &[][..] } else { MARKS };
        let first = marks
            .iter()
            .filter_map(|mark| pending.find(mark.open).map(|at| (at, *mark)))
            .min_by_key(|(at, _)| *at);
        if let Some((at, mark)) = first {
            self.show(&pending[..at]);
            pending[at + mark.open.len()..].clone_into(&mut self.pending);
            self.place = Place::Call(mark);
            return true;
        }
        let clear = pending.len() - half_a_mark(&pending, marks);
        self.show(&pending[..clear]);
        pending[clear..].clone_into(&mut self.pending);
        false
    }

    fn close(&mut self, mark: Mark) -> bool {
        let Some(close) = mark.close else { return false };
        let Some(end) = self.find(close) else { return false };
        let pending = std::mem::take(&mut self.pending);
        let (body, rest) = (&pending[..end], &pending[end + close.len()..]);
        match markup::calls(mark, body, self.tools, self.names) {
            Some(calls) => self.calls.extend(calls),
            None => self.show(&format!("{}{body}{close}", mark.open)),
        }
        rest.clone_into(&mut self.pending);
        self.place = Place::Text;
        true
    }

    /// Where `mark` is in what is pending; what was searched before is not searched again.
    fn find(&mut self, mark: &str) -> Option<usize> {
        let mut from = self.searched.saturating_sub(mark.len());
        while !self.pending.is_char_boundary(from) {
            from -= 1;
        }
        let found = self.pending[from..].find(mark).map(|at| from + at);
        self.searched = if found.is_some() { 0 } else { self.pending.len() };
        found
    }

    fn show(&mut self, text: &str) {
        self.text.push_str(text);
        self.fresh.push_str(text);
    }
}

/// Bytes at the end of `text` that may be the beginning of a mark.
fn half_a_mark(text: &str, marks: &[Mark]) -> usize {
    let longest = marks.iter().map(|mark| mark.open.len()).max().unwrap_or(0);
    let from = text.len().saturating_sub(longest);
    let ends = (from..text.len()).filter(|at| text.is_char_boundary(*at));
    ends.map(|at| &text[at..])
        .find(|end| marks.iter().any(|mark| mark.open.starts_with(end)))
        .map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools() -> Vec<ToolDeclaration> {
        vec![ToolDeclaration {
            name: "weather".to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            examples: Vec::new(),
        }]
    }

    /// Feeds a text in pieces of `size` characters; what was shown must add up to the text.
    fn read(text: &str, tools: &[ToolDeclaration], size: usize) -> Parts {
        let names = ToolNames::new(tools.iter().map(|tool| tool.name.as_str()));
        let mut content = Content::new(tools, &names);
        let mut shown = String::new();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(size) {
            content.take(&piece.iter().collect::<String>());
            shown.push_str(&content.take_shown());
        }
        let parts = content.finish();
        shown.push_str(&parts.unshown);
        assert_eq!(shown.trim_end(), parts.text.trim_end(), "{text:?} by {size}");
        parts
    }

    #[test]
    fn calls_and_thoughts_are_taken_out_however_the_text_is_cut() {
        let call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n";
        let rows: &[(String, &str, &str, usize)] = &[
            ("plain text".into(), "plain text", "", 0),
            ("价格 < 3 <b>bold</b> [TOOL".into(), "价格 < 3 <b>bold</b> [TOOL", "", 0),
            (format!("I will check.\n{call}</tool_call>"), "I will check.", "", 1),
            (format!("{call}</tool_call>\n{call}</tool_call>"), "", "", 2),
            (format!("{call}</tool_call> and then"), " and then", "", 1),
            (call.into(), "", "", 1),
            ("<think>two\nlines</think>\n\nYes.".into(), "Yes.", "two\nlines", 0),
            (format!(" <think>hm</think>{call}</tool_call>"), "", "hm", 1),
            ("a <think> in the middle".into(), "a <think> in the middle", "", 0),
            ("say <tool_call>x</tool_call>!".into(), "say <tool_call>x</tool_call>!", "", 0),
            (
                "<tool_call>{\"name\":\"other\"}</tool_call>".into(),
                "<tool_call>{\"name\":\"other\"}</tool_call>",
                "",
                0,
            ),
        ];
        for (text, expected, reasoning, calls) in rows {
            for size in 1..=text.chars().count() {
                let parts = read(text, &tools(), size);
                assert_eq!(parts.text, *expected, "{text:?} by {size}");
                assert_eq!(parts.reasoning, *reasoning, "{text:?} by {size}");
                assert_eq!(parts.calls.len(), *calls, "{text:?} by {size}");
                assert!(!parts.is_call_open, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn a_call_that_is_cut_off_is_no_call() {
        let text = "<tool_call>{\"name\": \"weather\", \"argum";
        let parts = read(text, &tools(), 5);
        assert!(parts.is_call_open && parts.calls.is_empty());
        assert_eq!(parts.text, text);
    }

    #[test]
    fn without_tools_markup_is_text() {
        let text = "<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>";
        assert_eq!(read(text, &[], 4).text, text);
    }
}
