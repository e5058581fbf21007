//! `callboard config`: the effective settings and where each came from. Secrets are masked.

use serde_json::{Value, json};

use crate::args::Output;
use crate::commands::here::Here;
use crate::commands::words;
use crate::exit::Exit;
use crate::print;

/// Characters of a value that are shown; `--json` shows all of them.
const VALUE: usize = 60;
/// Where the origins begin, unless a line is longer.
const COLUMN: usize = 56;

/// Prints every key.
///
/// # Errors
/// A configuration that cannot be used.
pub(crate) fn run(here: &Here, output: Output) -> anyhow::Result<Exit> {
    let shown = here.load()?.shown();
    if output.json {
        let entry = |value: &Value, origin: String| json!({"value": value, "from": origin});
        let document: serde_json::Map<String, Value> = shown
            .iter()
            .map(|shown| (shown.key.clone(), entry(&shown.value, shown.origin.to_string())))
            .collect();
        print::json(&Value::Object(document))?;
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = shown
        .iter()
        .map(|shown| {
            let value = match &shown.value {
                Value::Null => "(not set)".to_owned(),
                value => words::brief(&value.to_string(), VALUE),
            };
            let pair = format!("{} = {value}", shown.key);
            format!("{pair:COLUMN$}  # {}", shown.origin)
        })
        .collect();
    print::out(&lines.join("\n"))?;
    Ok(Exit::Done)
}
