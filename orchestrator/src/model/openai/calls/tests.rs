//! Every known way of cutting and numbering tool calls, and what must come out.

use serde_json::json;

use super::*;

const OFFERED: [&str; 6] = ["stat", "get", "now", "get_weather", "files.read", "read"];

/// `(id, name, arguments)`; an id of `?` stands for one that was made up.
type Row<'a> = (&'a str, &'a str, &'a str);

fn put_together(fragments: &[Value], finish: Finish) -> Result<Vec<Wanted>, HalfACall> {
    let names = ToolNames::new(OFFERED.into_iter());
    let mut calls = Calls::new(&names);
    for fragment in fragments {
        calls.take(fragment);
    }
    calls.finish(finish)
}

fn check(what: &str, fragments: &[Value], expected: &[Row<'_>]) {
    let calls = put_together(fragments, Finish::ToolCalls).unwrap();
    let got: Vec<Row<'_>> = calls
        .iter()
        .map(|call| {
            let is_made_up = call.model_id.starts_with("call_") && call.model_id.len() == 37;
            let id = if is_made_up { "?" } else { call.model_id.as_str() };
            (id, call.name.as_str(), call.arguments.as_str())
        })
        .collect();
    assert_eq!(got, expected, "{what}");
}

/// A fragment; empty texts and a negative index are left out.
fn fragment(index: i64, id: &str, name: &str, arguments: &str) -> Value {
    let mut function = json!({"arguments": arguments});
    if !name.is_empty() {
        function["name"] = json!(name);
    }
    let mut entry = json!({"type": "function", "function": function});
    if index >= 0 {
        entry["index"] = json!(index);
    }
    if !id.is_empty() {
        entry["id"] = json!(id);
    }
    entry
}

#[test]
fn regular_streams_stay_as_they_are() {
    check(
        "two calls in turns",
        &[
            fragment(0, "a", "stat", ""),
            fragment(1, "b", "get", ""),
            fragment(0, "", "", "{\"path\":"),
            fragment(1, "", "", "{\"q\":1}"),
            fragment(0, "", "", "\"x\"}"),
        ],
        &[("a", "stat", "{\"path\":\"x\"}"), ("b", "get", "{\"q\":1}")],
    );
    check("no arguments at all", &[fragment(0, "a", "now", "")], &[("a", "now", "")]);
}

#[test]
fn quirks_of_ids_are_made_regular() {
    let whole = "{\"a\":1}";
    check(
        "id and name in every fragment",
        &[
            fragment(0, "t1", "get", ""),
            fragment(0, "t1", "get", "{\"a\""),
            fragment(0, "t1", "get", ":1}"),
            fragment(0, "t1", "get", ""),
        ],
        &[("t1", "get", whole)],
    );
    check(
        "no id at all",
        &[fragment(0, "", "get", "{\"a\""), fragment(0, "", "", ":1}")],
        &[("?", "get", whole)],
    );
    check(
        "a new id in each fragment",
        &[
            fragment(0, "t1", "get", "{\"a\""),
            fragment(0, "t2", "", ":"),
            fragment(0, "t3", "", "1}"),
        ],
        &[("t1", "get", whole)],
    );
    check(
        "a new id and the name in each fragment",
        &[fragment(0, "t1", "get", "{\"a\""), fragment(0, "t2", "get", ":1}")],
        &[("t1", "get", whole)],
    );
    check(
        "one id for two calls",
        &[fragment(0, "c", "stat", "{\"p\":1}"), fragment(1, "c", "stat", "{\"p\":2}")],
        &[("c", "stat", "{\"p\":1}"), ("c-2", "stat", "{\"p\":2}")],
    );
    check(
        "one id and one index for two whole calls",
        &[fragment(0, "c", "stat", "{\"p\":1}"), fragment(0, "c", "stat", "{\"p\":2}")],
        &[("c", "stat", "{\"p\":1}"), ("c-2", "stat", "{\"p\":2}")],
    );
    check(
        "a number for an id",
        &[json!({"index": 0, "id": 7, "function": {"name": "now"}})],
        &[("7", "now", "")],
    );
}

#[test]
fn quirks_of_indexes_are_made_regular() {
    check(
        "every index 0, ids tell",
        &[
            fragment(0, "a", "stat", "{\"p\":1}"),
            fragment(0, "b", "get", "{\"q\":"),
            fragment(0, "", "", "2}"),
        ],
        &[("a", "stat", "{\"p\":1}"), ("b", "get", "{\"q\":2}")],
    );
    check(
        "every index 0, no ids, whole calls",
        &[fragment(0, "", "stat", "{\"p\":1}"), fragment(0, "", "stat", "{\"p\":2}")],
        &[("?", "stat", "{\"p\":1}"), ("?", "stat", "{\"p\":2}")],
    );
    check(
        "no index",
        &[
            fragment(-1, "a", "stat", "{\"p\""),
            fragment(-1, "", "", ":1}"),
            fragment(-1, "b", "get", "{}"),
        ],
        &[("a", "stat", "{\"p\":1}"), ("b", "get", "{}")],
    );
    check(
        "neither index nor id",
        &[
            fragment(-1, "", "stat", "{\"p\""),
            fragment(-1, "", "", ":1}"),
            fragment(-1, "", "get", "{\"q\":2}"),
        ],
        &[("?", "stat", "{\"p\":1}"), ("?", "get", "{\"q\":2}")],
    );
    check(
        "an index as text",
        &[json!({"index": "1", "id": "a", "function": {"name": "now", "arguments": "{}"}})],
        &[("a", "now", "{}")],
    );
    check(
        "two calls without arguments at index 0",
        &[fragment(0, "a", "now", ""), fragment(0, "b", "now", "")],
        &[("a", "now", ""), ("b", "now", "")],
    );
}

#[test]
fn quirks_of_names_are_made_regular() {
    check(
        "a name in two halves",
        &[fragment(0, "a", "get_", ""), fragment(0, "", "weather", "{}")],
        &[("a", "get_weather", "{}")],
    );
    check(
        "a name whose first half is a name",
        &[fragment(0, "a", "get", ""), fragment(0, "", "_weather", "{}")],
        &[("a", "get_weather", "{}")],
    );
    check(
        "a name that grows",
        &[fragment(0, "a", "get", ""), fragment(0, "a", "get_weather", "{}")],
        &[("a", "get_weather", "{}")],
    );
    check(
        "names as sent go back to the catalog's",
        &[fragment(0, "a", "files__read", "{}")],
        &[("a", "files.read", "{}")],
    );
    check(
        "a name that was never offered stays",
        &[fragment(0, "a", "unknown_tool", "{}")],
        &[("a", "unknown_tool", "{}")],
    );
    check(
        "without the wrapper",
        &[json!({"id": "a", "name": "get", "arguments": {"q": 1}})],
        &[("a", "get", "{\"q\":1}")],
    );
}

#[test]
fn quirks_of_arguments_are_made_regular() {
    check(
        "an object in place of text",
        &[
            json!({"index": 0, "id": "a", "function": {"name": "get", "arguments": {"q": [1, "x"]}}}),
        ],
        &[("a", "get", "{\"q\":[1,\"x\"]}")],
    );
    check(
        "null",
        &[json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": null}})],
        &[("a", "now", "")],
    );
    check(
        "an empty object before the real one",
        &[fragment(0, "a", "get", "{}"), fragment(0, "", "", "{\"q\":1}")],
        &[("a", "get", "{\"q\":1}")],
    );
    check(
        "all of it again at the end",
        &[
            fragment(0, "a", "get", "{\"q\":"),
            fragment(0, "", "", "1}"),
            fragment(0, "a", "get", "{\"q\":1}"),
        ],
        &[("a", "get", "{\"q\":1}")],
    );
    check(
        "all of it so far in each fragment",
        &[
            fragment(0, "a", "get", "{"),
            fragment(0, "a", "", "{\"q\""),
            fragment(0, "a", "", "{\"q\":1}"),
        ],
        &[("a", "get", "{\"q\":1}")],
    );
    check(
        "what does not parse is not touched",
        &[fragment(0, "a", "get", "{\"{\"tagIds\":[\"x\"]}")],
        &[("a", "get", "{\"{\"tagIds\":[\"x\"]}")],
    );
    check("nothing is no call", &[json!({"index": 0, "function": {}})], &[]);
}

#[test]
fn whole_answers_are_read_entry_by_entry() {
    let names = ToolNames::new(OFFERED.into_iter());
    let mut calls = Calls::new(&names);
    for path in ["a", "b"] {
        calls.take_whole(&json!({
            "id": "call_0", "index": 0,
            "function": {"name": "stat", "arguments": json!({"path": path}).to_string()},
        }));
    }
    let calls = calls.finish(Finish::ToolCalls).unwrap();
    let got: Vec<_> =
        calls.iter().map(|call| (call.model_id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(got, [("call_0", "{\"path\":\"a\"}"), ("call_0-2", "{\"path\":\"b\"}")]);
}

#[test]
fn a_reply_cut_where_arguments_would_begin_is_no_call() {
    let fragments = [fragment(0, "a", "get", "{\"q\":1}"), fragment(1, "b", "now", "")];
    for finish in [Finish::Length, Finish::ContentFilter] {
        let half = put_together(&fragments, finish);
        assert_eq!(half, Err(HalfACall { name: "now".into() }), "{finish:?}");
    }
    // Arguments that are visibly cut are left for the model to be told.
    let open = [fragment(0, "a", "get", "{\"q\":")];
    assert_eq!(put_together(&open, Finish::Length).unwrap()[0].arguments, "{\"q\":");
}

#[test]
fn made_up_ids_are_never_the_same() {
    let fragments: Vec<Value> = (0..5).map(|index| fragment(index, "", "now", "{}")).collect();
    let calls = put_together(&fragments, Finish::ToolCalls).unwrap();
    let ids: std::collections::HashSet<_> = calls.iter().map(|call| &call.model_id).collect();
    assert_eq!(ids.len(), 5);
}
