//! `callboard ask`: one task for an agent, and its answer.
//!
//! The answer alone goes to standard output, everything else to standard error. Next: `run`.

use std::cell::OnceCell;
use std::io::{self, Read as _};

use serde_json::{Value, json};

use crate::args::Ask;
use crate::client::shapes::{self, Call, Run};
use crate::client::{Client, segment};
use crate::commands::here::Here;
use crate::commands::run::follow::{Follow, Start};
use crate::commands::run::{Interrupts, Show, drive, has_approver, in_session, interrupted};
use crate::commands::{connect, words};
use crate::exit::{Exit, usage};
use crate::print;

/// A longer input is refused by the orchestrator too.
const INPUT_LIMIT: usize = 256 * 1024;

/// Gives the task, follows the run, and prints what came of it.
///
/// # Errors
/// When there is no run, or its end is not known; else the exit code tells how it ended.
pub(crate) async fn run(here: &Here, ask: Ask) -> anyhow::Result<Exit> {
    let input = input(&ask.prompt)?;
    let mut interrupts = Interrupts::listen()?;
    let mut connection = tokio::select! {
        connection = connect::open(here) => connection?,
        () = interrupts.next() => return Err(interrupted()),
    };
    let session = OnceCell::new();
    let act = async |client: &Client| {
        let follow = Follow::new(client, start(&ask, &input), ask.session.clone(), &session);
        drive(client, follow, show(&ask), &mut interrupts).await
    };
    let done = connection.run(act).await;
    connection.close().await;
    let document = done.map_err(|error| in_session(error, &session))?;
    let run: Run = shapes::read(&document)?;
    print(&ask, &document, &run)?;
    Ok(shapes::exit(&run.status))
}

fn start(ask: &Ask, input: &str) -> Start {
    let path = match &ask.session {
        Some(session) => format!("/v1/sessions/{}/runs", segment(session)),
        None => "/v1/runs".to_owned(),
    };
    let key = uuid::Uuid::new_v4().to_string();
    Start { path, body: body(ask, input).to_string(), key, is_direct: false }
}

fn show(ask: &Ask) -> Show {
    match (ask.events, ask.json) {
        (true, _) => Show::Events,
        (false, true) if !has_approver() => Show::Nothing,
        (false, _) => Show::Steps,
    }
}

/// The request's body; what was not given is left to the agent.
fn body(ask: &Ask, input: &str) -> Value {
    let mut body = json!({"input": input, "approver": has_approver()});
    let mut set = |key: &str, value: Value| body[key] = value;
    if !ask.model.is_empty() {
        set("model", json!(ask.model));
    }
    if let Some(agent) = &ask.agent {
        set("agent", json!(agent));
    }
    if !ask.approve.is_empty() {
        set("approve", json!(ask.approve));
    }
    if let Some(steps) = ask.max_steps {
        set("limits", json!({"max_steps": steps}));
    }
    body
}

/// The task; `-` stands for standard input.
fn input(prompt: &str) -> anyhow::Result<String> {
    let text = if prompt == "-" {
        let mut bytes = Vec::new();
        let limit = u64::try_from(INPUT_LIMIT).unwrap_or(u64::MAX).saturating_add(1);
        io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| usage(format!("cannot read standard input: {error}")))?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| usage("standard input is no UTF-8 text"))?;
        // The line break with which every tool ends its output is no part of the task.
        text.trim_end_matches(['\n', '\r']).to_owned()
    } else {
        prompt.to_owned()
    };
    if text.trim().is_empty() {
        return Err(usage("the task is empty: say what to do, as in `callboard ask \"12 * 7\"`"));
    }
    if text.len() > INPUT_LIMIT {
        return Err(usage(format!(
            "the task is longer than {INPUT_LIMIT} bytes: put it into a file of the workspace and \
             name the file"
        )));
    }
    Ok(text)
}

fn print(ask: &Ask, document: &Value, run: &Run) -> anyhow::Result<()> {
    if ask.events {
        print::out(&json!({"type": "result", "data": document}).to_string())?;
    } else if ask.json {
        print::json(document)?;
    } else if run.status == "failed" || run.status == "cancelled" {
        // No answer was given: what stands in its place says why.
        print::err(&format!("callboard: {}", why(run)));
    } else {
        print::content(&run.answer)?;
    }
    for call in &run.tool_calls {
        if let Some(sentence) = refused(call) {
            print::err(&format!("callboard: {sentence}"));
        }
    }
    if run.status == "limit_reached" && !ask.json && !ask.events {
        print::err(&format!("callboard: {}", limit(run)));
    }
    if has_approver() && !ask.json && !ask.events {
        print::err(&summary(run));
    }
    Ok(())
}

fn why(run: &Run) -> String {
    let status = if run.status == "cancelled" { "the run was cancelled" } else { "the run failed" };
    // The orchestrator may have no more to say than that.
    if run.answer.trim_end_matches('.').eq_ignore_ascii_case(status) {
        return status.to_owned();
    }
    match (run.answer.is_empty(), run.reason.is_empty()) {
        (false, _) => format!("{status}: {}", print::visible(&run.answer)),
        (true, false) => format!("{status} ({})", run.reason),
        (true, true) => status.to_owned(),
    }
}

fn limit(run: &Run) -> String {
    match run.reason.as_str() {
        "steps" => {
            "the limit of model replies ended the run; raise it with --max-steps N".to_owned()
        }
        reason => format!(
            "a limit ended the run ({reason}); `orchestrator.agent` in the configuration holds the \
             limits"
        ),
    }
}

/// The sentence for a call that did not run because nobody could be asked, or a rule forbids it.
pub(super) fn refused(call: &Call) -> Option<String> {
    let why = call.failure.as_ref().map_or("", |failure| failure.message.as_str());
    let tool = &call.tool;
    let sentence = match (call.status.as_str(), why) {
        ("denied", _) if has_approver() => return None,
        ("denied", "") => format!(
            "`{tool}` was not run: it needs an approval and nobody was there to ask. Allow it once \
             with `--approve {tool}`, or always in callboard.toml with \
             `[[orchestrator.policy.rules]] tool = \"{tool}\" verdict = \"allow\"`."
        ),
        ("blocked", "") => format!("`{tool}` was blocked: {}", call.content),
        ("denied" | "blocked", why) => why.to_owned(),
        _ => return None,
    };
    Some(print::visible(&sentence))
}

/// What a run took, on one line.
fn summary(run: &Run) -> String {
    let tokens = run.usage.input_tokens + run.usage.output_tokens;
    let calls = u64::try_from(run.tool_calls.len()).unwrap_or(u64::MAX);
    let text = format!(
        "  {} · {} · {} · {} · {} · session {}",
        run.model,
        words::count(run.steps, "step"),
        words::count(calls, "call"),
        words::count(tokens, "token"),
        words::duration(run.duration_ms),
        run.session
    );
    print::dim(&print::visible(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::shapes::CallFailure;

    fn ask() -> Ask {
        Ask {
            prompt: String::new(),
            model: Vec::new(),
            agent: None,
            session: None,
            approve: Vec::new(),
            max_steps: None,
            json: false,
            events: false,
        }
    }

    #[test]
    fn only_what_was_given_is_sent() {
        // Tests have no terminal.
        assert_eq!(body(&ask(), "hi"), json!({"input": "hi", "approver": false}));
        let full = Ask {
            model: vec!["openai:a".into(), "offline".into()],
            approve: vec!["run_*".into()],
            max_steps: Some(3),
            ..ask()
        };
        assert_eq!(
            body(&full, "hi"),
            json!({"input": "hi", "approver": false, "model": ["openai:a", "offline"],
                   "approve": ["run_*"], "limits": {"max_steps": 3}})
        );
    }

    #[test]
    fn how_a_run_ended_is_said_once() {
        let run = |answer: &str| Run {
            status: "cancelled".into(),
            answer: answer.into(),
            ..Run::default()
        };
        assert_eq!(why(&run("The run was cancelled.")), "the run was cancelled");
        assert_eq!(why(&run("By its owner.")), "the run was cancelled: By its owner.");
    }

    #[test]
    fn a_task_must_say_something() {
        assert_eq!(crate::exit::of(&input("  ").unwrap_err()), Exit::Usage);
        assert!(input(&"x".repeat(INPUT_LIMIT + 1)).is_err());
        assert_eq!(input("12 * 7").unwrap(), "12 * 7");
    }

    #[test]
    fn a_denied_call_names_the_flag_and_the_key() {
        let call = Call {
            tool: "run_command".into(),
            status: "denied".into(),
            verdict: "ask".into(),
            ..Call::default()
        };
        let sentence = refused(&call).unwrap();
        assert!(sentence.contains("--approve run_command"), "{sentence}");
        assert!(sentence.contains("orchestrator.policy.rules"), "{sentence}");
        let told = CallFailure { message: "not by rule 3".into(), ..CallFailure::default() };
        let blocked = Call { status: "blocked".into(), failure: Some(told), ..call.clone() };
        assert_eq!(refused(&blocked).unwrap(), "not by rule 3");
        assert_eq!(refused(&Call { status: "ok".into(), ..call }), None);
    }
}
