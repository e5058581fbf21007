//! Trees drawn from facts as orchestrators write them.

use callboard_proto::agent::Fact;
use serde_json::{Value, json};

use super::fold;

/// A fact of run `r`, ten milliseconds after the one before.
fn facts(rows: &[(&str, Value)]) -> Vec<Fact> {
    let facts = (1..).zip(rows).map(|(seq, (kind, fields))| Fact {
        seq,
        r#type: (*kind).to_owned(),
        json: fields.to_string(),
        wall_ms: i64::try_from(seq).unwrap() * 10,
        run: "r".to_owned(),
        ..Fact::default()
    });
    facts.collect()
}

fn tree(rows: &[(&str, Value)]) -> Value {
    serde_json::to_value(fold(&facts(rows))).unwrap()
}

#[test]
fn a_run_holds_its_model_and_tool_calls_with_durations() {
    let rows = [
        ("input.received", json!({ "run": "r" })),
        ("run.started", json!({ "run": "r", "agent": "default" })),
        ("model.requested", json!({ "run": "r", "request": 1, "model": "auto" })),
        ("model.replied", json!({ "run": "r", "request": 1, "model": "offline", "calls": [] })),
        ("call.planned", json!({ "call_id": "c", "tool": "run_command" })),
        ("call.judged", json!({ "call_id": "c", "verdict": "ask" })),
        ("approval.asked", json!({ "call_id": "c" })),
        ("approval.decided", json!({ "call_id": "c", "approved": true, "by": "local" })),
        ("attempt.started", json!({ "call_id": "c", "attempt": 1, "instance": "shell-1" })),
        ("attempt.ended", json!({ "call_id": "c", "attempt": 1, "status": "not_sent" })),
        ("attempt.started", json!({ "call_id": "c", "attempt": 2, "instance": "shell-2" })),
        ("attempt.ended", json!({ "call_id": "c", "attempt": 2, "status": "answered" })),
        ("call.settled", json!({ "call_id": "c", "status": "ok" })),
        ("run.ended", json!({ "run": "r", "status": "completed" })),
    ];
    let leaf = |kind: &str, name: &str, id: &str, (started, took): (i64, i64), status: &str| {
        json!({
            "kind": kind, "name": name, "id": id, "started_at": started, "duration_ms": took,
            "status": status, "children": [],
        })
    };
    let mut tool = leaf("tool", "execute_tool run_command", "c", (50, 80), "ok");
    tool["children"] = json!([
        leaf("approval", "approval", "local", (70, 10), "approved"),
        leaf("attempt", "attempt 1", "shell-1", (90, 10), "not_sent"),
        leaf("attempt", "attempt 2", "shell-2", (110, 10), "answered"),
    ]);
    let mut run = leaf("run", "invoke_agent default", "r", (20, 120), "completed");
    run["children"] = json!([leaf("model", "chat offline", "1", (30, 10), "ok"), tool]);
    assert_eq!(tree(&rows), json!([run]));
}

#[test]
fn what_goes_on_has_no_duration_yet() {
    let rows = [
        ("input.received", json!({})),
        ("run.started", json!({ "agent": "default" })),
        ("model.requested", json!({ "request": 1, "model": "offline" })),
    ];
    let tree = tree(&rows);
    for node in [&tree[0], &tree[0]["children"][0]] {
        assert_eq!((&node["duration_ms"], &node["status"]), (&Value::Null, &json!("working")));
    }
}

/// The name as the model wrote it is all that is known of a call without a plan.
#[test]
fn a_call_that_never_had_a_plan_is_shown_by_the_name_that_was_asked_for() {
    let wanted = json!([{ "call_id": "c", "name": "calculator" }]);
    let rows = [
        ("input.received", json!({})),
        ("model.requested", json!({ "request": 1, "model": "m" })),
        ("model.replied", json!({ "request": 1, "model": "m", "calls": wanted })),
        ("call.settled", json!({ "call_id": "c", "status": "failed" })),
        ("model.requested", json!({ "request": 2, "model": "m" })),
        ("model.failed", json!({ "request": 2, "kind": "unavailable" })),
    ];
    let tree = tree(&rows);
    let children: Vec<_> = tree[0]["children"].as_array().unwrap().iter().collect();
    let named: Vec<_> = children.iter().map(|child| (&child["name"], &child["status"])).collect();
    assert_eq!(
        named,
        [
            (&json!("chat m"), &json!("ok")),
            (&json!("execute_tool calculator"), &json!("failed")),
            (&json!("chat m"), &json!("failed")),
        ]
    );
}

#[test]
fn facts_of_a_later_release_and_broken_ones_are_passed_over() {
    let mut facts = facts(&[
        ("session.opened", json!({})),
        ("input.received", json!({})),
        ("moon.risen", json!({ "call_id": "c" })),
        ("attempt.started", json!({ "call_id": "never planned" })),
        ("run.ended", json!({ "status": "failed" })),
    ]);
    facts[0].run.clear();
    facts[2].json = "no json".to_owned();
    let runs = serde_json::to_value(fold(&facts)).unwrap();
    assert_eq!((&runs[0]["status"], &runs[0]["children"]), (&json!("failed"), &json!([])));
}

#[test]
fn a_rollback_is_drawn_after_the_runs_with_each_call_that_it_came_to() {
    let mut facts = facts(&[
        ("input.received", json!({})),
        ("call.planned", json!({ "call_id": "a", "tool": "write_file" })),
        ("call.planned", json!({ "call_id": "b", "tool": "move_file" })),
        ("run.ended", json!({ "status": "completed" })),
        ("rollback.asked", json!({ "rollback": "k", "calls": ["b", "a"], "by": "local" })),
        ("rollback.started", json!({ "rollback": "k", "call_id": "b" })),
        ("rollback.ended", json!({ "rollback": "k", "call_id": "b", "status": "undone" })),
        ("rollback.started", json!({ "rollback": "k", "call_id": "a" })),
        ("rollback.ended", json!({ "rollback": "k", "call_id": "a", "status": "conflict" })),
        ("rollback.asked", json!({ "rollback": "l", "calls": ["a"], "by": "local" })),
        ("rollback.started", json!({ "rollback": "l", "call_id": "a" })),
    ]);
    for fact in &mut facts[4..] {
        fact.run.clear();
    }
    let drawn = serde_json::to_value(fold(&facts)).unwrap();
    let undo = |name: &str, call: &str, started: i64, took: Option<i64>, status: &str| {
        json!({
            "kind": "undo", "name": name, "id": call, "started_at": started, "duration_ms": took,
            "status": status, "children": [],
        })
    };
    let stopped = json!({
        "kind": "rollback", "name": "rollback by local", "id": "k", "started_at": 50,
        "duration_ms": 40, "status": "conflict", "children": [
            undo("take back move_file", "b", 60, Some(10), "undone"),
            undo("take back write_file", "a", 80, Some(10), "conflict"),
        ],
    });
    let goes_on = json!({
        "kind": "rollback", "name": "rollback by local", "id": "l", "started_at": 100,
        "duration_ms": null, "status": "working", "children": [
            undo("take back write_file", "a", 110, None, "working"),
        ],
    });
    assert_eq!(drawn.as_array().unwrap()[1..], [stopped, goes_on]);
}
