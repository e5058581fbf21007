//! Reads a command line, more generously than its shape alone: the nearest command is named where
//! an unknown one was given, and a task may begin with a minus.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};

use super::Args;
use crate::config::nearest;

/// Reads the command line.
///
/// # Errors
/// What clap says, with the nearest command where an unknown one was given.
pub(crate) fn parse(line: &[OsString]) -> Result<Args, clap::Error> {
    let mut args = Args::try_parse_from(line)
        .or_else(|error| if is_below_zero(&error) { with_any_prompt(line) } else { Err(error) });
    // An environment variable that is empty is not set.
    let is_server = |word: &OsString| word.to_string_lossy().starts_with("--server");
    if let Ok(args) = &mut args
        && !line.iter().any(is_server)
    {
        args.global.server.take_if(|server| server.is_empty());
    }
    args.map_err(|mut error| {
        let known = error.get(ContextKind::SuggestedSubcommand).is_some();
        if let (Some(ContextValue::String(wrong)), false) =
            (error.get(ContextKind::InvalidSubcommand).cloned(), known)
            && let Some(near) = near(line, &wrong)
        {
            let near = ContextValue::Strings(vec![near]);
            error.insert(ContextKind::SuggestedSubcommand, near);
        }
        error
    })
}

/// Whether clap took for a flag what cannot be one: flags have letters behind their dash.
fn is_below_zero(error: &clap::Error) -> bool {
    let wrong = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(wrong)) => wrong.as_str(),
        _ => "",
    };
    wrong.strip_prefix('-').and_then(|rest| rest.chars().next()).is_some_and(|first| {
        // A letter may be mistyped, and a second dash begins a long one.
        !first.is_alphabetic() && first != '-'
    })
}

/// Reads a line whose task may begin with a dash, as `-3 + 5` does.
fn with_any_prompt(line: &[OsString]) -> Result<Args, clap::Error> {
    let command = Args::command().mut_subcommand("ask", |ask| {
        ask.mut_arg("prompt", |prompt| prompt.allow_hyphen_values(true))
    });
    Args::from_arg_matches(&command.try_get_matches_from(line)?)
}

/// The command nearest to `wrong` among those that may stand at its place.
fn near(line: &[OsString], wrong: &str) -> Option<String> {
    let mut command = Args::command();
    for word in line.iter().skip(1).take_while(|word| *word != wrong) {
        if let Some(below) = command.find_subcommand(word) {
            command = below.clone();
        }
    }
    let names = command.get_subcommands().filter(|below| !below.is_hide_set());
    nearest(wrong, names.map(clap::Command::get_name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    #[test]
    fn a_task_may_begin_with_a_minus_and_a_flag_that_is_wrong_is_none() {
        let read = |words: &[&str]| {
            let line = [&["callboard", "ask"], words].concat();
            parse(&line.iter().map(OsString::from).collect::<Vec<_>>())
        };
        for words in [
            &["-3 + 5", "--json"][..],
            &["--json", "-3 + 5"],
            &["--max-steps", "3", "-3 + 5", "--json"],
            &["--json", "--", "-3 + 5"],
        ] {
            let Command::Ask(ask) = read(words).unwrap().command else { panic!("{words:?}") };
            assert_eq!((ask.prompt.as_str(), ask.json), ("-3 + 5", true), "{words:?}");
        }
        for task in ["-3", "-(2 + 3)", "-.5 * 2", "-√9", "-５ + 1"] {
            let Command::Ask(ask) = read(&[task]).unwrap().command else { panic!("{task}") };
            assert_eq!(ask.prompt, task);
        }
        for (words, says) in [
            (&["--jsn", "hello"][..], "--json"),
            (&["-x", "hello"], "'-x'"),
            (&["--bogus"], "--bogus"),
            (&["-3", "--jsn"], "--json"),
            (&["--max-steps", "-3", "hello"], "--max-steps"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn a_misspelt_command_is_met_with_the_nearest_one() {
        for (line, near) in [
            (&["callboard", "aks", "hi"][..], "ask"),
            (&["callboard", "tools", "lsit"][..], "list"),
            (&["callboard", "--workspace", "/w", "sesions"][..], "sessions"),
        ] {
            let line: Vec<OsString> = line.iter().map(OsString::from).collect();
            let error = parse(&line).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(&format!("'{near}'")), "{error}");
        }
    }
}
