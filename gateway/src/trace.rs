//! The tree of a session's work, folded from its facts: run → model calls and tool calls → approvals
//! and attempts; rollback → calls that are taken back. Pure; `http/trace.rs` brings the facts. Facts that it does not know are passed over.

use std::collections::HashMap;

use callboard_proto::agent::Fact;
use serde::Serialize;
use serde_json::Value;

/// Something that took time.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Node {
    /// `run`, `model`, `tool`, `approval`, `attempt`, `rollback` or `undo`.
    kind: &'static str,
    /// As a span of a trace is named.
    name: String,
    /// Run, call or instance.
    id: String,
    /// Unix time in milliseconds.
    started_at: i64,
    /// Absent while it goes on.
    duration_ms: Option<i64>,
    /// How it ended; `working` while it goes on.
    status: String,
    /// Trace id of a run, 32 hex digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    trace_id: String,
    children: Vec<Node>,
}

impl Node {
    fn new(kind: &'static str, name: String, id: &str, started_at: i64) -> Self {
        let status = "working".to_owned();
        Self { kind, name, id: id.to_owned(), started_at, status, ..Self::default() }
    }

    fn end(&mut self, at: i64, status: &str) {
        self.duration_ms = Some((at - self.started_at).max(0));
        status.clone_into(&mut self.status);
    }

    /// The last child that fits.
    fn last(&mut self, kind: &str, id: &str) -> Option<&mut Self> {
        let mut fitting = self.children.iter_mut().rev();
        fitting.find(|child| child.kind == kind && (id.is_empty() || child.id == id))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn set_trace(&mut self, trace_id: &str) {
        trace_id.clone_into(&mut self.trace_id);
    }
}

/// The runs and the rollbacks of a session, oldest first.
pub(crate) fn fold<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Vec<Node> {
    let mut tree = Tree::default();
    for fact in facts {
        let fields: Value = serde_json::from_str(&fact.json).unwrap_or_default();
        tree.apply(fact, &fields);
    }
    tree.runs
}

#[derive(Default)]
struct Tree {
    /// Runs and rollbacks.
    runs: Vec<Node>,
    /// Calls that the last rollback has not come to, itself included.
    left: usize,
    /// Names of the tools that a model asked for, by call.
    wanted: HashMap<String, String>,
}

impl Tree {
    fn apply(&mut self, fact: &Fact, fields: &Value) {
        let at = fact.wall_ms;
        let call = text(fields, "call_id");
        if fact.r#type == "input.received" {
            self.runs.push(Node::new("run", "invoke_agent".to_owned(), &fact.run, at));
            // A direct call has its run's id, and nobody but its input wanted it.
            let direct = text(&fields["input"]["direct"], "tool").to_owned();
            self.wanted.insert(fact.run.clone(), direct);
            return;
        }
        for wanted in fields["calls"].as_array().into_iter().flatten() {
            self.wanted.insert(text(wanted, "call_id").to_owned(), text(wanted, "name").to_owned());
        }
        if fact.r#type == "call.planned" {
            self.wanted.insert(call.to_owned(), text(fields, "tool").to_owned());
        }
        if fact.r#type.starts_with("rollback.") {
            return self.apply_rollback(fact, fields);
        }
        let Some(run) = self.runs.iter_mut().find(|run| run.id == fact.run) else { return };
        match fact.r#type.as_str() {
            "run.started" => {
                run.name = format!("invoke_agent {}", text(fields, "agent"));
                run.started_at = at;
            }
            "model.requested" => {
                let name = format!("chat {}", text(fields, "model"));
                let id = fields["request"].to_string();
                run.children.push(Node::new("model", name, &id, at));
            }
            "model.replied" | "model.failed" => {
                let status = if fact.r#type == "model.replied" { "ok" } else { "failed" };
                if let Some(model) = run.last("model", &fields["request"].to_string()) {
                    model.end(at, status);
                    if !text(fields, "model").is_empty() {
                        model.name = format!("chat {}", text(fields, "model"));
                    }
                }
            }
            "call.planned" => {
                let name = format!("execute_tool {}", text(fields, "tool"));
                run.children.push(Node::new("tool", name, call, at));
            }
            "call.settled" => {
                if run.last("tool", call).is_none() {
                    // It failed before it had a plan: an unknown tool, or arguments beyond repair.
                    let name = self.wanted.get(call).map_or("", String::as_str);
                    let name = format!("execute_tool {name}").trim_end().to_owned();
                    run.children.push(Node::new("tool", name, call, at));
                }
                if let Some(tool) = run.last("tool", call) {
                    tool.end(at, text(fields, "status"));
                }
            }
            "run.ended" => run.end(at, text(fields, "status")),
            kind => inside_call(run.last("tool", call), kind, fields, at),
        }
    }
}

impl Tree {
    fn apply_rollback(&mut self, fact: &Fact, fields: &Value) {
        let (at, call, id) = (fact.wall_ms, text(fields, "call_id"), text(fields, "rollback"));
        if fact.r#type == "rollback.asked" {
            self.left = fields["calls"].as_array().map_or(0, Vec::len);
            let name = format!("rollback by {}", text(fields, "by"));
            return self.runs.push(Node::new("rollback", name, id, at));
        }
        let rollbacks = self.runs.iter_mut().rev();
        let Some(rollback) = rollbacks.into_iter().find(|it| it.kind == "rollback" && it.id == id)
        else {
            return;
        };
        if rollback.last("undo", call).is_none() {
            let tool = self.wanted.get(call).map_or(call, String::as_str);
            rollback.children.push(Node::new("undo", format!("take back {tool}"), call, at));
        }
        if fact.r#type == "rollback.ended" {
            let status = text(fields, "status");
            self.left = self.left.saturating_sub(1);
            if let Some(undo) = rollback.last("undo", call) {
                undo.end(at, status);
            }
            // The first call that cannot be taken back ends it.
            if self.left == 0 || status != "undone" {
                rollback.end(at, status);
            }
        }
    }
}

/// What happens to a call between plan and outcome.
fn inside_call(tool: Option<&mut Node>, kind: &str, fields: &Value, at: i64) {
    let Some(tool) = tool else { return };
    match kind {
        "approval.asked" => {
            tool.children.push(Node::new("approval", "approval".to_owned(), "", at));
        }
        "approval.decided" => {
            let status = if fields["approved"] == true { "approved" } else { "denied" };
            if let Some(approval) = tool.last("approval", "") {
                approval.end(at, status);
                text(fields, "by").clone_into(&mut approval.id);
            }
        }
        "attempt.started" => {
            let name = format!("attempt {}", fields["attempt"]);
            tool.children.push(Node::new("attempt", name, text(fields, "instance"), at));
        }
        "attempt.ended" => {
            if let Some(attempt) = tool.last("attempt", "") {
                attempt.end(at, text(fields, "status"));
            }
        }
        _ => {}
    }
}

fn text<'a>(fields: &'a Value, name: &str) -> &'a str {
    fields[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
