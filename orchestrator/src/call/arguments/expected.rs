//! What a schema wants, in a few words: "an integer, at least 1".

use serde_json::Value;

/// Values of a list that are shown.
const MAX_SHOWN: usize = 12;

/// Describes a schema; empty where there is nothing to say.
pub(super) fn describe(schema: &Value, root: &Value) -> String {
    describe_within(schema, root, 4)
}

fn describe_within(schema: &Value, root: &Value, hops: usize) -> String {
    if hops == 0 {
        return String::new();
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let named = target.strip_prefix('#').and_then(|at| root.pointer(at));
        return named.map_or_else(String::new, |named| describe_within(named, root, hops - 1));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return one_of(values);
    }
    if let Some(value) = schema.get("const") {
        return clipped(value);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
            let mut forms: Vec<String> = branches
                .iter()
                .map(|branch| describe_within(branch, root, hops - 1))
                .filter(|form| !form.is_empty())
                .collect();
            forms.dedup();
            forms.truncate(MAX_SHOWN);
            return forms.join(" or ");
        }
    }
    let kinds = kinds(schema);
    let bounds = bounds(schema);
    match (kinds.is_empty(), bounds.is_empty()) {
        (true, true) => String::new(),
        (false, true) => kinds,
        (true, false) => bounds,
        (false, false) => format!("{kinds}, {bounds}"),
    }
}

/// "one of `a`, `b`".
pub(super) fn one_of(values: &[Value]) -> String {
    let mut shown: Vec<String> = values.iter().take(MAX_SHOWN).map(clipped).collect();
    if values.len() > MAX_SHOWN {
        shown.push(format!("… ({} in all)", values.len()));
    }
    if values.len() == 1 { shown.concat() } else { format!("one of {}", shown.join(", ")) }
}

/// "a list", for messages about a value that is there.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value as JSON, short enough for a message.
pub(super) fn clipped(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn kinds(schema: &Value) -> String {
    let name = |kind: &str| match kind {
        "null" => "null",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        "object" => "an object",
        _ => "something else",
    };
    match schema.get("type") {
        Some(Value::String(kind)) => name(kind).to_owned(),
        Some(Value::Array(kinds)) => {
            let names: Vec<&str> = kinds.iter().filter_map(Value::as_str).map(name).collect();
            names.join(" or ")
        }
        _ => String::new(),
    }
}

fn bounds(schema: &Value) -> String {
    let keywords = [
        ("minimum", "at least "),
        ("exclusiveMinimum", "more than "),
        ("maximum", "at most "),
        ("exclusiveMaximum", "less than "),
        ("multipleOf", "a multiple of "),
        ("minLength", "characters: at least "),
        ("maxLength", "characters: at most "),
        ("minItems", "items: at least "),
        ("maxItems", "items: at most "),
        ("pattern", "matching "),
        ("format", "format "),
    ];
    let found = keywords.iter().filter_map(|(keyword, words)| {
        let value = schema.get(keyword)?;
        let shown = value.as_str().map_or_else(|| clipped(value), ToOwned::to_owned);
        Some(format!("{words}{shown}"))
    });
    found.collect::<Vec<_>>().join(", ")
}
