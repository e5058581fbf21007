//! `run_command`: runs a command of the shell in the workspace, after a person agreed to it.
//!
//! A call is checked once, when it is judged; what was judged is what runs. Next: `preview.rs`,
//! what the person sees.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callboard_files::relative::RelativePath;
use callboard_files::workspace;
use callboard_tool::{About, Call, Cost, Effect, Example, Failure, Output, Tool, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use crate::answer::{Answer, Limit, answer};
use crate::command::{self, Cause, Ended};
use crate::later::Later;
use crate::launch::Orders;
use crate::plan::Isolation;
use crate::preview::preview;
use crate::reach::{Checked, later, place, reach};
use crate::turns::Turns;

/// Longest command.
const COMMAND: usize = 16 * 1024;

/// Seconds that a command may take, if nobody says; and at most.
const TIMEOUT: u32 = 60;
const MAX_TIMEOUT: u32 = 600;

/// What the end of a command may take of the call's time, so that the answer is ours.
const RESERVE: Duration = Duration::from_secs(1);

/// How often walls are built anew because something was moved away meanwhile, with the first time.
const LOOKS: u32 = 5;

/// The tool.
#[derive(Debug)]
pub(crate) struct RunCommand {
    /// The program that is started as the launcher.
    pub(crate) program: PathBuf,
    /// How walls are made on this machine.
    pub(crate) isolation: Isolation,
    /// Whose turn it is in which workspace.
    pub(crate) turns: Turns,
}

/// A command to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The command, as for `bash -c`. It gets no input.
    #[schemars(length(min = 1, max = 16_384))]
    command: String,
    /// Folder of the workspace to run in; default: the workspace itself.
    cwd: Option<String>,
    /// Seconds after which it is stopped, 1 to 600; default 60.
    #[schemars(range(min = 1, max = 600))]
    timeout_s: Option<u32>,
}

/// What became of checking a call; held, so that a call is not checked twice with two results.
type Checks = Result<Checked, Failure>;

impl Tool for RunCommand {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "run_command",
            "Runs a command of the shell (bash) in the workspace and returns its exit code and \
             what it wrote. It runs without network, without input and without access to anything \
             outside of the workspace; sensitive files such as .env cannot be read. A person has \
             to agree to every command.",
            "Reading, finding, searching or writing files: the tools for files need no approval or \
             show what they change. Not for programs that wait for input or never end.",
            Example::new("Run: uname -s", r#"{"command":"uname -s"}"#),
        )
        .example(Example::new(
            "Run the tests in the folder api, they take three minutes",
            r#"{"command":"make test","cwd":"api","timeout_s":240}"#,
        ))
        .words(
            "run, execute, start, launch a command, program, script, build, test, shell, bash, \
             terminal; 运行, 执行, 跑一下, 命令, 终端, 脚本",
        )
        .effects(&[Effect::Read, Effect::Write, Effect::Execute])
        .removable(&[Effect::Write])
        .asks()
        .timeout(Duration::from_secs(u64::from(MAX_TIMEOUT)) + 2 * RESERVE)
        .cost(Cost::Moderate)
        .output::<Answer>()
    }

    async fn preflight(&self, args: &Args, call: &Call) -> Verdict {
        let checks = check(args, call).await;
        let verdict = match &checks {
            Ok(checked) => Verdict::Ask {
                reason: "It runs a program in the workspace.".to_owned(),
                preview: preview(checked),
                irreversible: false,
            },
            // The call itself tells what is wrong; it starts nothing.
            Err(_) => Verdict::Allow,
        };
        call.hold(checks);
        verdict
    }

    async fn invoke(&self, _: Args, call: &Call) -> Result<Output, Failure> {
        let checks = call.held::<Checks>().map(Arc::unwrap_or_clone);
        // What was not judged is not run.
        let checked = checks.unwrap_or_else(|| {
            Err(Failure::internal("The command was not judged; nothing was started."))
        })?;
        let folder = call.workspace().map(|workspace| workspace.path.clone()).unwrap_or_default();
        let place = workspace::within(call, move |_| place(&folder)).await?;
        let waiting = call.remaining().saturating_sub(RESERVE);
        let _turn = tokio::select! {
            turn = self.turns.take(&place) => turn,
            () = call.cancellation().cancelled() => {
                return Err(Failure::cancelled("Cancelled before anything was started."));
            }
            () = sleep(waiting) => {
                return Err(Failure::unavailable(
                    "Nothing was started: another command was running in the workspace all the \
                     time. Commands run there one after the other.",
                ));
            }
        };
        let mut looks = 1;
        loop {
            let (ended, limit, later) = self.run(&checked, &place, call).await?;
            if matches!(ended.cause, Cause::Gone(_)) && looks < LOOKS {
                looks += 1;
                continue;
            }
            let outcome = answer(&ended, limit);
            let has_run = !matches!(ended.cause, Cause::Gone(_) | Cause::Refused(_));
            if !checked.is_writable || !has_run {
                return outcome;
            }
            return warn(outcome, left_behind(call, later).await);
        }
    }
}

impl RunCommand {
    /// Looks through the workspace and runs the command in what was found.
    async fn run(
        &self,
        checked: &Checked,
        place: &Path,
        call: &Call,
    ) -> Result<(Ended, Limit, Later), Failure> {
        let (judged, at, isolation) = (checked.clone(), place.to_owned(), self.isolation);
        let mut reach =
            workspace::within(call, move |walls| reach(walls, &at, &judged, isolation)).await?;
        let wanted = Duration::from_secs(checked.seconds.into());
        let given = wanted.min(call.remaining().saturating_sub(RESERVE));
        if given.is_zero() {
            return Err(Failure::timeout(
                "Nothing was started: the deadline of the run or of the call left no time for the \
                 command.",
            ));
        }
        reach.plan.cpu_seconds = given.as_secs() + 1;
        let orders = Orders { isolation, owner: reach.owner };
        let ended = command::run(&self.program, orders, &reach.plan, (given, call)).await;
        let ended = ended.map_err(|error| {
            Failure::unavailable(format!("Nothing was started: the launcher failed: {error}."))
        })?;
        Ok((ended, Limit { wanted, given }, reach.later))
    }
}

/// A warning of what the command left behind to run later.
async fn left_behind(call: &Call, before: Later) -> Option<String> {
    let now = workspace::within(call, |walls| {
        later(walls.root(), walls.stop())
            .map_err(|error| Failure::unavailable(format!("not looked through: {error}")))
    });
    match timeout(call.remaining().saturating_sub(RESERVE / 4), now).await {
        Ok(Ok(now)) => now.warning(&before),
        Ok(Err(_)) | Err(_) => Some(
            "It was not found out whether the command left hooks or settings of git that run \
             later."
                .to_owned(),
        ),
    }
}

fn warn(outcome: Result<Output, Failure>, warning: Option<String>) -> Result<Output, Failure> {
    let Some(warning) = warning else { return outcome };
    match outcome {
        Ok(output) => Ok(output.diagnostic(warning)),
        Err(mut failure) => {
            failure.message = format!("{}\n{warning}", failure.message);
            Err(failure)
        }
    }
}

async fn check(args: &Args, call: &Call) -> Checks {
    let mut failure = Failure::invalid_arguments("The command cannot be run.");
    if args.command.trim().is_empty() {
        failure = failure.violation("/command", "must not be empty");
    }
    if args.command.len() > COMMAND {
        failure = failure.violation(
            "/command",
            format!("has {} bytes, at most {COMMAND}: write a script first", args.command.len()),
        );
    }
    if args.command.contains('\0') {
        failure = failure.violation("/command", "must not contain a NUL character");
    }
    if args.timeout_s.is_some_and(|seconds| !(1..=MAX_TIMEOUT).contains(&seconds)) {
        failure = failure.violation("/timeout_s", format!("must be 1 to {MAX_TIMEOUT}"));
    }
    if !failure.violations.is_empty() {
        return Err(failure);
    }
    let written = args.cwd.clone();
    let cwd = workspace::within(call, move |walls| match written {
        None => Ok(RelativePath::root()),
        Some(written) => walls.folder(&written, "cwd must be one"),
    });
    Ok(Checked {
        command: args.command.clone(),
        cwd: cwd.await?,
        is_writable: !call.denies(Effect::Write),
        seconds: args.timeout_s.unwrap_or(TIMEOUT),
    })
}
