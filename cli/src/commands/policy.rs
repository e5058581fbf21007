//! `callboard policy`: the rules in force, what they say of a call, and whether a file of them is right.

use std::path::Path;

use callboard_orchestrator::call::policy::lint;
use serde_json::{Value, json};

use crate::args::{Global, Output, Policy, PolicyTest};
use crate::commands::here::Here;
use crate::commands::{connect, tools};
use crate::exit::Exit;
use crate::print;

/// Runs one of the commands. `test` ends as a call with this verdict would: 3 where it is blocked.
///
/// # Errors
/// When there is no gateway to ask, no such tool, or a file that cannot be used.
pub(crate) async fn run(here: &Here, command: Policy) -> anyhow::Result<Exit> {
    match command {
        Policy::List(output) => list(here, output).await,
        Policy::Test(test) => tested(here, &test).await,
        Policy::Check { file, output } => check(here, &file, output),
    }
}

async fn list(here: &Here, output: Output) -> anyhow::Result<Exit> {
    let listed = connect::with(here, async |client| client.get("/v1/policy").await).await?;
    if output.json {
        print::json(&listed)?;
        return Ok(Exit::Done);
    }
    for rule in listed["rules"].as_array().into_iter().flatten() {
        print::out(&print::visible(&line(rule)))?;
        if let Some(warning) = text(rule, "warning") {
            print::err(&format!("  odd: {warning}"));
        }
    }
    let else_words = match listed["profile"].as_str() {
        Some("production") => "blocked",
        _ => "asked about",
    };
    print::out(&format!(
        "where no rule matches: what only reads is allowed, the rest is {else_words} (profile {})",
        listed["profile"].as_str().unwrap_or("development")
    ))?;
    if let Some(refused) = text(&listed, "refused") {
        print::err(&format!("not in force, since it cannot be used: {refused}"));
    }
    Ok(Exit::Done)
}

/// A rule in one line: its verdict, what it is about, why.
fn line(rule: &Value) -> String {
    let mut about = Vec::new();
    for key in ["tool", "effect", "team", "agent", "condition", "expires"] {
        if let Some(value) = text(rule, key) {
            about.push(format!("{key} {value}"));
        }
    }
    for (key, value) in rule["annotations"].as_object().into_iter().flatten() {
        about.push(format!("{key}={value}"));
    }
    let about = if about.is_empty() { "every call".to_owned() } else { about.join(", ") };
    let reason = text(rule, "reason").map_or(String::new(), |reason| format!(": {reason}"));
    let verdict = text(rule, "verdict").unwrap_or_default();
    format!("{verdict:<5} {about} [{}]{reason}", text(rule, "name").unwrap_or_default())
}

async fn tested(here: &Here, test: &PolicyTest) -> anyhow::Result<Exit> {
    let arguments = tools::arguments(&test.args)?;
    let body = json!({
        "tool": test.tool,
        "arguments_text": arguments.get(),
        "team": test.team.as_deref().unwrap_or_default(),
        "agent": test.agent.as_deref().unwrap_or_default(),
    });
    let path = "/v1/policy/test";
    let tested = connect::with(here, async |client| client.post(path, &body).await).await?;
    let verdict = text(&tested, "verdict").unwrap_or_default();
    if test.output.json {
        print::json(&tested)?;
    } else {
        let rule = text(&tested, "rule").unwrap_or_default();
        let reason = text(&tested, "reason").unwrap_or_default();
        print::out(&print::visible(&format!("{verdict} by {rule}: {reason}")))?;
        let denied: Vec<&str> = tested["denied_effects"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !denied.is_empty() {
            print::out(&format!("without: {}", denied.join(", ")))?;
        }
        if tested["has_preflight"] == json!(true) && verdict != "block" {
            print::err(
                "The tool looks at its arguments itself before a call, and may be stricter.",
            );
        }
    }
    Ok(if verdict == "block" { Exit::Denied } else { Exit::Done })
}

fn check(here: &Here, file: &Path, output: Output) -> anyhow::Result<Exit> {
    let global = Global { config: Some(file.to_owned()), ..here.global.clone() };
    let loaded = Here { global, bases: here.bases.clone() }.load()?;
    let config = &loaded.settings.orchestrator.policy;
    let warnings = lint::warnings(config, now_ms());
    let named =
        |nth: usize| config.rules.get(nth).map(|rule| rule.name_at(nth)).unwrap_or_default();
    if output.json {
        let warnings: Vec<Value> = warnings
            .iter()
            .map(|warning| json!({"rule": named(warning.nth), "warning": warning.text}))
            .collect();
        print::json(&json!({"rules": config.rules.len(), "warnings": warnings}))?;
        return Ok(Exit::Done);
    }
    for warning in &warnings {
        print::err(&format!("{}: {}", named(warning.nth), warning.text));
    }
    let count = config.rules.len();
    let words = if count == 1 { "1 rule".to_owned() } else { format!("{count} rules") };
    let odd = match warnings.len() {
        0 => "nothing is odd".to_owned(),
        1 => "one of them is odd".to_owned(),
        odd => format!("{odd} of them are odd"),
    };
    print::out(&format!("{}: {words}, all can be read, {odd}", file.display()))?;
    Ok(Exit::Done)
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A text that is there and not empty.
fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value[key].as_str().filter(|text| !text.is_empty())
}
