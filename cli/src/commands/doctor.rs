//! `callboard doctor`: looks for what is wrong with this installation, and says what to do.
//!
//! Cheap checks also run when `up` starts, where each finding is a line and none of them stops it.
//! Next: `doctor/checks.rs`.

mod checks;

use serde_json::{Value, json};

use crate::args::Output;
use crate::commands::here::Here;
use crate::commands::words;
use crate::exit::Exit;
use crate::place::Place;
use crate::print;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// As it should be.
    Fine,
    /// It works, with less than it could have.
    Warning,
    /// It does not work.
    Problem,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The check.
    pub(crate) check: &'static str,
    /// How bad it is.
    pub(crate) level: Level,
    /// What was found, and what to do if it is not fine.
    pub(crate) message: String,
}

/// Runs every check.
///
/// # Errors
/// When standard output cannot be written; what is wrong with the installation is a finding.
pub(crate) async fn run(here: &Here, output: Output) -> anyhow::Result<Exit> {
    let findings = all(here).await;
    let has_problem = findings.iter().any(|finding| finding.level == Level::Problem);
    if output.json {
        print::json(&Value::Array(findings.iter().map(document).collect()))?;
    } else {
        let rows: Vec<Vec<String>> = findings
            .iter()
            .map(|finding| {
                let level = word(finding.level).to_owned();
                vec![level, finding.check.to_owned(), print::visible(&finding.message)]
            })
            .collect();
        print::out(&words::columns(&rows))?;
    }
    Ok(if has_problem { Exit::Failed } else { Exit::Done })
}

/// What is not fine among the things that are cheap to look at.
pub(crate) fn warnings(here: &Here, place: &Place) -> Vec<String> {
    let mut findings = checks::state(place);
    findings.extend(checks::tokens(here));
    findings
        .into_iter()
        .filter(|finding| finding.level != Level::Fine)
        .map(|finding| format!("{}: {}", finding.check, finding.message))
        .collect()
}

async fn all(here: &Here) -> Vec<Finding> {
    let mut findings = vec![checks::configuration(here), checks::sandbox()];
    findings.extend(checks::models(here).await);
    findings.extend(checks::tokens(here));
    match here.place() {
        Ok(place) => {
            findings.extend(checks::state(&place));
            findings.push(checks::holder(&place).await);
            findings.extend(checks::journal(here, &place).await);
            findings.extend(checks::refused(here).await);
        }
        Err(error) => findings.push(Finding {
            check: "state folder",
            level: Level::Problem,
            message: format!("{error:#}"),
        }),
    }
    findings
}

fn document(finding: &Finding) -> Value {
    json!({"check": finding.check, "level": word(finding.level), "message": finding.message})
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Fine => "ok",
        Level::Warning => "warning",
        Level::Problem => "problem",
    }
}
