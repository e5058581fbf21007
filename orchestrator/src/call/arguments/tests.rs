use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::call::schema::compile;

fn schema(schema: &Value) -> Schema {
    compile(&schema.to_string()).unwrap()
}

fn anything() -> Schema {
    schema(&json!({"type": "object"}))
}

fn prepared(raw: &str, of: &Value) -> Value {
    let prepared = prepare(raw, &schema(of)).unwrap();
    serde_json::from_str(&prepared.text).unwrap()
}

fn misfit(raw: &str, of: &Value) -> Misfit {
    prepare(raw, &schema(of)).expect_err(raw)
}

/// What is wrong, in one line.
fn told(misfit: &Misfit) -> String {
    let lines = misfit.violations.iter().map(|v| format!("{} {}", v.pointer, v.message));
    lines.collect::<Vec<_>>().join("; ")
}

fn pointers(misfit: &Misfit) -> Vec<&str> {
    misfit.violations.iter().map(|violation| violation.pointer.as_str()).collect()
}

#[test]
fn what_is_valid_keeps_every_token_as_it_was_written() {
    let rows = [
        ("{}", "{}"),
        (
            " { \"a\" : 1.50 , \"b\" : [ 1e3 , 31.245270191439438 ] }\n",
            r#"{"a":1.50,"b":[1e3,31.245270191439438]}"#,
        ),
        (r#"{"text":"a}{b","n":"x},]"}"#, r#"{"text":"a}{b","n":"x},]"}"#),
        (
            r#"{"t":"// no, /* none */ 'x' True \" \\ \u00e9 \n"}"#,
            r#"{"t":"// no, /* none */ 'x' True \" \\ \u00e9 \n"}"#,
        ),
        (r#"{"big":123456789012345678901234567890}"#, r#"{"big":123456789012345678901234567890}"#),
    ];
    for (raw, text) in rows {
        let prepared = prepare(raw, &anything()).unwrap();
        assert_eq!(prepared, Prepared { text: text.to_owned(), repairs: Vec::new() });
    }
}

#[test]
fn almost_json_is_repaired_and_told() {
    let rows = [
        (r#"{"a": 1,}"#, json!({"a": 1}), "comma before"),
        (r#"{"a": [1, 2, ], }"#, json!({"a": [1, 2]}), "comma before"),
        ("{'a': 'it\\'s \"b\"'}", json!({"a": "it's \"b\""}), "quotes"),
        ("{a: 1, b-c: 2, _d: 3}", json!({"a": 1, "b-c": 2, "_d": 3}), "names"),
        (
            "{\"a\": True, \"b\": False, \"c\": None}",
            json!({"a": true, "b": false, "c": null}),
            "`True`",
        ),
        ("{\"a\": 1 // one\n, /* two */ \"b\": 2}", json!({"a": 1, "b": 2}), "comments"),
        ("{\"a\": \"one\ntwo\tthree\"}", json!({"a": "one\ntwo\tthree"}), "line breaks"),
        (r#"{"a": \n[1, 2]\n\n}"#, json!({"a": [1, 2]}), "white space"),
        ("```json\n{\"a\": 1}\n```", json!({"a": 1}), "fence"),
        ("{“a”：“b”，\"c\": 1}", json!({"a": "b", "c": 1}), "full-width"),
        ("\u{feff}{\"a\":\u{a0}1}", json!({"a": 1}), "invisible"),
        (r#"{"a": '\ud83d\ude00 \u00e9 \n'}"#, json!({"a": "\u{1f600} é \n"}), "quotes"),
    ];
    for (raw, value, repair) in rows {
        let prepared = prepare(raw, &anything()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&prepared.text).unwrap(), value, "{raw}");
        assert!(prepared.repairs.iter().any(|line| line.contains(repair)), "{raw}: {prepared:?}");
    }
}

#[test]
fn what_cannot_be_read_for_certain_is_refused_with_the_place_of_the_fault() {
    let rows = [
        ("v = a", "line 1, column 1"),
        ("null", "must be an object"),
        ("[1]", "must be an object with named members, not a list"),
        ("\"text\"", "not a string"),
        (r#"{"a": 1}{"a": 2}"#, "more text after the value at line 1, column 9"),
        (r#"{"{"tagIds":["x"]}"#, "line 1, column 5"),
        ("{\"a\": 1,\n \"b\" 2}", "`:` is missing before `2` at line 2, column 6"),
        (r#"{"a": 1 "b": 2}"#, "column 9"),
        (r#"{"a": 1,, "b": 2}"#, "two commas"),
        (r#"{"path":"C:\bin\app.exe"}"#, "a backslash is written `\\\\`"),
        (r#"{"a": "x\u12"}"#, "four digits"),
        (r"{'a': '\ud800'}", "half a character"),
        ("{\"a\": \"\u{1}\"}", "control character"),
        (r#"{"a": +5}"#, "column 7"),
        (r#"{"a": 0x10}"#, "`0x10` is no number"),
        (r#"{"a": NaN}"#, "`NaN` is no value"),
        (r#"{"a": 1, "a": 2}"#, "`a` is there twice"),
        ("{a: 1, a: 2}", "`a` is there twice"),
        (r#"{"a": 1e999}"#, ""),
        ("Sure! {\"a\": 1}", "column 1"),
        ("```json\n{\"a\": 1}\n``", ""),
        ("```json\n{\"a\": 1}", ""),
        ("{\"a\": 1} ```", "column 10"),
    ];
    for (raw, fault) in rows {
        let misfit = prepare(raw, &anything()).expect_err(raw);
        assert!(told(&misfit).contains(fault), "{raw}: {}", told(&misfit));
        assert_eq!(pointers(&misfit), [""], "{raw}");
    }
}

#[test]
fn what_was_cut_short_is_never_closed_and_run() {
    for raw in [
        "{",
        "{\"a\"",
        "{\"a\": ",
        "{\"a\": \"b",
        "{\"a\": \"b\\",
        "{\"a\": [1, 2",
        "{\"a\": 1,",
        "{\"a\": 1 /* b",
        "{a",
        "{'a': 'b",
        "{\"a\": 12",
    ] {
        let misfit = prepare(raw, &anything()).expect_err(raw);
        assert!(told(&misfit).contains("cut short"), "{raw}: {}", told(&misfit));
    }
}

#[test]
fn no_text_means_no_arguments_only_where_none_are_required() {
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for raw in ["", " \n"] {
        assert_eq!(prepared(raw, &open), json!({}));
        let strict =
            json!({"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]});
        let misfit = misfit(raw, &strict);
        assert_eq!(pointers(&misfit), ["/v"]);
        assert_eq!(misfit.violations[0].message, "is missing, must be a string");
    }
}

#[test]
fn depth_and_size_are_bounded_before_anything_recurses() {
    let at = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(prepare(&at(63), &anything()).is_ok());
    for raw in [at(64), at(10_000), at(200_000), format!("{{'a': '\"', b: {}", "[".repeat(200_000))]
    {
        let misfit = prepare(&raw, &anything()).expect_err("too deep");
        assert!(
            told(&misfit).contains("64") || told(&misfit).contains("deep"),
            "{}",
            misfit.message
        );
    }
    let list = json!({"properties": {"v": {"type": "array"}}});
    let text = serde_json::to_string(
        &"[".repeat(100).chars().chain("]".repeat(100).chars()).collect::<String>(),
    )
    .unwrap();
    assert_eq!(pointers(&misfit(&format!("{{\"v\":{text}}}"), &list)), ["/v"]);

    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BYTES));
    let misfit = prepare(&large, &anything()).expect_err("too large");
    assert!(told(&misfit).contains("1048576"), "{}", told(&misfit));
    assert_eq!(misfit.kind, Kind::TooLarge);
}

#[test]
fn the_closed_list_of_coercions_is_made_and_told() {
    let of = json!({"type": "object", "required": ["must"], "properties": {
        "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}, "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}}, "o": {"type": "object", "properties": {"i": {"type": "integer"}}},
        "in": {"type": ["integer", "null"]}, "r": {"$ref": "#/$defs/R"}, "e": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "is": {"type": ["integer", "string"]}, "any": {}, "must": {"type": ["string", "null"]}},
        "$defs": {"R": {"type": "integer"}}});
    let rows = [
        (r#"{"i": "5"}"#, json!({"i": 5})),
        (r#"{"i": 5.0}"#, json!({"i": 5})),
        (r#"{"i": "20.0"}"#, json!({"i": 20})),
        (r#"{"i": " 7 "}"#, json!({"i": 7})),
        (r#"{"i": "-3"}"#, json!({"i": -3})),
        (r#"{"n": "2.5"}"#, json!({"n": 2.5})),
        (r#"{"n": "2"}"#, json!({"n": 2})),
        (r#"{"b": "false"}"#, json!({"b": false})),
        (r#"{"b": "true"}"#, json!({"b": true})),
        (r#"{"l": "[1, \"2\", 3.0]"}"#, json!({"l": [1, 2, 3]})),
        (r#"{"o": "{\"i\": \"4\"}"}"#, json!({"o": {"i": 4}})),
        (r#"{"r": "9"}"#, json!({"r": 9})),
        (r#"{"e": "9"}"#, json!({"e": 9})),
        (r#"{"i": null, "s": null, "l": null}"#, json!({})),
    ];
    for (raw, value) in rows {
        let raw = raw.replacen('{', "{\"must\": null, ", 1);
        let prepared = prepare(&raw, &schema(&of)).unwrap_or_else(|m| panic!("{raw}: {m:?}"));
        let mut expected = value;
        expected["must"] = Value::Null;
        assert_eq!(serde_json::from_str::<Value>(&prepared.text).unwrap(), expected, "{raw}");
        assert!(!prepared.repairs.is_empty(), "{raw}");
    }
    // Nothing here has only one harmless reading, or needs one.
    for raw in [
        r#"{"s": "true", "any": " None "}"#,
        r#"{"is": "5"}"#,
        r#"{"any": "5"}"#,
        r#"{"in": null, "e": null}"#,
    ] {
        let raw = raw.replacen('{', "{\"must\": null, ", 1);
        assert_eq!(prepare(&raw, &schema(&of)).unwrap().repairs, Vec::<String>::new(), "{raw}");
    }
    for raw in [
        r#"{"i": 20.5}"#,
        r#"{"i": "20.5"}"#,
        r#"{"i": "five"}"#,
        r#"{"i": "0x5"}"#,
        r#"{"i": "1e400"}"#,
        r#"{"b": "True"}"#,
        r#"{"b": "yes"}"#,
        r#"{"b": 1}"#,
        r#"{"s": 5}"#,
        r#"{"s": true}"#,
        r#"{"l": "[1"}"#,
        r#"{"l": 1}"#,
        r#"{"n": "1,000"}"#,
    ] {
        let raw = raw.replacen('{', "{\"must\": null, ", 1);
        prepare(&raw, &schema(&of)).expect_err(&raw);
    }
    assert_eq!(pointers(&misfit("{}", &of)), ["/must"], "a required key is never left out");
}

#[test]
fn whole_arguments_in_a_json_text_are_read() {
    let of = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false});
    assert_eq!(prepared(r#""{\"a\": 1}""#, &of), json!({"a": 1}));
}

#[test]
fn all_violations_are_told_at_once_with_their_places_and_what_would_be_right() {
    let of = json!({"type": "object", "required": ["path", "mode"], "additionalProperties": false, "properties": {
        "path": {"type": "string", "minLength": 1}, "mode": {"enum": ["read", "write"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "filters": {"type": "array", "items": {"type": "object", "required": ["newer_than"], "properties": {"newer_than": {"type": "string", "format": "date"}}}},
        "size": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
        "a/b~c": {"type": "boolean"}, "tags": {"type": "array", "maxItems": 1, "items": {"pattern": "^[a-z]+$"}}}});
    let raw = json!({"path": 5, "limit": 11, "filters": [{"newer_than": "2026-01-01"}, {"newer_than": "soon"}, {}],
        "size": "big", "a/b~c": "maybe", "tags": ["A", "b"], "pth": 1});
    let found: Vec<(String, String)> = misfit(&raw.to_string(), &of)
        .violations
        .into_iter()
        .map(|v| (v.pointer, v.message))
        .collect();
    let expected = [
        ("/a~1b~0c", r#"is "maybe", must be true or false"#),
        ("/filters/1/newer_than", r#"is "soon", must be a string, format date"#),
        ("/filters/2/newer_than", "is missing, must be a string, format date"),
        ("/limit", "is 11, must be an integer, at least 1, at most 10"),
        ("/mode", r#"is missing, must be one of "read", "write""#),
        ("/path", "is 5, must be a string, characters: at least 1"),
        ("/pth", "is not known; meant is perhaps `path`"),
        ("/size", r#"is "big", must be an integer or true or false"#),
        ("/tags", "is a list, must be a list, items: at most 1"),
        ("/tags/0", r#"is "A", must be matching ^[a-z]+$"#),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(p, m)| ((*p).to_owned(), (*m).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn unknown_members_are_told_with_the_known_ones() {
    let of = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let misfit = misfit(r#"{"a": "x", "zz": 1}"#, &of);
    assert_eq!(pointers(&misfit), ["/zz"]);
    assert_eq!(misfit.violations[0].message, "is not known; known are `a`");
    assert_eq!(misfit.message, "1 thing does not fit");
}

#[test]
fn a_hostile_pattern_costs_nothing() {
    let of =
        json!({"type": "object", "properties": {"v": {"type": "string", "pattern": "^(a+)+$"}}});
    let raw = format!("{{\"v\":\"{}!\"}}", "a".repeat(50_000));
    assert_eq!(pointers(&misfit(&raw, &of)), ["/v"]);
}

#[test]
fn messages_stay_short_whatever_the_arguments_hold() {
    let of = json!({"type": "object", "properties": {"v": {"type": "integer"}}, "additionalProperties": {"type": "integer"}});
    let members: Vec<String> =
        (0..500).map(|n| format!("\"k{n}\": \"{}\"", "x".repeat(1_000))).collect();
    let misfit = misfit(&format!("{{{}}}", members.join(",")), &of);
    assert_eq!(misfit.violations.len(), 33);
    assert!(told(&misfit).len() < 8_000, "{}", told(&misfit).len());
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::String),
        "[\\\\\"'{}\\[\\],:/*\n\t ]{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn json_object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("\\PC{0,6}", json_value(), 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn valid_arguments_are_never_changed(value in json_object(), pretty in any::<bool>()) {
        let raw = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let prepared = prepare(&raw, &anything()).unwrap();
        prop_assert_eq!(&prepared.repairs, &Vec::<String>::new());
        prop_assert_eq!(prepared.text, value.to_string());
    }

    #[test]
    fn the_generous_reader_agrees_with_json(value in json_object()) {
        let raw = serde_json::to_string_pretty(&value).unwrap();
        let repaired = repair::parse(&raw).unwrap();
        prop_assert_eq!(repaired.value, serde_json::from_str::<Value>(&raw).unwrap());
        prop_assert!(repaired.repairs.is_empty(), "{:?}", repaired.repairs);
    }

    #[test]
    fn no_part_of_a_text_is_taken_for_the_whole(value in json_object(), cut in any::<prop::sample::Index>()) {
        let raw = value.to_string();
        let cuts: Vec<usize> = raw.char_indices().map(|(at, _)| at).collect();
        let part = &raw[..cuts[cut.index(cuts.len())]];
        if !part.trim().is_empty() {
            prop_assert!(prepare(part, &anything()).is_err(), "{part}");
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[{}\\[\\]\"'\\\\:,/*`ntu0-9a-zTFN“”： \n]{0,40}") {
        let _ = prepare(&text, &anything());
        let _ = repair::parse(&text);
    }
}
