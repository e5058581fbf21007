//! What providers get to see.

use std::sync::Arc;

use serde_json::json;

use super::{
    super::super::{ToolDeclaration, Tools},
    *,
};

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages,
        tools: Arc::new(Tools::from(vec![ToolDeclaration {
            name: "files.read".into(),
            description: "Reads a file.\n".into(),
            input_schema: json!({"type": "object"}),
            examples: vec![("What does a.md say?".into(), "{\"path\":\"a.md\"}".into())],
        }])),
        temperature: 0.3,
        max_output_tokens: Some(100),
        context_tokens: 8_000,
    }
}

fn sent(request: &Request, habits: Habits) -> Value {
    serde_json::from_slice(&build(request, "m", habits).unwrap()).unwrap()
}

fn assistant(text: &str, reasoning: &str, calls: &[(&str, &str)]) -> Message {
    let calls = calls.iter().map(|(id, arguments)| AssistantCall {
        id: (*id).into(),
        name: "files.read".into(),
        arguments: (*arguments).into(),
    });
    Message::Assistant { text: text.into(), reasoning: reasoning.into(), calls: calls.collect() }
}

fn result(id: &str, content: &str) -> Message {
    Message::Tool { id: id.into(), name: "files.read".into(), content: content.into() }
}

#[test]
fn a_step_is_one_assistant_message_and_one_result_per_call() {
    let request = request(vec![
        Message::System("s".into()),
        Message::User("go".into()),
        assistant("Looking.", "because", &[("call_0", "{\"path\":\"a\"}"), ("call_0", "")]),
        result("call_0", "one"),
        result("call_0", "two"),
        assistant("", "", &[("call_0", "{\"path\":")]),
        result("call_0", "not JSON"),
    ]);
    let call = |id: &str, arguments: &str| {
        let function = json!({"name": "files__read", "arguments": arguments});
        json!({"id": id, "type": "function", "function": function})
    };
    assert_eq!(
        sent(&request, Habits::default()),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "Looking.", "tool_calls": [
                    call("call_0", "{\"path\":\"a\"}"), call("call_0-2", "{}"),
                ]},
                {"role": "tool", "content": "one", "tool_call_id": "call_0"},
                {"role": "tool", "content": "two", "tool_call_id": "call_0-2"},
                {"role": "assistant", "content": null, "tool_calls": [
                    call("call_0-3", "{\"unparsable\":\"{\\\"path\\\":\"}"),
                ]},
                {"role": "tool", "content": "not JSON", "tool_call_id": "call_0-3"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "files__read",
                "description": "Reads a file.\nExample: \"What does a.md say?\" → {\"path\":\"a.md\"}",
                "parameters": {"type": "object", "properties": {}},
            }}],
            "stream": true,
            "stream_options": {"include_usage": true},
            "temperature": 0.3,
            "max_tokens": 100,
        })
    );
}

#[test]
fn what_a_provider_refuses_is_left_out() {
    let request = Request { tools: Arc::default(), ..request(vec![assistant("a", "why", &[])]) };
    let habits = Habits {
        refuses_temperature: true,
        refuses_stream_options: true,
        wants_completion_tokens: true,
        sends_reasoning: true,
    };
    assert_eq!(
        sent(&request, habits),
        json!({
            "model": "m",
            "messages": [{"role": "assistant", "content": "a", "reasoning_content": "why"}],
            "stream": true,
            "max_completion_tokens": 100,
        })
    );
}

#[test]
fn a_message_that_says_nothing_is_not_sent() {
    let request = request(vec![Message::User("go".into()), assistant("", "hm", &[])]);
    let body = sent(&request, Habits::default());
    assert_eq!(body["messages"], json!([{"role": "user", "content": "go"}]));
}

#[test]
fn refusals_teach_what_to_leave_out_and_nothing_else_does() {
    let bad = StatusCode::BAD_REQUEST;
    let temperature = Habits { refuses_temperature: true, ..Habits::default() };
    let rows = [
        (bad, "Unsupported value: 'temperature' does not support 0.3", temperature),
        (StatusCode::TOO_MANY_REQUESTS, "temperature is not supported", Habits::default()),
        (bad, "messages: temperature words in a prompt", Habits::default()),
        (
            bad,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            Habits { wants_completion_tokens: true, ..Habits::default() },
        ),
        (
            StatusCode::UNPROCESSABLE_ENTITY,
            "body.stream_options: Extra inputs are not permitted",
            Habits { refuses_stream_options: true, ..Habits::default() },
        ),
    ];
    for (status, page, expected) in rows {
        assert_eq!(Habits::learned_from(status, page), expected, "{page}");
    }
}
