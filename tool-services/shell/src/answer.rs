//! What is said about a command that ended: a status line first, then what it wrote. A command that
//! fails is an answer; a failure of this tool is only what kept it from its own end.
//!
//! Next: `run_command.rs`, the tool itself.

use std::time::Duration;

use callboard_tool::{Failure, Output};
use schemars::JsonSchema;
use serde::Serialize;

use crate::command::{Cause, Ended};
use crate::output::Text;

/// Bytes of each stream in the text for the model, and in what programs get.
const SHOWN: usize = 12 * 1024;

/// Bytes of each stream in a failure's message.
const SHOWN_IN_FAILURE: usize = 2 * 1024;

/// The same for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Whether the exit code is 0.
    success: bool,
    /// Exit code; 128 and the signal's number if a signal ended it.
    exit_code: i32,
    /// The signal that ended it, if one did.
    signal: Option<i32>,
    /// Time that it took, in milliseconds.
    duration_ms: u64,
    /// Standard output, long ones cut in the middle.
    stdout: String,
    /// Standard error, long ones cut in the middle.
    stderr: String,
    /// Whether a stream was cut.
    truncated: bool,
}

/// The time that a command has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// What is wanted for it.
    pub(crate) wanted: Duration,
    /// What the deadline of the call leaves of that.
    pub(crate) given: Duration,
}

impl Limit {
    /// Why it was stopped, and what would help.
    fn words(self) -> String {
        let wanted = self.wanted.as_secs();
        if self.given < self.wanted {
            return format!(
                "the deadline of the run or of the call left it {:.1} s of its time limit of \
                 {wanted} s",
                self.given.as_secs_f64()
            );
        }
        format!("its time limit is {wanted} s")
    }

    fn way_out(self) -> &'static str {
        if self.given < self.wanted {
            "A larger timeout_s would not help: the run needs more time, or the command less to do."
        } else {
            "Give it more time with timeout_s (at most 600), or less to do."
        }
    }
}

/// The outcome of a command.
pub(crate) fn answer(ended: &Ended, limit: Limit) -> Result<Output, Failure> {
    match &ended.cause {
        Cause::Exit(code) => {
            Ok(output(ended, &format!("Exit code {code} after {}.", took(ended)), *code, None)?)
        }
        Cause::Signal(signal) => {
            let code = 128 + signal;
            let name = name(*signal);
            let line =
                format!("Killed by signal {signal}{name} after {}; exit code {code}.", took(ended));
            Ok(output(ended, &line, code, Some(*signal))?)
        }
        Cause::TimedOut => Err(Failure::timeout(so_far(
            ended,
            &format!(
                "Stopped after {}: {}. Every process that it had started was ended; what it had \
                 done until then stays done. {}",
                took(ended),
                limit.words(),
                limit.way_out()
            ),
        ))),
        Cause::Cancelled => Err(Failure::cancelled(so_far(
            ended,
            &format!(
                "Cancelled after {}. Every process that it had started was ended; what it had done \
                 until then stays done.",
                took(ended)
            ),
        ))),
        Cause::Overrun(what) => Err(Failure::too_large(so_far(
            ended,
            &format!(
                "Stopped after {}: it took {what}. Every process that it had started was ended; \
                 what it had done until then stays done.",
                took(ended)
            ),
        ))),
        Cause::Refused(why) => {
            tracing::warn!(why, "command refused by its launcher");
            Err(Failure::unavailable(format!("Nothing was started: {why}.")))
        }
        Cause::Gone(path) => Err(Failure::unavailable(format!(
            "Nothing was started: `{path}`, which must be kept from the command, is being moved \
             around. Try again when nothing else changes the workspace."
        ))),
        Cause::Lost => Err(Failure::internal(so_far(
            ended,
            "The command's launcher ended without a word; every process that it had started was \
             ended with it. The command may have been done in part.",
        ))),
    }
}

fn output(
    ended: &Ended,
    line: &str,
    exit_code: i32,
    signal: Option<i32>,
) -> Result<Output, Failure> {
    let [stdout, stderr] = [ended.stdout.text(SHOWN), ended.stderr.text(SHOWN)];
    let is_cut = stdout.is_cut || stderr.is_cut;
    let is_escaped = stdout.is_escaped || stderr.is_escaped;
    let mut output = Output::text(content(line, &stdout, &stderr));
    if is_cut {
        let [stdout, stderr] = [ended.stdout.text(usize::MAX), ended.stderr.text(usize::MAX)];
        output = output.artifact(content(line, &stdout, &stderr));
    }
    if is_escaped {
        output = output.diagnostic("Bytes that are not UTF-8 are shown as \\xHH.");
    }
    let answer = Answer {
        success: exit_code == 0,
        exit_code,
        signal,
        duration_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
        stdout: stdout.shown,
        stderr: stderr.shown,
        truncated: is_cut,
    };
    Ok(output.structured(callboard_files::answer::json(&answer)?))
}

fn content(line: &str, stdout: &Text, stderr: &Text) -> String {
    if stdout.total == 0 && stderr.total == 0 {
        return format!("{line} No output.");
    }
    let mut content = line.to_owned();
    if stdout.total > 0 {
        content = format!("{content}\n\n{}", stdout.shown);
    }
    if stderr.total > 0 {
        let gap = if content.ends_with('\n') { "" } else { "\n" };
        content = format!("{content}{gap}\nStandard error:\n{}", stderr.shown);
    }
    content
}

fn so_far(ended: &Ended, line: &str) -> String {
    let [stdout, stderr] = [&ended.stdout, &ended.stderr].map(|kept| kept.text(SHOWN_IN_FAILURE));
    if stdout.total == 0 && stderr.total == 0 {
        return format!("{line} It had written nothing.");
    }
    content(&format!("{line} It had written:"), &stdout, &stderr)
}

fn took(ended: &Ended) -> String {
    format!("{:.1} s", ended.took.as_secs_f64())
}

fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGHUP => " (SIGHUP)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGSYS => " (SIGSYS)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGXCPU => " (SIGXCPU)",
        libc::SIGXFSZ => " (SIGXFSZ)",
        _ => "",
    }
}
