//! Tools as a chat completions request declares them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{
    super::{ToolDeclaration, schema},
    tool_names::ToolNames,
};

/// Examples of a tool that are put behind its description.
const EXAMPLES: usize = 2;

/// The `tools` of a request, and the names that they go by.
#[derive(Debug)]
pub(in crate::model) struct Declared {
    /// Names on the wire.
    pub(super) names: ToolNames,
    /// The JSON array; `None` without tools, as providers refuse an empty one.
    pub(super) tools: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    description: Cow<'a, str>,
    parameters: Value,
}

impl Declared {
    pub(in crate::model) fn new(declarations: &[ToolDeclaration]) -> Self {
        let names = ToolNames::new(declarations.iter().map(|tool| tool.name.as_str()));
        let tools: Vec<Tool<'_>> = declarations
            .iter()
            .map(|tool| Tool {
                r#type: "function",
                function: Function {
                    name: names.wire(&tool.name),
                    description: description(&tool.description, &tool.examples),
                    parameters: schema::parameters(&tool.input_schema),
                },
            })
            .collect();
        let written = (!tools.is_empty()).then(|| serde_json::value::to_raw_value(&tools));
        // Text and JSON values can always be written.
        let tools = written.and_then(Result::ok);
        Self { names, tools }
    }
}

fn description<'a>(text: &'a str, examples: &[(String, String)]) -> Cow<'a, str> {
    if examples.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut described = text.trim_end().to_owned();
    for (request, arguments) in examples.iter().take(EXAMPLES) {
        described.push_str("\nExample: \"");
        described.push_str(request);
        described.push_str("\" → ");
        described.push_str(arguments);
    }
    Cow::Owned(described)
}
