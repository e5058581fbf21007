//! The body of a chat completions request.

use std::borrow::Cow;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{super::Request, ids::Ids, tool_names::ToolNames};
use crate::run::context::{AssistantCall, Message};

/// What the requests to one model must do without, or do otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent habit of a provider")]
pub(super) struct Habits {
    /// Takes no temperature.
    pub(super) refuses_temperature: bool,
    /// Takes no `stream_options`.
    pub(super) refuses_stream_options: bool,
    /// Wants `max_completion_tokens` in place of `max_tokens`.
    pub(super) wants_completion_tokens: bool,
    /// Wants the reasoning text of a step back.
    pub(super) sends_reasoning: bool,
}

impl Habits {
    /// What a refusal teaches; nothing if it is about something else.
    pub(super) fn learned_from(status: StatusCode, page: &str) -> Self {
        if !matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) {
            return Self::default();
        }
        let page = page.to_lowercase();
        let is_about_support = ["support", "unknown", "unrecognized", "not permitted", "extra"]
            .iter()
            .any(|word| page.contains(word));
        let names = |parameter: &str| is_about_support && page.contains(parameter);
        Self {
            refuses_temperature: names("temperature"),
            refuses_stream_options: names("stream_options"),
            wants_completion_tokens: names("max_completion_tokens"),
            sends_reasoning: false,
        }
    }

    /// Both together.
    pub(super) fn merge(self, other: Self) -> Self {
        Self {
            refuses_temperature: self.refuses_temperature || other.refuses_temperature,
            refuses_stream_options: self.refuses_stream_options || other.refuses_stream_options,
            wants_completion_tokens: self.wants_completion_tokens || other.wants_completion_tokens,
            sends_reasoning: self.sends_reasoning || other.sends_reasoning,
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Sent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
}

#[derive(Serialize)]
struct Sent<'a> {
    role: &'static str,
    /// Null for an assistant message that only calls.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    arguments: Cow<'a, str>,
}

/// The JSON text of a request to `model`.
pub(super) fn build(request: &Request, model: &str, habits: Habits) -> Result<Vec<u8>, String> {
    let declared = request.tools.openai();
    let (max_tokens, max_completion_tokens) = if habits.wants_completion_tokens {
        (None, request.max_output_tokens)
    } else {
        (request.max_output_tokens, None)
    };
    let body = Body {
        model,
        messages: messages(&request.messages, &declared.names, habits.sends_reasoning),
        tools: declared.tools.as_deref(),
        stream: true,
        stream_options: (!habits.refuses_stream_options).then(|| json!({"include_usage": true})),
        temperature: (!habits.refuses_temperature).then_some(request.temperature),
        max_tokens,
        max_completion_tokens,
    };
    serde_json::to_vec(&body).map_err(|error| format!("the request cannot be written: {error}"))
}

fn messages<'a>(
    messages: &'a [Message],
    names: &ToolNames,
    sends_reasoning: bool,
) -> Vec<Sent<'a>> {
    let mut ids = Ids::default();
    let mut sent = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::System(text) => sent.push(plain("system", text)),
            Message::User(text) => sent.push(plain("user", text)),
            // Some providers refuse a message that says nothing.
            Message::Assistant { text, calls, .. } if text.is_empty() && calls.is_empty() => {}
            Message::Assistant { text, reasoning, calls } => {
                ids.next_step();
                let calls = calls.iter().map(|call| sent_call(call, names, &mut ids)).collect();
                let says_why = sends_reasoning && !reasoning.is_empty();
                sent.push(Sent {
                    role: "assistant",
                    content: (!text.is_empty()).then_some(text),
                    reasoning_content: says_why.then_some(reasoning),
                    tool_calls: calls,
                    tool_call_id: None,
                });
            }
            Message::Tool { id, content, .. } => {
                let id = Some(ids.result(id));
                sent.push(Sent { tool_call_id: id, ..plain("tool", content) });
            }
        }
    }
    sent
}

fn plain<'a>(role: &'static str, text: &'a str) -> Sent<'a> {
    Sent {
        role,
        content: Some(text),
        reasoning_content: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn sent_call<'a>(call: &'a AssistantCall, names: &ToolNames, ids: &mut Ids) -> Call<'a> {
    let arguments = call.arguments.as_str();
    let arguments = if arguments.trim().is_empty() {
        Cow::Borrowed("{}")
    } else if is_object(arguments) {
        Cow::Borrowed(arguments)
    } else {
        // Several servers refuse a whole conversation for one call whose arguments do not parse.
        Cow::Owned(json!({"unparsable": arguments}).to_string())
    };
    Call {
        id: ids.call(&call.id),
        r#type: "function",
        function: Function { name: names.wire(&call.name), arguments },
    }
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests;
