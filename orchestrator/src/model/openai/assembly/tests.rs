//! Streams and documents as providers send them, and the one reply that they mean.

use std::fmt::Write as _;

use serde_json::json;

use super::{super::wire::Wire, *};

fn tools() -> Vec<ToolDeclaration> {
    ["weather", "now"]
        .map(|name| ToolDeclaration {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            examples: Vec::new(),
        })
        .to_vec()
}

/// Reads a body in the given pieces, as `openai.rs` does.
fn read_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Assembled, String> {
    let tools = tools();
    let names = ToolNames::new(tools.iter().map(|tool| tool.name.as_str()));
    let mut wire = Wire::new(1 << 20);
    let mut assembly = Assembly::new(&tools, &names, 1 << 20);
    for piece in pieces {
        for part in wire.feed(piece).map_err(|fault| format!("{fault:?}"))? {
            assembly.take(part).map_err(|fault| format!("{fault:?}"))?;
        }
        if assembly.is_done() {
            break;
        }
    }
    if !assembly.is_done() {
        for part in wire.finish().map_err(|fault| format!("{fault:?}"))? {
            assembly.take(part).map_err(|fault| format!("{fault:?}"))?;
        }
    }
    assembly.finish().map_err(|fault| format!("{fault:?}"))
}

fn read(body: &str) -> Result<Reply, String> {
    read_pieces(std::iter::once(body.as_bytes())).map(|assembled| assembled.reply)
}

/// A stream of these choices and the end mark.
fn stream(choices: &[Value]) -> String {
    let mut body = String::new();
    for choice in choices {
        let _ = write!(body, "data: {}\n\n", json!({"id": "c", "choices": [choice]}));
    }
    body + "data: [DONE]\n\n"
}

fn document(choice: &Value) -> String {
    json!({"id": "c", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
        .to_string()
}

fn names_of(reply: &Reply) -> Vec<&str> {
    reply.calls.iter().map(|call| call.name.as_str()).collect()
}

#[test]
fn text_usage_and_finish_come_out_of_a_regular_stream() {
    let mut body = stream(&[
        json!({"delta": {"role": "assistant", "content": ""}, "finish_reason": null}),
        json!({"delta": {"content": "one"}, "finish_reason": null}),
        json!({"delta": {"content": " two"}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ]);
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}});
    body = body.replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
    let reply = read(&body).unwrap();
    assert_eq!(
        reply,
        Reply { text: "one two".into(), input_tokens: 7, output_tokens: 2, ..Reply::default() }
    );
}

#[test]
fn chunks_of_every_odd_form_are_read() {
    let done = json!({"delta": {}, "finish_reason": "stop"});
    let rows = [
        (
            "no choices first",
            "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n".to_owned()
                + &stream(&[json!({"delta": {"content": "hi"}}), done.clone()]),
        ),
        (
            "null delta",
            stream(&[json!({"delta": null}), json!({"delta": {"content": "hi"}}), done.clone()]),
        ),
        (
            "null content",
            stream(&[
                json!({"delta": {"content": null}}),
                json!({"delta": {"content": "hi"}}),
                done.clone(),
            ]),
        ),
        (
            "parts",
            stream(&[
                json!({"delta": {"content": [{"type": "text", "text": "hi"}]}}),
                done.clone(),
            ]),
        ),
        (
            "whole message in a stream",
            stream(&[json!({"message": {"content": "hi"}, "finish_reason": "stop"})]),
        ),
        (
            "text with the finish",
            stream(&[json!({"delta": {"content": "hi"}, "finish_reason": "stop"})]),
        ),
        ("refusal", stream(&[json!({"delta": {"refusal": "hi"}, "finish_reason": "stop"})])),
        ("old completions", stream(&[json!({"text": "hi", "finish_reason": "stop"})])),
        (
            "no end mark",
            stream(&[json!({"delta": {"content": "hi"}}), done.clone()])
                .replace("data: [DONE]\n\n", ""),
        ),
        (
            "garbage after the finish",
            stream(&[json!({"delta": {"content": "hi"}}), done.clone()]).replace("[DONE]", "oops"),
        ),
        ("one document", document(&json!({"message": {"content": "hi"}, "finish_reason": "stop"}))),
        ("a document without finish", document(&json!({"message": {"content": "hi"}}))),
        ("CRLF", stream(&[json!({"delta": {"content": "hi"}}), done]).replace('\n', "\r\n")),
    ];
    for (what, body) in rows {
        let reply = read(&body).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(reply.text, "hi", "{what}");
        assert_eq!(reply.finish, Finish::Stop, "{what}");
    }
}

#[test]
fn calls_count_whatever_the_finish_says() {
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}});
    for finish in ["stop", "tool_calls", "function_call", "eos", "whatever"] {
        let choice =
            json!({"message": {"content": null, "tool_calls": [call]}, "finish_reason": finish});
        let reply = read(&document(&choice)).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("", Finish::ToolCalls), "{finish}");
        assert_eq!(names_of(&reply), ["now"], "{finish}");
    }
    let none = json!({"message": {"content": "", "tool_calls": []}, "finish_reason": "tool_calls"});
    let reply = read(&document(&none)).unwrap();
    assert_eq!((reply.calls.len(), reply.finish), (0, Finish::Stop));
}

#[test]
fn finish_reasons_are_few() {
    let rows = [
        ("stop", Finish::Stop),
        ("STOP", Finish::Stop),
        ("end_turn", Finish::Stop),
        ("length", Finish::Length),
        ("max_tokens", Finish::Length),
        ("content_filter", Finish::ContentFilter),
        ("flux_capacitor", Finish::Other),
    ];
    for (reason, expected) in rows {
        let choice = json!({"message": {"content": "x"}, "finish_reason": reason});
        assert_eq!(read(&document(&choice)).unwrap().finish, expected, "{reason}");
    }
}

#[test]
fn old_and_marked_up_calls_are_calls() {
    let old = stream(&[
        json!({"delta": {"function_call": {"name": "weather", "arguments": "{\"city\""}}}),
        json!({"delta": {"function_call": {"arguments": ":\"Oslo\"}"}}}),
        json!({"delta": {}, "finish_reason": "function_call"}),
    ]);
    let reply = read(&old).unwrap();
    assert_eq!(names_of(&reply), ["weather"]);
    assert_eq!(reply.calls[0].arguments, "{\"city\":\"Oslo\"}");

    let text = "I will check.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    let marked = document(&json!({"message": {"content": text}, "finish_reason": "stop"}));
    let reply = read(&marked).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("I will check.", Finish::ToolCalls));
    assert_eq!(reply.calls[0].arguments, "{\"city\":\"Oslo\"}");
    assert!(reply.calls[0].model_id.starts_with("call_"));

    let both = json!({"message": {"content": text, "tool_calls": [
        {"id": "c1", "function": {"name": "weather", "arguments": {"city": "Oslo"}}},
    ]}, "finish_reason": "tool_calls"});
    let reply = read(&document(&both)).unwrap();
    assert_eq!((reply.calls.len(), reply.calls[0].model_id.as_str()), (1, "c1"));
    assert_eq!(reply.text, "I will check.");
}

#[test]
fn reasoning_is_kept_apart() {
    for key in ["reasoning_content", "reasoning", "thinking"] {
        let body = stream(&[
            json!({"delta": {key: "I need "}}),
            json!({"delta": {key: "the time."}}),
            json!({"delta": {"content": "Noon."}, "finish_reason": "stop"}),
        ]);
        let reply = read(&body).unwrap();
        assert_eq!(reply.reasoning, "I need the time.", "{key}");
        assert_eq!(reply.text, "Noon.", "{key}");
    }
}

#[test]
fn errors_in_place_of_replies_are_errors() {
    let rows = [
        "data: {\"error\":{\"message\":\"quota exceeded\",\"code\":429}}\n\ndata: [DONE]\n\n"
            .to_owned(),
        "event: error\ndata: {\"message\":\"quota exceeded\",\"code\":429}\n\n".into(),
        "data: {\"object\":\"error\",\"message\":\"quota exceeded\",\"code\":429}\n\n".into(),
        stream(&[
            json!({"delta": {"content": "par"}}),
            json!({"error": {"message": "quota exceeded"}}),
        ]),
        stream(&[json!({"delta": {}, "finish_reason": "error", "native": "quota exceeded"})]),
        json!({"error": "quota exceeded"}).to_string(),
    ];
    for body in rows {
        let error = read(&body).unwrap_err();
        assert!(error.starts_with("Provider") && error.contains("quota exceeded"), "{error}");
    }
}

#[test]
fn what_is_no_reply_is_never_one() {
    let rows = [
        ("data: [DONE]\n\n", "CutShort"),
        ("data: {\"choices\":[]}\n\n", "CutShort"),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"Sure\"}}]}\n\n", "CutShort"),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"Sure\"}}]}\n\ndata: [DONE]\n\n",
            "CutShort",
        ),
        ("data: nonsense\n\n", "Garbage"),
        ("{\"answer\":42}", "NoChoice"),
        ("{\"choices\":[]}", "NoChoice"),
        ("[]", "NoChoice"),
        ("<html></html>", "NotJson"),
        ("", "Empty"),
    ];
    for (body, expected) in rows {
        let error = read(body).unwrap_err();
        assert!(error.starts_with(expected), "{body:?}: {error}");
    }
    let open = "<tool_call>{\"name\": \"weather\", \"arguments\": {";
    let body = document(&json!({"message": {"content": open}, "finish_reason": "stop"}));
    assert_eq!(read(&body).unwrap_err(), "OpenCall");
}

#[test]
fn a_reply_larger_than_the_limit_is_refused() {
    let piece = "x".repeat(64 << 10);
    let choices = vec![json!({"delta": {"content": piece}}); 20];
    assert_eq!(read(&stream(&choices)).unwrap_err(), "TooLarge");
    let fragment = json!({"id": "", "function": {"name": "now", "arguments": "{}"}});
    let entries = vec![fragment; 20_000];
    let body = json!({"choices": [{"message": {"tool_calls": entries}}]}).to_string();
    assert!(body.len() > (1 << 20), "the document alone is over the limit");
    assert_eq!(read(&body).unwrap_err(), "TooLarge");
}

/// A stream with text, reasoning, two calls and usage, cut after each of its bytes.
#[test]
fn a_stream_cut_at_any_byte_is_whole_or_an_error() {
    let piece = |entries: Value| json!({"delta": {"tool_calls": entries}, "finish_reason": null});
    let mut body = stream(&[
        json!({"delta": {"role": "assistant", "content": "Ich sehe nach: 天气。"}, "finish_reason": null}),
        json!({"delta": {"reasoning_content": "two calls"}, "finish_reason": null}),
        piece(json!([{"index": 0, "id": "a", "function": {"name": "weather", "arguments": ""}}])),
        piece(json!([{"index": 0, "function": {"arguments": "{\"city\":"}}])),
        piece(json!([{"index": 0, "function": {"arguments": "\"Zürich\"}"}}])),
        piece(json!([{"index": 1, "id": "b", "function": {"name": "now", "arguments": "{}"}}])),
        json!({"delta": {}, "finish_reason": "tool_calls"}),
    ]);
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}});
    body = body.replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
    let whole = read(&body).unwrap();
    assert_eq!(names_of(&whole), ["weather", "now"]);
    assert_eq!(whole.calls[0].arguments, "{\"city\":\"Zürich\"}");

    let finish = "\"finish_reason\":\"tool_calls\"";
    // The chunk that says so is whole with its two closing brackets and the brace.
    let said_done = body.find(finish).unwrap() + finish.len() + "}]}".len();
    for cut in 0..=body.len() {
        let outcome = read_pieces(std::iter::once(&body.as_bytes()[..cut]));
        match outcome {
            Err(_) => assert!(cut < said_done, "cut at {cut}"),
            Ok(assembled) => {
                assert!(cut >= said_done, "cut at {cut}");
                assert_eq!(assembled.reply.calls, whole.calls, "cut at {cut}");
            }
        }
    }
}

#[test]
fn the_places_of_the_cuts_between_reads_do_not_matter() {
    let body = "\u{feff}".to_owned()
        + &stream(&[
            json!({"delta": {"content": "价格 <tool"}}),
            json!({"delta": {"content": "_box> 😀"}}),
            json!({"delta": {}, "finish_reason": "stop"}),
        ])
        .replace('\n', "\r\n");
    for size in 1..60 {
        let assembled = read_pieces(body.as_bytes().chunks(size)).unwrap();
        assert_eq!(assembled.reply.text, "价格 <tool_box> 😀", "reads of {size}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 120, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn no_bytes_make_it_fall(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        lines in proptest::collection::vec(
            "(data: |\\{\"choices\":\\[\\{\"delta\":\\{\"content\":|\"tool_calls\":\\[|<tool_call>|\\[DONE\\]|[\"{}:,\\[\\]]|\\PC){0,8}(\r|\n|\r\n|\n\n)",
            0..12,
        ),
        size in 1_usize..40,
    ) {
        let _ = read_pieces(bytes.chunks(size));
        let text = lines.concat();
        let whole = read_pieces(std::iter::once(text.as_bytes())).map(|read| read.reply.text);
        let cut = read_pieces(text.as_bytes().chunks(size)).map(|read| read.reply.text);
        proptest::prop_assert_eq!(whole.ok(), cut.ok());
    }
}
