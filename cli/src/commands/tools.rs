//! `callboard tools`: what can be called, and calling it along the path of every call.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::args::{Output, ToolCall};
use crate::client::shapes::{self, Call};
use crate::client::{Client, segment};
use crate::commands::here::Here;
use crate::commands::run::follow::{Follow, Start};
use crate::commands::run::{Interrupts, Show, drive, has_approver, in_session, interrupted};
use crate::commands::{ask, connect, words};
use crate::config::nearest;
use crate::exit::{Exit, usage};
use crate::print;

/// Arguments are at most so long on the wire.
const ARGUMENTS_LIMIT: usize = 1 << 20;

/// Lists the tools that can be called now.
///
/// # Errors
/// When there is no gateway to ask.
pub(crate) async fn list(here: &Here, output: Output) -> anyhow::Result<Exit> {
    let tools = connect::with(here, tools).await?;
    if output.json {
        print::json(&Value::Array(tools))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = tools
        .iter()
        .map(|tool| {
            let withheld = text(tool, "withheld");
            let about = text(tool, "description").lines().next().unwrap_or_default();
            let about = if withheld.is_empty() {
                about.to_owned()
            } else {
                format!("withheld: {withheld}")
            };
            let instances = tool["instances"].as_array().map_or(0, Vec::len);
            vec![
                text(tool, "name").to_owned(),
                format!("{}/{}", text(tool, "team"), text(tool, "service")),
                words::count(u64::try_from(instances).unwrap_or(u64::MAX), "instance"),
                words::brief(&about, 80),
            ]
        })
        .collect();
    print::out(&words::columns(&rows))?;
    Ok(Exit::Done)
}

/// Shows one tool.
///
/// # Errors
/// When there is no gateway to ask, or no such tool.
pub(crate) async fn show(here: &Here, name: &str, output: Output) -> anyhow::Result<Exit> {
    let tools = connect::with(here, tools).await?;
    let Some(tool) = tools.iter().find(|tool| text(tool, "name") == name) else {
        let near = nearest(name, tools.iter().map(|tool| text(tool, "name")));
        let hint = near.map_or("`callboard tools list` shows all".to_owned(), |near| {
            format!("did you mean `{near}`?")
        });
        return Err(usage(format!("there is no tool `{name}`; {hint}")));
    };
    if output.json {
        print::json(tool)?;
        return Ok(Exit::Done);
    }
    let annotations: Vec<&str> = tool["annotations"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| **value == Value::Bool(true))
        .map(|(key, _)| key.as_str())
        .collect();
    let mut page = format!(
        "{} ({}/{} {})\n{}\n\n{}\n\narguments: {:#}\n",
        text(tool, "name"),
        text(tool, "team"),
        text(tool, "service"),
        text(tool, "version"),
        if annotations.is_empty() { "no annotations".to_owned() } else { annotations.join(", ") },
        text(tool, "description"),
        tool["input_schema"]
    );
    for example in tool["examples"].as_array().into_iter().flatten() {
        let _ =
            write!(page, "\nexample: {}\n  {}\n", text(example, "request"), example["arguments"]);
    }
    for instance in tool["instances"].as_array().into_iter().flatten() {
        let _ = write!(page, "\ninstance: {} {}", text(instance, "id"), text(instance, "state"));
    }
    if !text(tool, "withheld").is_empty() {
        let _ = write!(page, "\nwithheld: {}", text(tool, "withheld"));
    }
    print::out(&print::visible(&page))?;
    Ok(Exit::Done)
}

/// Calls one tool.
///
/// # Errors
/// When there is no call, or its end is not known; else the exit code tells how it ended.
pub(crate) async fn call(here: &Here, call: ToolCall) -> anyhow::Result<Exit> {
    let arguments = arguments(&call.args)?;
    let mut interrupts = Interrupts::listen()?;
    let mut connection = tokio::select! {
        connection = connect::open(here) => connection?,
        () = interrupts.next() => return Err(interrupted()),
    };
    let start = start(&call, &arguments);
    let show = if call.json && !has_approver() { Show::Nothing } else { Show::Steps };
    let session = OnceCell::new();
    let done = connection
        .run(async |client| {
            drive(client, Follow::new(client, start, None, &session), show, &mut interrupts).await
        })
        .await;
    connection.close().await;
    let document = done.map_err(|error| in_session(error, &session))?;
    let settled: Call = shapes::read(&document)?;
    if call.json {
        print::json(&document)?;
        if let Some(sentence) = ask::refused(&settled) {
            print::err(&format!("callboard: {sentence}"));
        }
    } else {
        told(&settled)?;
    }
    Ok(exit(&settled))
}

/// As for a run; a tool that does not exist is a wrong command line.
fn exit(call: &Call) -> Exit {
    let kind = call.failure.as_ref().map_or("", |failure| failure.kind.as_str());
    match (kind, call.status.as_str(), call.verdict.as_str(), call.attempts) {
        // No rule blocked it and nothing was tried: it is not in the catalog.
        ("not_found", "failed", "" | "block", 0) => Exit::Usage,
        _ => shapes::exit(&call.status),
    }
}

async fn tools(client: &Client) -> anyhow::Result<Vec<Value>> {
    let mut document = client.get("/v1/tools").await?;
    match document["tools"].take() {
        Value::Array(tools) => Ok(tools),
        _ => anyhow::bail!("the gateway's answer holds no list of tools"),
    }
}

/// The request; the arguments go as they were written, number by number.
fn start(call: &ToolCall, arguments: &RawValue) -> Start {
    let rest = json!({"approver": has_approver(), "approve": call.approve}).to_string();
    let body = format!("{{\"arguments\":{},{}", arguments.get(), &rest[1..]);
    let path = format!("/v1/tools/{}/invoke", segment(&call.name));
    Start { path, body, key: uuid::Uuid::new_v4().to_string(), is_direct: true }
}

/// The arguments as JSON text, from wherever they are.
pub(super) fn arguments(given: &OsStr) -> anyhow::Result<Box<RawValue>> {
    let bytes = match given.as_bytes() {
        b"-" => read(io::stdin().lock(), "standard input")?,
        [b'@', path @ ..] => {
            let path = Path::new(OsStr::from_bytes(path));
            let name = path.display().to_string();
            let file = std::fs::File::open(path)
                .map_err(|error| usage(format!("--args @{name}: {error}")))?;
            read(file, &name)?
        }
        bytes => bytes.to_vec(),
    };
    let refuse = |what: &str| {
        usage(format!(
            "--args is {what}; write an object such as --args '{{\"expression\": \"12 * 7\"}}', or \
             --args @FILE"
        ))
    };
    let text = String::from_utf8(bytes).map_err(|_| refuse("no UTF-8 text"))?;
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let parsed: Value =
        serde_json::from_str(text).map_err(|error| refuse(&format!("no JSON: {error}")))?;
    if !parsed.is_object() {
        return Err(refuse("JSON, but no object"));
    }
    RawValue::from_string(text.trim().to_owned())
        .map_err(|error| refuse(&format!("no JSON: {error}")))
}

fn read(from: impl io::Read, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(ARGUMENTS_LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("cannot read the arguments from {name}: {error}")))?;
    if bytes.len() > ARGUMENTS_LIMIT {
        return Err(usage(format!(
            "the arguments from {name} have more than {ARGUMENTS_LIMIT} bytes"
        )));
    }
    Ok(bytes)
}

/// What a call came to, for a person: its content on standard output, what went wrong beside it.
fn told(call: &Call) -> anyhow::Result<()> {
    if call.status == "ok" {
        return print::content(&call.content);
    }
    let failure = call.failure.clone().unwrap_or_default();
    let message = if failure.message.is_empty() { &call.content } else { &failure.message };
    let kind = if failure.kind.is_empty() { &call.status } else { &failure.kind };
    let mut text = format!("callboard: {} ({kind}): {message}", call.tool);
    for violation in &failure.violations {
        let place = if violation.pointer.is_empty() { "the whole" } else { &violation.pointer };
        let _ = write!(text, "\n  {place}: {}", violation.message);
    }
    print::err(&print::visible(&text));
    Ok(())
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::shapes::CallFailure;

    fn sent(args: &str) -> String {
        let call = ToolCall {
            name: "a/b".into(),
            args: args.into(),
            approve: vec!["x".into()],
            json: true,
        };
        let start = start(&call, &arguments(&call.args).unwrap());
        assert_eq!(start.path, "/v1/tools/a%2Fb/invoke");
        start.body
    }

    #[test]
    fn numbers_reach_the_tool_as_they_were_written() {
        assert_eq!(
            sent(" {\"n\": 0.10, \"big\": 123456789012345678901234567890} "),
            "{\"arguments\":{\"n\": 0.10, \"big\": 123456789012345678901234567890},\
             \"approver\":false,\"approve\":[\"x\"]}"
        );
    }

    #[test]
    fn arguments_that_are_no_object_are_refused_with_an_example() {
        for args in ["{\"a\": 1", "[1]", "12", "", "@/does/not/exist"] {
            let error = arguments(OsStr::new(args)).unwrap_err();
            assert_eq!(crate::exit::of(&error), Exit::Usage, "{args}");
            assert!(error.to_string().contains("--args"), "{error}");
        }
    }

    #[test]
    fn an_unknown_tool_is_a_wrong_command_line_and_a_missing_file_is_not() {
        let not_found = CallFailure { kind: "not_found".into(), ..CallFailure::default() };
        let unknown = Call { status: "failed".into(), failure: Some(not_found), ..Call::default() };
        assert_eq!(exit(&unknown), Exit::Usage);
        assert_eq!(exit(&Call { verdict: "block".into(), ..unknown.clone() }), Exit::Usage);
        let tried = Call { verdict: "allow".into(), attempts: 1, ..unknown };
        assert_eq!(exit(&tried), Exit::Failed);
    }

    #[test]
    fn arguments_may_stand_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let given = format!("@{}", file.display());
        for text in ["{\"a\": 1}\n", "\u{feff}{\"a\": 1}\r\n"] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(arguments(OsStr::new(&given)).unwrap().get(), "{\"a\": 1}");
        }
    }
}
