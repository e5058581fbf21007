//! `callboard trace`: what a session did, as a tree with durations, drawn from the journal.

use serde::Deserialize;
use serde_json::Value;

use crate::args::OfSession;
use crate::client::{segment, shapes};
use crate::commands::here::Here;
use crate::commands::{connect, words};
use crate::exit::Exit;
use crate::print;

/// Something that took time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Span {
    kind: String,
    name: String,
    id: String,
    /// Unix time in milliseconds.
    started_at: i64,
    /// Absent while it goes on.
    duration_ms: Option<u64>,
    status: String,
    trace_id: String,
    children: Vec<Span>,
}

/// Prints the tree.
///
/// # Errors
/// When there is no gateway to ask, or no such session.
pub(crate) async fn run(here: &Here, of: OfSession) -> anyhow::Result<Exit> {
    let path = format!("/v1/sessions/{}/trace", segment(&of.session));
    let document = connect::with(here, async |client| client.get(&path).await).await?;
    if of.output.json {
        print::json(&document)?;
        return Ok(Exit::Done);
    }
    let runs: Vec<Span> = shapes::read(&document["runs"])?;
    let mut lines = Vec::new();
    for run in &runs {
        let rows = rows(run);
        lines.push(words::columns(&rows));
    }
    if document["is_whole"] == Value::Bool(false) {
        lines.push("(the session is longer than one tree shows)".to_owned());
    }
    if lines.is_empty() {
        print::err("This session has no runs.");
        return Ok(Exit::Done);
    }
    print::out(&print::visible(lines.join("\n").trim_end()))?;
    Ok(Exit::Done)
}

/// A run and everything in it: the tree, when it began after the run, how long it took, how it ended.
fn rows(run: &Span) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    add(run, run.started_at, "", "", &mut rows);
    rows
}

fn add(span: &Span, from: i64, lead: &str, below: &str, rows: &mut Vec<Vec<String>>) {
    let name = match span.kind.as_str() {
        "attempt" => format!("{} → {}", span.name, span.id),
        "approval" if !span.id.is_empty() => format!("{} by {}", span.name, span.id),
        "run" if !span.trace_id.is_empty() => format!("{} (trace {})", span.name, span.trace_id),
        _ => span.name.clone(),
    };
    let offset = u64::try_from(span.started_at - from).unwrap_or(0);
    rows.push(vec![
        format!("{lead}{name}"),
        format!("+{}", words::duration(offset)),
        span.duration_ms.map_or("…".to_owned(), words::duration),
        span.status.clone(),
    ]);
    for (index, child) in span.children.iter().enumerate() {
        let is_last = index + 1 == span.children.len();
        let (mark, rest) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        add(child, from, &format!("{below}{mark}"), &format!("{below}{rest}"), rows);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_drawn_as_a_tree_with_times_from_its_start() {
        let run = json!({"kind": "run", "name": "invoke_agent default", "started_at": 1000,
            "duration_ms": 1500, "status": "completed", "trace_id": "ab", "children": [
            {"kind": "model", "name": "chat offline", "started_at": 1002, "duration_ms": 3,
             "status": "ok"},
            {"kind": "tool", "name": "execute_tool calculate", "started_at": 1010,
             "status": "working", "children": [
                {"kind": "attempt", "name": "attempt 1", "id": "calculator-1", "started_at": 1011,
                 "duration_ms": 2, "status": "answered"}]}]});
        let drawn = words::columns(&rows(&shapes::read(&run).unwrap()));
        assert_eq!(
            drawn,
            "invoke_agent default (trace ab)  +0 ms   1.5 s  completed\n\
             ├─ chat offline                  +2 ms   3 ms   ok\n\
             └─ execute_tool calculate        +10 ms  …      working\n\
             \u{20}  └─ attempt 1 → calculator-1   +11 ms  2 ms   answered\n"
        );
    }
}
