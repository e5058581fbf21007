//! Calls that local servers leave as markup in the text of an answer.
//!
//! Only names that were offered count; everything else is text that a model wrote about calls.

use serde_json::{Map, Value};

use super::{super::ToolDeclaration, tool_names::ToolNames};

/// How a call is marked; without a closing mark it goes on to the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) open: &'static str,
    pub(super) close: Option<&'static str>,
}

/// The marks in use, none of which begins another.
pub(super) const MARKS: &[Mark] = &[
    Mark { open: "<tool_call>", close: Some("</tool_call>") },
    Mark { open: "<function_call>", close: Some("</function_call>") },
    Mark { open: "<function=", close: Some("</function>") },
    Mark { open: "<|tool_call|>", close: Some("<|/tool_call|>") },
    Mark { open: "[TOOL_CALLS]", close: None },
];

/// A call read from a text: the catalog's name, and arguments as JSON text.
pub(super) type Call = (String, String);

/// The calls between two marks; `None` if there is anything in it that is not a call of an offered
/// tool.
pub(super) fn calls(
    mark: Mark,
    body: &str,
    tools: &[ToolDeclaration],
    names: &ToolNames,
) -> Option<Vec<Call>> {
    let body = unfenced(body.trim());
    let inner = body.strip_prefix("<function=").filter(|_| mark.open != "<function=");
    let calls = match inner {
        Some(inner) => vec![tagged(inner.trim_end_matches("</function>"), tools, names)?],
        None if mark.open == "<function=" => vec![tagged(body, tools, names)?],
        None => json_calls(body, names)?,
    };
    (!calls.is_empty()).then_some(calls)
}

/// JSON objects, one after the other or in lists.
fn json_calls(body: &str, names: &ToolNames) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
        match value.ok()? {
            Value::Array(values) => {
                for value in &values {
                    calls.push(json_call(value, names)?);
                }
            }
            value => calls.push(json_call(&value, names)?),
        }
    }
    Some(calls)
}

fn json_call(value: &Value, names: &ToolNames) -> Option<Call> {
    let object = value.as_object()?;
    let object = match object.get("function") {
        Some(Value::Object(function)) => function,
        _ => object,
    };
    let name = ["name", "function", "tool", "tool_name"]
        .iter()
        .find_map(|key| object.get(*key).and_then(Value::as_str))?;
    let arguments =
        ["arguments", "parameters", "args", "input"].iter().find_map(|key| object.get(*key));
    let arguments = match arguments {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    names.is_offered(name).then(|| (names.ours(name).to_owned(), arguments))
}

/// `NAME>{json}` or `NAME><parameter=KEY>VALUE</parameter>…`
fn tagged(body: &str, tools: &[ToolDeclaration], names: &ToolNames) -> Option<Call> {
    let (name, rest) = body.split_once('>')?;
    let name = names.is_offered(name.trim()).then(|| names.ours(name.trim()).to_owned())?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some((name, "{}".to_owned()));
    }
    if rest.starts_with('{') {
        return serde_json::from_str::<Map<String, Value>>(rest)
            .ok()
            .map(|_| (name, rest.to_owned()));
    }
    let schema = tools.iter().find(|tool| tool.name == name).map(|tool| &tool.input_schema);
    let mut arguments = Map::new();
    let mut rest = rest;
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix("<parameter=")?.split_once('>')?;
        let (value, after) = after.split_once("</parameter>")?;
        let is_text = schema
            .and_then(|schema| schema.get("properties")?.get(key)?.get("type"))
            .is_some_and(|kind| kind == "string");
        arguments.insert(key.trim().to_owned(), typed(value.trim_matches('\n'), is_text));
        rest = after.trim_start();
    }
    Some((name, Value::Object(arguments).to_string()))
}

fn typed(value: &str, is_text: bool) -> Value {
    if is_text {
        return Value::String(value.to_owned());
    }
    serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::String(value.to_owned()))
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```") else { return text };
    let inner = inner.trim_start_matches(|char: char| char.is_ascii_alphanumeric());
    inner.trim_end().strip_suffix("```").unwrap_or(inner).trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Rows<'a> = Option<&'a [(&'a str, &'a str)]>;

    fn check(mark: &str, body: &str, expected: Rows<'_>) {
        let tools = ["weather", "files.read"].map(|name| ToolDeclaration {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object", "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"},
            }}),
            examples: Vec::new(),
        });
        let names = ToolNames::new(tools.iter().map(|tool| tool.name.as_str()));
        let mark = *MARKS.iter().find(|known| known.open == mark).unwrap();
        let expected = expected.map(|calls| {
            calls.iter().map(|(name, args)| ((*name).to_owned(), (*args).to_owned())).collect()
        });
        assert_eq!(calls(mark, body, &tools, &names), expected, "{body}");
    }

    #[test]
    fn forms_in_use_are_read_and_everything_else_is_text() {
        let oslo: &[(&str, &str)] = &[("weather", r#"{"city":"Oslo"}"#)];
        let rows: &[(&str, &str, Rows<'_>)] = &[
            (
                "<tool_call>",
                "\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n",
                Some(oslo),
            ),
            ("<tool_call>", r#"{"name":"weather","parameters":"{\"city\":\"Oslo\"}"}"#, Some(oslo)),
            (
                "<tool_call>",
                r#"{"function":{"name":"weather","arguments":{"city":"Oslo"}}}"#,
                Some(oslo),
            ),
            (
                "<tool_call>",
                "```json\n{\"name\":\"weather\",\"args\":{\"city\":\"Oslo\"}}\n```",
                Some(oslo),
            ),
            ("<tool_call>", r#"{"name":"files__read"}"#, Some(&[("files.read", "{}")])),
            (
                "<tool_call>",
                r#"{"name":"weather","arguments":{}} {"name":"weather","arguments":{}}"#,
                Some(&[("weather", "{}"), ("weather", "{}")]),
            ),
            (
                "<tool_call>",
                "<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>",
                Some(&[("weather", r#"{"city":"12","days":3}"#)]),
            ),
            ("<function=", r#"weather>{"city":"Oslo"}"#, Some(oslo)),
            ("[TOOL_CALLS]", r#"[{"name":"weather","arguments":{"city":"Oslo"}}]"#, Some(oslo)),
            ("<tool_call>", r#"{"name":"unknown","arguments":{}}"#, None),
            ("<tool_call>", r#"{"name":"weather","arguments":{"city":"#, None),
            ("<tool_call>", "…", None),
            ("<tool_call>", "", None),
        ];
        for (mark, body, expected) in rows {
            check(mark, body, *expected);
        }
    }
}
