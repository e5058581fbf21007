//! Text that is JSON, put into an answer as it is. What lies too deep in itself for a reader's parser
//! is shown as text, so that no answer fails for the arguments that a model made up.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// Arrays and objects inside one another that are passed on, and that a body may have.
pub(crate) const DEPTH: usize = 64;
/// Levels of a fact that are ours: the fields, a list in one of them, an element's fields.
const OURS: usize = 3;

/// JSON text in its place, or, where it is none or too deep, the text.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Raw<'a> {
    Json(&'a RawValue),
    Fields(BTreeMap<String, Self>),
    List(Vec<Self>),
    Text(&'a str),
}

impl<'a> Raw<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        if depth(text.as_bytes()) > DEPTH {
            return Self::Text(text);
        }
        serde_json::from_str(text).map_or(Self::Text(text), Self::Json)
    }

    /// Absent where the text is empty.
    pub(super) fn optional(text: &'a str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::new(text))
    }

    /// The fields of a fact: of those, only what is too deep itself becomes text.
    pub(super) fn fields(text: &'a str) -> Self {
        Self::within(text, OURS)
    }

    fn within(text: &'a str, levels: usize) -> Self {
        if levels == 0 || depth(text.as_bytes()) <= DEPTH {
            return Self::new(text);
        }
        let below = |value: &'a RawValue| Self::within(value.get(), levels - 1);
        if let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
            return Self::Fields(fields.into_iter().map(|(k, v)| (k, below(v))).collect());
        }
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(list) => Self::List(list.into_iter().map(below).collect()),
            Err(_) => Self::Text(text),
        }
    }
}

/// How deep arrays and objects lie in one another; text that is no JSON is found later.
pub(crate) fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    fn shown(raw: &Raw) -> Value {
        serde_json::from_str(&serde_json::to_string(raw).unwrap()).unwrap()
    }

    #[test]
    fn what_is_too_deep_is_shown_as_text() {
        assert!(shown(&Raw::new(&nested(64))).is_array());
        for levels in [65, 130, 10_000] {
            assert_eq!(shown(&Raw::new(&nested(levels))), json!(nested(levels)), "{levels}");
        }
        assert_eq!(shown(&Raw::new(r#"{"a": "[[["}"#)), json!({ "a": "[[[" }));
        assert_eq!(shown(&Raw::new("{")), json!("{"));
    }

    #[test]
    fn a_fact_keeps_its_fields_around_what_is_too_deep() {
        let deep = nested(130);
        let fact = format!(r#"{{"run":"r","calls":[{{"name":"n","arguments":{deep}}}]}}"#);
        let expected = json!({ "run": "r", "calls": [{ "name": "n", "arguments": deep }] });
        assert_eq!(shown(&Raw::fields(&fact)), expected);
    }
}
