//! `find_tools`: tools that a model call did not offer. What it finds is offered next time.

use serde::{Deserialize, Serialize};

use super::{About, Within};
use crate::call::failure::{Failure, Kind};
use crate::call::outcome::Output;

/// Its name.
pub const NAME: &str = "find_tools";

/// Tools that it lists.
const MOST: usize = 8;

pub(super) const ABOUT: About = (
    NAME,
    "Looks up further tools by what they should do, when none of the offered ones fits. Not for \
     finding files, text or anything but tools. 查找可用的工具。",
    r#"{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":500,"description":"What the tool should do, in a few words."}},"required":["query"],"additionalProperties":false}"#,
    ("Is there a tool that converts currencies?", r#"{"query":"convert currencies"}"#),
);

#[derive(Deserialize)]
struct Arguments {
    query: String,
}

#[derive(Deserialize, Serialize)]
struct Found {
    tools: Vec<FoundTool>,
}

#[derive(Deserialize, Serialize)]
struct FoundTool {
    name: String,
    description: String,
}

/// Names in the structured content of a result of this tool: what to offer from now on. Empty for
/// anything else.
pub fn found(structured: &str) -> Vec<String> {
    let found = serde_json::from_str::<Found>(structured);
    found.map(|found| found.tools.into_iter().map(|tool| tool.name).collect()).unwrap_or_default()
}

pub(super) fn find(arguments: &str, within: Within<'_>) -> Result<Output, Failure> {
    let Arguments { query } = serde_json::from_str(arguments)
        .map_err(|error| Failure::new(Kind::InvalidArguments, error.to_string()))?;
    let tools: Vec<FoundTool> = within
        .snapshot
        .search(within.team, &query, MOST)
        .into_iter()
        .map(|tool| FoundTool {
            name: tool.descriptor.name.clone(),
            description: first_sentence(&tool.descriptor.description),
        })
        .collect();
    if tools.is_empty() {
        return Ok(Output::text("No tool does that. Say so, or ask with other words."));
    }
    let lines: Vec<String> =
        tools.iter().map(|tool| format!("- {}: {}", tool.name, tool.description)).collect();
    let content = format!("{}\nThey can be called from now on.", lines.join("\n"));
    let structured = serde_json::to_string(&Found { tools }).unwrap_or_default();
    Ok(Output { content, structured, ..Output::default() })
}

fn first_sentence(description: &str) -> String {
    let line = description.lines().next().unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |at| at + 1);
    line[..end].chars().take(200).collect()
}
