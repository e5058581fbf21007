//! Puts the fragments of tool calls together, whatever a provider makes of index, id and name.
//!
//! A fragment belongs to the call with its index, else its id, else to the last one, unless it
//! plainly begins another: providers number every call 0, repeat id and name in each fragment, leave
//! them out, or send a new id with each. What two readings would fit is read so that nothing runs
//! twice. Arguments are only collected here; whether they are JSON is asked in `call`.

use std::collections::HashSet;

use serde_json::Value;
use uuid::Uuid;

use super::{super::Wanted, tool_names::ToolNames};
use crate::run::event::Finish;

/// Index of the one call that the old `function_call` field can carry.
const LEGACY_INDEX: u64 = u64::MAX;

/// The calls of one reply, as far as they have come.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    names: &'a ToolNames,
    slots: Vec<Slot>,
}

/// The reply ended where a call without arguments cannot be told from half a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HalfACall {
    /// The tool.
    pub(super) name: String,
}

#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// One fragment, read generously.
#[derive(Debug, Default)]
struct Fragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Piece,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// All arguments at once, as an object in place of text.
    Whole(String),
}

impl Default for Piece {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl<'a> Calls<'a> {
    pub(super) fn new(names: &'a ToolNames) -> Self {
        Self { names, slots: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes one entry of `tool_calls`; returns how many bytes it adds.
    pub(super) fn take(&mut self, entry: &Value) -> usize {
        let mut fragment = Fragment::of(entry);
        fragment.index = entry.get("index").and_then(number);
        self.add(fragment)
    }

    /// Takes an entry of a whole answer: each is a call of its own, whatever its index says.
    pub(super) fn take_whole(&mut self, entry: &Value) -> usize {
        let fragment = Fragment::of(entry);
        self.slots.push(Slot::default());
        self.extend(self.slots.len() - 1, fragment)
    }

    /// Takes the old `function_call` field.
    pub(super) fn take_legacy(&mut self, entry: &Value) -> usize {
        self.add(Fragment { index: Some(LEGACY_INDEX), ..Fragment::of(entry) })
    }

    /// The calls, their ids unique, their names those of the catalog.
    ///
    /// # Errors
    /// [`HalfACall`] if the reply was cut off (`finish`) right where a call's arguments would
    /// begin: nothing tells it from a call without arguments, and it must not run.
    pub(super) fn finish(self, finish: Finish) -> Result<Vec<Wanted>, HalfACall> {
        let is_cut = match finish {
            Finish::Length | Finish::ContentFilter => true,
            Finish::Stop | Finish::ToolCalls | Finish::GaveUp | Finish::Other => false,
        };
        let mut ids = HashSet::new();
        let mut calls = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            if slot.name.is_empty() && slot.arguments.trim().is_empty() {
                continue;
            }
            let name = self.names.ours(&slot.name).to_owned();
            if is_cut && slot.arguments.trim().is_empty() {
                return Err(HalfACall { name });
            }
            let model_id = unique(&slot.id, &mut ids);
            calls.push(Wanted { model_id, name, arguments: slot.arguments });
        }
        Ok(calls)
    }

    fn add(&mut self, fragment: Fragment) -> usize {
        let found = self.slots.iter().rposition(|slot| match fragment.index {
            Some(_) => slot.index == fragment.index,
            None => fragment.id.is_empty() || slot.id == fragment.id,
        });
        let last = self.slots.len().checked_sub(1);
        let found = found.or_else(|| {
            // An unknown id without a name only continues what is there.
            last.filter(|_| fragment.index.is_none() && fragment.name.is_empty())
        });
        let at = found.filter(|at| !self.begins_another(&self.slots[*at], &fragment));
        let at = at.unwrap_or_else(|| {
            self.slots.push(Slot { index: fragment.index, ..Slot::default() });
            self.slots.len() - 1
        });
        self.extend(at, fragment)
    }

    /// Whether a fragment that could continue `slot` is the beginning of another call.
    fn begins_another(&self, slot: &Slot, fragment: &Fragment) -> bool {
        if fragment.name.is_empty() {
            return false;
        }
        let is_same_name = fragment.name == slot.name;
        let has_other_id = !fragment.id.is_empty() && !slot.id.is_empty() && fragment.id != slot.id;
        let both_offered =
            self.names.is_offered(&slot.name) && self.names.is_offered(&fragment.name);
        let has_same_id = !fragment.id.is_empty() && fragment.id == slot.id;
        let brings_arguments = !fragment.arguments.text().trim().is_empty();
        match slot.progress() {
            Progress::None | Progress::Open | Progress::Empty if has_same_id => false,
            Progress::None if has_other_id => !is_same_name || !brings_arguments,
            Progress::None => !is_same_name && both_offered,
            Progress::Open => !is_same_name && (has_other_id || both_offered),
            Progress::Empty => has_other_id || (!is_same_name && both_offered),
            Progress::Whole => {
                has_other_id
                    || (brings_arguments && fragment.arguments.text() != slot.arguments)
                    || (!is_same_name && both_offered)
            }
        }
    }

    fn extend(&mut self, at: usize, fragment: Fragment) -> usize {
        let slot = &mut self.slots[at];
        let before = slot.size();
        if slot.id.is_empty() {
            slot.id = fragment.id;
        }
        let joined = format!("{}{}", slot.name, fragment.name);
        let is_longer = fragment.name.starts_with(&slot.name);
        if slot.name.is_empty() || (is_longer && self.names.is_offered(&fragment.name)) {
            slot.name = fragment.name;
        } else if fragment.name != slot.name
            && slot.arguments.is_empty()
            && (self.names.is_offered(&joined) || !self.names.is_offered(&slot.name))
        {
            slot.name = joined;
        }
        match fragment.arguments {
            Piece::Whole(whole) => slot.arguments = whole,
            Piece::Text(piece) => slot.add_arguments(&piece),
        }
        slot.size().saturating_sub(before)
    }
}

/// How far the arguments of a call have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    None,
    Open,
    /// `{}`: some providers begin so and then send the real ones.
    Empty,
    Whole,
}

impl Slot {
    fn progress(&self) -> Progress {
        match self.arguments.trim() {
            "" => Progress::None,
            "{}" => Progress::Empty,
            text if is_whole(text) => Progress::Whole,
            _ => Progress::Open,
        }
    }

    fn add_arguments(&mut self, piece: &str) {
        let begins_anew = piece.trim_start().starts_with('{');
        // An object cannot begin twice, so such a piece repeats what is there, or replaces it.
        let repeats = begins_anew
            && !self.arguments.is_empty()
            && (self.arguments.trim() == "{}" || piece.starts_with(self.arguments.as_str()));
        if repeats {
            piece.clone_into(&mut self.arguments);
        } else {
            self.arguments.push_str(piece);
        }
    }

    /// Bytes held, with a share for the slot itself so that empty calls count too.
    fn size(&self) -> usize {
        64 + self.id.len() + self.name.len() + self.arguments.len()
    }
}

impl Fragment {
    fn of(entry: &Value) -> Self {
        let function = entry.get("function").filter(|function| function.is_object());
        let function = function.unwrap_or(entry);
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => Piece::Text(text.clone()),
            Some(whole @ (Value::Object(_) | Value::Array(_))) => Piece::Whole(whole.to_string()),
            _ => Piece::default(),
        };
        Self { index: None, id: text(entry.get("id")), name: text(function.get("name")), arguments }
    }
}

impl Piece {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Whole(text) => text,
        }
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Whether a text is one whole JSON value. The cheap test comes first: it is asked per fragment.
fn is_whole(text: &str) -> bool {
    text.ends_with(['}', ']']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The id, or a new one where it is missing, or a numbered one where it was used before.
fn unique(id: &str, used: &mut HashSet<String>) -> String {
    let wanted =
        if id.is_empty() { format!("call_{}", Uuid::new_v4().simple()) } else { id.to_owned() };
    let mut unique = wanted.clone();
    let mut number = 2_u32;
    while !used.insert(unique.clone()) {
        unique = format!("{wanted}-{number}");
        number += 1;
    }
    unique
}

#[cfg(test)]
mod tests;
