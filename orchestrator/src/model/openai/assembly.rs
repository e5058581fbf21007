//! Makes one regular reply of whatever chunks a provider sends.

use serde_json::Value;

use super::{
    super::{Reply, ToolDeclaration, Wanted},
    calls::Calls,
    content::Content,
    tool_names::ToolNames,
    wire::Part,
};
use crate::run::event::Finish;

/// Why there is no reply.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// The provider sent an error in place of a reply.
    Provider(Value),
    /// The stream ended before the model said that it was done.
    CutShort,
    /// An event that is not JSON; its beginning.
    Garbage(String),
    /// JSON, and no reply.
    NoChoice,
    /// The text ends inside a call.
    OpenCall,
    /// The reply ended at its output limit, where half a call cannot be told from a whole one.
    HalfACall(String),
    /// Larger than we take.
    TooLarge,
}

/// A reply, and the end of its text that was not shown yet.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) reply: Reply,
    pub(super) unshown: String,
}

/// One reply, as far as it has come.
#[derive(Debug)]
pub(super) struct Assembly<'a> {
    content: Content<'a>,
    calls: Calls<'a>,
    reasoning: String,
    finish: Option<String>,
    usage: (u64, u64),
    has_choice: bool,
    is_done: bool,
    size: usize,
    limit: usize,
}

impl<'a> Assembly<'a> {
    /// An empty reply that may hold `limit` bytes.
    pub(super) fn new(tools: &'a [ToolDeclaration], names: &'a ToolNames, limit: usize) -> Self {
        Self {
            content: Content::new(tools, names),
            calls: Calls::new(names),
            reasoning: String::new(),
            finish: None,
            usage: (0, 0),
            has_choice: false,
            is_done: false,
            size: 0,
            limit,
        }
    }

    /// The model said that it was done; only counts and the end mark may follow.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Nothing follows.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Text that may be shown now.
    pub(super) fn take_shown(&mut self) -> String {
        self.content.take_shown()
    }

    /// Takes one thing in.
    pub(super) fn take(&mut self, part: Part) -> Result<(), Fault> {
        match part {
            Part::Chunk(chunk) => self.take_chunk(chunk)?,
            Part::Document(document) => {
                match document {
                    // A stream in one piece.
                    Value::Array(chunks) => {
                        chunks.into_iter().try_for_each(|chunk| self.take_chunk(chunk))?;
                    }
                    document => self.take_chunk(document)?,
                }
                if !self.has_choice {
                    return Err(Fault::NoChoice);
                }
                // It is all there, whether it says so or not.
                self.finish.get_or_insert_with(String::new);
            }
            Part::Done => self.is_done = true,
            Part::Garbage(_) if self.is_finished() => {}
            Part::Garbage(sample) => return Err(Fault::Garbage(sample)),
        }
        if self.size > self.limit { Err(Fault::TooLarge) } else { Ok(()) }
    }

    /// The reply.
    pub(super) fn finish(self) -> Result<Assembled, Fault> {
        let finish = self.finish.as_deref().ok_or(Fault::CutShort)?;
        let finish = normal(finish);
        let parts = self.content.finish();
        if parts.is_call_open && self.calls.is_empty() {
            return Err(Fault::OpenCall);
        }
        // Some servers leave the markup in the text beside the calls that they made of it.
        let calls = if self.calls.is_empty() {
            let marked = parts.calls.into_iter();
            marked.map(|(name, arguments)| wanted(name, arguments)).collect()
        } else {
            self.calls.finish(finish).map_err(|half| Fault::HalfACall(half.name))?
        };
        let has_calls = !calls.is_empty();
        let finish = match finish {
            Finish::Stop | Finish::Other if has_calls => Finish::ToolCalls,
            Finish::ToolCalls if !has_calls => Finish::Stop,
            finish => finish,
        };
        let mut reasoning = self.reasoning;
        if reasoning.is_empty() {
            reasoning = parts.reasoning;
        }
        let (input_tokens, output_tokens) = self.usage;
        let reply = Reply {
            model: String::new(),
            text: parts.text,
            reasoning,
            calls,
            input_tokens,
            output_tokens,
            finish,
        };
        Ok(Assembled { reply, unshown: parts.unshown })
    }

    fn take_chunk(&mut self, chunk: Value) -> Result<(), Fault> {
        if let Some(error) = error_in(&chunk) {
            return Err(Fault::Provider(error));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.take_usage(usage);
        }
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else {
            return Ok(());
        };
        self.has_choice = true;
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Provider(error.clone()));
        }
        let delta = ["delta", "message"]
            .iter()
            .find_map(|key| choice.get(*key).filter(|message| message.is_object()));
        if let Some(delta) = delta {
            self.take_delta(delta, choice.get("message").is_some());
        } else if let Some(text) = choice.get("text").and_then(Value::as_str) {
            self.take_text(text);
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            Some("error") => Err(Fault::Provider(chunk)),
            Some("") | None => Ok(()),
            Some(reason) => {
                self.finish = Some(reason.to_owned());
                Ok(())
            }
        }
    }

    fn take_delta(&mut self, delta: &Value, is_whole: bool) {
        match delta.get("content") {
            Some(Value::String(text)) => self.take_text(text),
            Some(Value::Array(parts)) => {
                for text in parts.iter().filter_map(|part| part.get("text")?.as_str()) {
                    self.take_text(text);
                }
            }
            _ => {}
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.take_text(refusal);
        }
        let thought = ["reasoning_content", "reasoning", "thinking"]
            .iter()
            .find_map(|key| delta.get(*key).and_then(Value::as_str));
        if let Some(thought) = thought {
            self.size += thought.len();
            self.reasoning.push_str(thought);
        }
        let entries = match delta.get("tool_calls") {
            Some(Value::Array(entries)) => entries.as_slice(),
            Some(entry @ Value::Object(_)) => std::slice::from_ref(entry),
            _ => &[],
        };
        for entry in entries.iter().filter(|entry| entry.is_object()) {
            self.size +=
                if is_whole { self.calls.take_whole(entry) } else { self.calls.take(entry) };
        }
        if let Some(call) = delta.get("function_call").filter(|call| call.is_object()) {
            // Some send the old field beside the new one, saying the same.
            if entries.is_empty() {
                self.size += self.calls.take_legacy(call);
            }
        }
    }

    fn take_text(&mut self, text: &str) {
        self.size += text.len();
        self.content.take(text);
    }

    fn take_usage(&mut self, usage: &Value) {
        let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
        let (input, output) = self.usage;
        self.usage = (
            count(["prompt_tokens", "input_tokens"]).unwrap_or(input),
            count(["completion_tokens", "output_tokens"]).unwrap_or(output),
        );
    }
}

/// The error that a chunk carries in place of a choice.
fn error_in(chunk: &Value) -> Option<Value> {
    if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
        return Some(error.clone());
    }
    let is_error = chunk.get("object").is_some_and(|object| object == "error")
        || chunk.get("type").is_some_and(|kind| kind == "error")
        || (chunk.get("choices").is_none()
            && chunk.get("usage").is_none()
            && chunk.get("message").is_some_and(Value::is_string));
    is_error.then(|| chunk.clone())
}

fn normal(reason: &str) -> Finish {
    match reason.to_ascii_lowercase().as_str() {
        "" | "stop" | "eos" | "end_turn" | "stop_sequence" | "complete" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" | "tool_call" => Finish::ToolCalls,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => Finish::Length,
        "content_filter" | "safety" | "refusal" => Finish::ContentFilter,
        _ => Finish::Other,
    }
}

fn wanted(name: String, arguments: String) -> Wanted {
    let model_id = format!("call_{}", uuid::Uuid::new_v4().simple());
    Wanted { model_id, name, arguments }
}

#[cfg(test)]
mod tests;
