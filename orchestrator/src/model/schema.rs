//! Argument schemas in the small dialect that every provider takes.
//!
//! No references, one type per node, `properties` always there, no choice at the top. What is lost
//! is only lost for the model: arguments are checked against the whole schema in `call`.

use serde_json::{Map, Value, json};

/// Deeper nodes are sent as "anything".
const MAX_DEPTH: usize = 16;
/// Keywords that mean nothing to a model, or that some provider refuses.
const DROPPED: &[&str] =
    &["$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title"];
const CHOICES: &[&str] = &["anyOf", "oneOf"];

/// The `parameters` of a tool with this input schema.
pub(super) fn parameters(schema: &Value) -> Value {
    let simplifier = Simplifier { root: schema };
    let mut node = match simplifier.node(schema, 0) {
        Value::Object(node) => node,
        _ => Map::new(),
    };
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(parts)) = node.remove(keyword) {
            unite(&mut node, &parts, keyword == "allOf");
        }
    }
    node.insert("type".to_owned(), json!("object"));
    if !node.get("properties").is_some_and(Value::is_object) {
        node.insert("properties".to_owned(), json!({}));
    }
    Value::Object(node)
}

struct Simplifier<'a> {
    root: &'a Value,
}

impl Simplifier<'_> {
    fn node(&self, node: &Value, depth: usize) -> Value {
        let Value::Object(fields) = node else { return json!({}) };
        if depth > MAX_DEPTH {
            return json!({});
        }
        let mut simple = Map::new();
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            // A reference that leads nowhere is "anything"; one to itself ends at the depth limit.
            if let Some(target) = target.strip_prefix('#').and_then(|at| self.root.pointer(at)) {
                merge(&mut simple, self.node(target, depth + 1));
            }
        }
        for (keyword, value) in fields {
            match keyword.as_str() {
                "$ref" => {}
                dropped if DROPPED.contains(&dropped) => {}
                "type" => types(&mut simple, value),
                "const" => insert(&mut simple, "enum", json!([value])),
                "enum" => insert(&mut simple, "enum", without_null(value)),
                "format" if is_number_format(value) => {}
                "required" if value.as_array().is_some_and(Vec::is_empty) => {}
                "properties" | "patternProperties" => {
                    insert(&mut simple, keyword, self.each_value(value, depth));
                }
                "items" | "additionalProperties" | "not" if value.is_object() => {
                    insert(&mut simple, keyword, self.node(value, depth + 1));
                }
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                    self.list(&mut simple, keyword, value, depth);
                }
                _ => insert(&mut simple, keyword, value.clone()),
            }
        }
        Value::Object(simple)
    }

    fn each_value(&self, value: &Value, depth: usize) -> Value {
        let Value::Object(fields) = value else { return json!({}) };
        let simple = fields.iter().map(|(name, node)| (name.clone(), self.node(node, depth + 1)));
        Value::Object(simple.collect())
    }

    /// A list of nodes; a choice between one thing and nothing is that thing.
    fn list(&self, simple: &mut Map<String, Value>, keyword: &str, value: &Value, depth: usize) {
        let nodes = value.as_array().map_or(&[][..], Vec::as_slice);
        let is_choice = CHOICES.contains(&keyword);
        let mut kept: Vec<Value> = nodes
            .iter()
            .filter(|node| !(is_choice && node.get("type").is_some_and(|kind| kind == "null")))
            .map(|node| self.node(node, depth + 1))
            .collect();
        match kept.len() {
            0 => {}
            1 if keyword != "prefixItems" => merge(simple, kept.remove(0)),
            _ => insert(simple, keyword, Value::Array(kept)),
        }
    }
}

/// One type, or a choice of types; `null` beside others is dropped.
fn types(simple: &mut Map<String, Value>, value: &Value) {
    let Value::Array(kinds) = value else { return insert(simple, "type", value.clone()) };
    let kept: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    match kept.as_slice() {
        [] => insert(simple, "type", json!("null")),
        [one] => insert(simple, "type", (*one).clone()),
        many => {
            let choice = many.iter().map(|kind| json!({"type": kind})).collect();
            insert(simple, "anyOf", Value::Array(choice));
        }
    }
}

fn without_null(value: &Value) -> Value {
    match value {
        Value::Array(values) if values.len() > 1 => {
            values.iter().filter(|value| !value.is_null()).cloned().collect()
        }
        other => other.clone(),
    }
}

/// Widths of numbers, such as `uint32`, which no provider knows.
fn is_number_format(value: &Value) -> bool {
    let families = ["int", "uint", "float", "double"];
    value.as_str().is_some_and(|name| families.iter().any(|family| name.starts_with(family)))
}

/// Adds the properties of all variants; required stays what every variant requires.
fn unite(node: &mut Map<String, Value>, parts: &[Value], is_conjunction: bool) {
    let names = |part: &Value| -> Vec<Value> {
        part.get("required").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut required: Option<Vec<Value>> = None;
    for part in parts {
        if let Some(Value::Object(more)) = part.get("properties") {
            let properties = node.entry("properties").or_insert_with(|| json!({}));
            if let Value::Object(properties) = properties {
                for (name, schema) in more {
                    properties.entry(name.clone()).or_insert_with(|| schema.clone());
                }
            }
        }
        let own = names(part);
        required = Some(match required {
            None => own,
            Some(known) if is_conjunction => known.into_iter().chain(own).collect(),
            Some(known) => known.into_iter().filter(|name| own.contains(name)).collect(),
        });
    }
    if let Some(required) = required.filter(|names| !names.is_empty()) {
        node.insert("required".to_owned(), Value::Array(required));
    }
}

/// Adds what is not said already: what stands nearer to the use wins.
fn merge(simple: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        for (keyword, value) in more {
            simple.entry(keyword).or_insert(value);
        }
    }
}

fn insert(simple: &mut Map<String, Value>, keyword: &str, value: Value) {
    simple.insert(keyword.to_owned(), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &Value, expected: &Value) {
        let sent = parameters(schema);
        assert_eq!(sent, *expected, "of {schema}");
    }

    #[test]
    fn properties_are_always_there_and_an_empty_required_never() {
        let empty = json!({"type": "object", "properties": {}});
        check(&json!({"type": "object"}), &empty);
        check(&json!({"type": "object", "required": []}), &empty);
        check(&json!(true), &empty);
        check(&json!({"type": "object", "properties": null}), &empty);
    }

    #[test]
    fn options_and_references_become_plain_types() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Args",
            "type": "object",
            "properties": {
                "path": {"type": "string", "title": "Path"},
                "limit": {"type": ["integer", "null"], "minimum": 1, "format": "uint32"},
                "area": {"anyOf": [{"$ref": "#/$defs/Area"}, {"type": "null"}], "description": "a"},
                "sort": {"oneOf": [{"const": "name"}, {"const": "size"}]},
            },
            "required": ["path"],
            "$defs": {"Area": {
                "type": "object",
                "properties": {"w": {"type": "integer"}},
                "required": ["w"],
            }},
        });
        check(
            &schema,
            &json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "limit": {"type": "integer", "minimum": 1},
                    "area": {
                        "type": "object",
                        "properties": {"w": {"type": "integer"}},
                        "required": ["w"],
                        "description": "a",
                    },
                    "sort": {"oneOf": [{"enum": ["name"]}, {"enum": ["size"]}]},
                },
                "required": ["path"],
            }),
        );
    }

    #[test]
    fn a_property_may_be_called_like_a_keyword() {
        let schema = json!({"type": "object", "properties": {
            "title": {"type": "string"}, "type": {"type": ["string", "integer"]}, "$ref": {},
        }});
        check(
            &schema,
            &json!({"type": "object", "properties": {
                "title": {"type": "string"},
                "type": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "$ref": {},
            }}),
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/Tree"}},
            "$defs": {"Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}},
        });
        let text = parameters(&schema).to_string();
        assert!(!text.contains("$ref") && !text.contains("$defs"), "{text}");
        assert!(text.len() < 10_000, "{}", text.len());
    }

    #[test]
    fn a_choice_at_the_top_becomes_one_object() {
        let schema = json!({"oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}, "x": {}}, "required": ["a", "x"]},
            {"type": "object", "properties": {"b": {"type": "string"}, "x": {}}, "required": ["b", "x"]},
        ]});
        check(
            &schema,
            &json!({
                "properties": {"a": {"type": "string"}, "x": {}, "b": {"type": "string"}},
                "required": ["x"],
                "type": "object",
            }),
        );
    }
}
