use serde_json::json;

use super::*;

fn rejection(schema: &Value) -> Option<Rejected> {
    compile(&schema.to_string()).err()
}

fn nested(levels: usize, keyword: &str) -> String {
    let open = format!("{{\"{keyword}\":[");
    format!("{}{{}}{}", open.repeat(levels), "]}".repeat(levels))
}

/// `n` levels, each of which names the one below twice.
fn laughing(n: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..n {
        let below = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"allOf": [below, below]}));
    }
    defs.insert(format!("l{n}"), json!({"minProperties": 1}));
    json!({"$defs": defs, "$ref": "#/$defs/l0"})
}

#[test]
fn ordinary_schemas_compile() {
    let rows = [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": ["integer", "null"], "minimum": 1},
            "dims": {"anyOf": [{"$ref": "#/$defs/Dims"}, {"type": "null"}]}}, "required": ["path"],
            "$defs": {"Dims": {"type": "object", "properties": {"w": {"type": "integer"}}, "required": ["w"]}}}),
        // A property, and a definition, that are called like keywords.
        json!({"properties": {"properties": {"type": "string"}, "allOf": {"type": "string"}}}),
        json!({"$defs": {"properties": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/properties"}}}),
        json!({"properties": {"a b": {"type": "string"}}, "$defs": {"x": {"$ref": "#/properties/a%20b"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/a"}}}),
        json!({"$defs": {"a": {"$anchor": "here", "type": "string"}}, "properties": {"a": {"$ref": "#here"}}}),
        json!({"properties": {"v": {"type": "array", "uniqueItems": true, "maxItems": 20}}}),
        json!({"properties": {"v": {"type": "string", "pattern": "^(a+)+$"}}}),
        json!({"properties": {"v": {"enum": [{"$ref": "http://example.com/"}]}}}),
    ];
    for schema in rows {
        assert_eq!(rejection(&schema), None, "{schema}");
    }
}

#[test]
fn recursive_types_that_do_not_multiply_compile() {
    let tree = json!({"properties": {"root": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object",
        "properties": {"left": {"$ref": "#/$defs/n"}, "right": {"$ref": "#/$defs/n"}, "all": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}}});
    let condition = json!({"properties": {"where": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"oneOf": [
        {"properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/c"}}}, "required": ["and"]},
        {"properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/c"}}}, "required": ["or"]},
        {"properties": {"not": {"$ref": "#/$defs/c"}}, "required": ["not"]},
        {"properties": {"field": {"type": "string"}}, "required": ["field"]}]}}});
    for schema in [tree, condition] {
        assert_eq!(rejection(&schema), None, "{schema}");
    }
}

#[test]
fn a_schema_that_cannot_be_worked_with_is_refused_with_its_fault() {
    let deep: String = nested(3_000, "allOf");
    let rows: Vec<(String, &str)> = vec![
        (deep, "levels"),
        (nested(20, "allOf"), "41 levels"),
        ("{".to_owned(), "no JSON"),
        (String::new(), "no JSON"),
        ("[]".to_owned(), "describe an object"),
        ("true".to_owned(), "describe an object"),
        (json!({"type": "string"}).to_string(), "describe an object"),
        (json!({"description": "x".repeat(70_000)}).to_string(), "bytes"),
        (json!({"allOf": vec![json!({}); 600]}).to_string(), "602 objects and lists, 512"),
        (json!({"$ref": "#"}).to_string(), "itself"),
        (json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}).to_string(), "itself"),
        (json!({"properties": {"v": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}, {}]}}}).to_string(), "itself"),
        (json!({"properties": {"v": {"$ref": "http://127.0.0.1:1/s.json"}}}).to_string(), "out of the schema"),
        (json!({"properties": {"v": {"$ref": "file:///etc/passwd"}}}).to_string(), "out of the schema"),
        (json!({"properties": {"v": {"$ref": "other.json#/a"}}}).to_string(), "out of the schema"),
        (json!({"$defs": {"x": {"items": {"$ref": "//host/s"}}}}).to_string(), "out of the schema"),
        (json!({"properties": {"v": {"$ref": "#/$defs/none"}}}).to_string(), "leads nowhere"),
        (json!({"properties": {"v": {"$dynamicRef": "#x"}}}).to_string(), "$dynamicRef"),
        (json!({"properties": {"v": {"$id": "http://a/", "$ref": "#/x"}}}).to_string(), "$id"),
        (json!({"$schema": "http://127.0.0.1:1/meta"}).to_string(), "not valid"),
        (json!({"properties": {"v": {"uniqueItems": true}}}).to_string(), "maxItems"),
        (json!({"properties": {"v": {"uniqueItems": true, "maxItems": 100_000}}}).to_string(), "maxItems"),
        (json!({"properties": {"v": {"pattern": "(?=a)b"}}}).to_string(), "not valid"),
        (json!({"properties": {"v": {"pattern": "(a{1000}){1000}"}}}).to_string(), "not valid"),
        (json!({"patternProperties": {"(?<!a)b": {}}}).to_string(), "not valid"),
        (json!({"properties": {"v": {"type": "strnig"}}}).to_string(), "not valid"),
        (json!({"properties": []}).to_string(), "not valid"),
    ];
    for (schema, fault) in rows {
        let shown: String = schema.chars().take(120).collect();
        let error = compile(&schema).expect_err(&shown).to_string();
        assert!(error.contains(fault), "{shown}: {error}");
    }
}

#[test]
fn branches_that_multiply_are_refused() {
    assert_eq!(rejection(&laughing(8)), None, "256 applications are nothing");
    assert_eq!(rejection(&laughing(40)), Some(Rejected::Explosive(10_000)));
    // A recursive type whose branches go on under the same name: 2^64 at the deepest argument.
    let overlapping = json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [
        {"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"a": {"$ref": "#/$defs/n"}}}]}}});
    assert_eq!(rejection(&overlapping), Some(Rejected::Explosive(10_000)));
    let any = json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {
        "additionalProperties": {"$ref": "#/$defs/n"}, "patternProperties": {"^a": {"$ref": "#/$defs/n"}}}}});
    assert_eq!(rejection(&any), Some(Rejected::Explosive(10_000)));
    let items = json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {
        "items": {"$ref": "#/$defs/n"}, "contains": {"$ref": "#/$defs/n"}}}});
    assert_eq!(rejection(&items), Some(Rejected::Explosive(10_000)));
}

#[test]
fn the_largest_allowed_schema_is_judged_quickly() {
    // A chain of 240 nodes in place, each with a member of its own: the worst case for the sums.
    let mut defs = serde_json::Map::new();
    for nth in 0..240 {
        let mut node = json!({"properties": {}});
        node["properties"][format!("p{nth}")] = json!(true);
        if nth < 239 {
            node["$ref"] = json!(format!("#/$defs/d{}", nth + 1));
        }
        defs.insert(format!("d{nth}"), node);
    }
    let schema = json!({"$defs": defs, "$ref": "#/$defs/d0"});
    assert_eq!(rejection(&schema), None);
}
