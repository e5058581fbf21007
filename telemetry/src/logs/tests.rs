//! Logs from the event to the file, as `init` sets them up.

use std::{fs, io};

use serde_json::{Value, json};
use tracing::{debug, error, info, warn};

use crate::{Config, Telemetry, init::assemble, propagate, span};

use super::line::VALUE;

struct Fixture {
    folder: tempfile::TempDir,
    telemetry: Telemetry,
    guard: tracing::dispatcher::DefaultGuard,
}

fn set_up(level: &str) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        level: level.to_owned(),
        log_dir: Some(folder.path().to_owned()),
        stderr: false,
        ..Config::default()
    };
    let (telemetry, _, dispatch) = assemble("gateway", "gateway-1", &config).unwrap();
    Fixture { folder, telemetry, guard: tracing::dispatcher::set_default(&dispatch) }
}

impl Fixture {
    async fn lines(self) -> Vec<Value> {
        drop(self.guard);
        self.telemetry.shutdown().await;
        let text = fs::read_to_string(self.folder.path().join("gateway.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn a_line_says_who_what_and_where_in_the_trace() {
    let fixture = set_up("info");
    let run = span::run("assistant", "s", "r", "");
    run.in_scope(|| info!(status = "completed", steps = 3_u32, ratio = 0.5, "run ended"));
    let trace = propagate::trace_id_of(&run);
    let parent = propagate::traceparent_of(&run);
    let mut lines = fixture.lines().await;
    assert_eq!(lines.len(), 1);
    let time = lines[0].as_object_mut().unwrap().remove("ts").unwrap();
    assert_eq!(time.as_str().unwrap().len(), "2026-11-30T12:00:00.000000Z".len());
    assert_eq!(
        lines[0],
        json!({
            "level": "info", "role": "gateway", "instance": "gateway-1",
            "pid": std::process::id(), "target": "callboard_telemetry::logs::tests",
            "message": "run ended",
            "fields": {"status": "completed", "steps": 3, "ratio": 0.5},
            "trace_id": trace, "span_id": &parent[36..52],
        })
    );
}

#[tokio::test]
async fn the_level_decides_about_lines_and_not_about_spans() {
    let fixture = set_up("warn");
    let run = span::run("assistant", "s", "r", "");
    run.in_scope(|| {
        debug!("no");
        info!("no");
        warn!("yes");
        error!("yes");
    });
    assert_eq!(propagate::trace_id_of(&run).len(), 32);
    let lines = fixture.lines().await;
    let seen: Vec<_> = lines.iter().map(|line| (&line["message"], &line["level"])).collect();
    assert_eq!(seen, [(&json!("yes"), &json!("warn")), (&json!("yes"), &json!("error"))]);
    assert!(lines.iter().all(|line| line["trace_id"].is_string()), "{lines:#?}");
}

#[tokio::test]
async fn what_comes_from_outside_stays_in_its_line_and_is_cut() {
    let fixture = set_up("info");
    let long = "é".repeat(VALUE);
    info!(evil = "a\n{\"level\":\"error\"}\u{202e}", long, "two\nlines");
    let lines = fixture.lines().await;
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["message"], "two\nlines");
    assert_eq!(lines[0]["fields"]["evil"], "a\n{\"level\":\"error\"}\u{202e}");
    let expected = format!("{}… ({} bytes)", "é".repeat(VALUE / 2), 2 * VALUE);
    assert_eq!(lines[0]["fields"]["long"], expected);
}

#[tokio::test]
async fn an_error_is_logged_with_its_sources() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the file")]
    struct Outer(#[source] io::Error);
    let fixture = set_up("info");
    let error: &dyn std::error::Error = &Outer(io::Error::other("disk on fire"));
    error!(error, "failed");
    assert_eq!(fixture.lines().await[0]["fields"]["error"], "cannot read the file: disk on fire");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let config = Config { log_dir: Some(file.clone()), ..Config::default() };
    let message = assemble("gateway", "gateway-1", &config).unwrap_err().to_string();
    assert_eq!(message, format!("cannot write logs to {}", file.display()));
}
