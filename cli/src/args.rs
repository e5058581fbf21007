//! The command line.
//!
//! Only its shape; what a command does is in `commands`, one file each. Next: `config`.

mod line;
mod policy;
mod sessions;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};

pub(crate) use self::line::parse;
pub(crate) use self::policy::{Policy, PolicyTest};
pub(crate) use self::sessions::{Choose, Replay, Rollback, Sessions};
use crate::config::settings::Profile;
use crate::stack::order::RoleName;

/// Runs LLM agents as durable, supervised session actors; their tools are services of their own.
#[derive(Debug, Parser)]
#[command(name = "callboard", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done, 1 the run failed, 2 usage or configuration, \
                        3 denied or blocked, 4 limit reached, 130 cancelled.")]
pub(crate) struct Args {
    /// Options of all commands.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of all commands.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Options of all commands")]
pub(crate) struct Global {
    /// The folder to work on [default: the current folder]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Where journal, logs and tokens lie [default: the platform's state folder]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    /// Configuration to use in place of the platform's and the workspace's
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// How much may happen without being switched on by name
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<Profile>,
    /// Use the gateway at this URL, or `unix:/path`, instead of a stack of its own
    #[arg(long, global = true, value_name = "URL", env = "CALLBOARD_SERVER")]
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) server: Option<String>,
    /// File of the API token for --server; the variable `CALLBOARD_TOKEN` holds the token itself
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// What is logged, such as `info` or `info,callboard=debug`
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// No colours
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give an agent a task and print its answer
    Ask(Ask),
    /// Run gateway, orchestrator and tool services here until Ctrl-C
    Up(Up),
    /// Run one role, for a deployment of your own
    Serve(Serve),
    /// Say what runs and how its runs went
    Status(Output),
    /// List, show and call tools
    #[command(subcommand)]
    Tools(Tools),
    /// List, show, cancel, replay, export and delete sessions
    #[command(subcommand)]
    Sessions(Sessions),
    /// List and decide approvals
    #[command(subcommand)]
    Approvals(Approvals),
    /// List the rules by which calls are judged, try them out, check a file of them
    #[command(subcommand)]
    Policy(Policy),
    /// Print what a session did as a tree with durations
    Trace(OfSession),
    /// Look for what is wrong with this installation
    Doctor(Output),
    /// Repair what belongs to the journal as a whole
    #[command(subcommand)]
    Journal(Journal),
    /// Print the effective settings and where each came from
    Config(Output),
    /// Print the completions for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// `callboard journal`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Journal {
    /// Void every claim of a session's owner so far, after etcd was restored from a backup
    RaiseGeneration(Output),
}

/// `--json`.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct Output {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `callboard ask`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Ask {
    /// The task; `-` reads it from standard input
    pub(crate) prompt: String,
    /// Model to use: `auto`, `offline`, `openai:NAME`; repeat it for fallbacks
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Vec<String>,
    /// Agent to use
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Go on in this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Approve calls of matching tools beforehand; repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) approve: Vec<String>,
    /// End the run after this many model replies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
    /// Print the run as one JSON document
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print one event a line, as JSON, while they come
    #[arg(long)]
    pub(crate) events: bool,
}

/// `callboard up`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Up {
    /// Where the gateway listens for browsers and programs [default: 127.0.0.1:8080]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
}

/// `callboard serve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// The role
    pub(crate) role: Served,
    /// Where to listen for other roles: `tcp:HOST:PORT` or `unix:/path`
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<callboard_discovery::Address>,
    /// Where other roles reach this one, if that is not where it listens
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) advertise: Option<callboard_discovery::Address>,
    /// Where the gateway listens for browsers and programs
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) http: Option<String>,
    /// Take the order from standard input and end with it
    #[arg(long, hide = true)]
    pub(crate) supervised: bool,
}

/// What `callboard serve` serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Served {
    /// The doors: HTTP and SSE
    Gateway,
    /// Sessions and their runs
    Orchestrator,
    /// Arithmetic
    Calculator,
    /// Files of the workspace
    Files,
    /// Search in the workspace
    Search,
    /// Commands
    Shell,
    /// All roles, for as long as a client holds on
    #[value(hide = true)]
    Stack,
}

impl Served {
    /// The role; `None` for a whole stack.
    pub(crate) fn role(self) -> Option<RoleName> {
        match self {
            Self::Gateway => Some(RoleName::Gateway),
            Self::Orchestrator => Some(RoleName::Orchestrator),
            Self::Calculator => Some(RoleName::Calculator),
            Self::Files => Some(RoleName::Files),
            Self::Search => Some(RoleName::Search),
            Self::Shell => Some(RoleName::Shell),
            Self::Stack => None,
        }
    }
}

/// `callboard tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools that can be called now
    List(Output),
    /// Show one tool: what it is for, its arguments, who serves it
    Show {
        /// The tool
        name: String,
        /// How to print it
        #[command(flatten)]
        output: Output,
    },
    /// Call one tool, along the same path as a model's call
    Call(ToolCall),
}

/// `callboard tools call`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ToolCall {
    /// The tool
    pub(crate) name: String,
    /// Its arguments as a JSON object; `-` reads them from standard input, `@FILE` from a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) args: OsString,
    /// Approve calls of matching tools beforehand; repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) approve: Vec<String>,
    /// Print the call as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// A session to look at.
#[derive(Debug, ClapArgs)]
pub(crate) struct OfSession {
    /// The session
    pub(crate) session: String,
    /// How to print it
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `callboard approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List the calls that wait for a person
    List(Output),
    /// Let a call run
    Approve(Decide),
    /// Keep a call from running
    Deny(Decide),
}

/// A decision on one call.
#[derive(Debug, ClapArgs)]
pub(crate) struct Decide {
    /// The session
    pub(crate) session: String,
    /// The call
    pub(crate) call_id: String,
    /// A remark that the model sees
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) note: String,
    /// How to print what stands
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A glob over names of tools, as it was given.
fn glob(text: &str) -> Result<String, String> {
    let read = globset::GlobBuilder::new(text).build();
    read.map_err(|error| format!("it is no glob: {}", error.kind()))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn options_of_all_commands_stand_before_and_after_the_command() {
        for line in [
            &["callboard", "--workspace", "/w", "ask", "hi"][..],
            &["callboard", "ask", "hi", "--workspace", "/w"][..],
        ] {
            let args = Args::try_parse_from(line).unwrap();
            assert_eq!(args.global.workspace, Some(PathBuf::from("/w")));
        }
    }

    #[test]
    fn json_and_events_exclude_one_another() {
        assert!(Args::try_parse_from(["callboard", "ask", "x", "--json", "--events"]).is_err());
        assert!(Args::try_parse_from(["callboard", "ask", "x", "--max-steps", "0"]).is_err());
    }

    #[test]
    fn a_malformed_glob_is_refused_by_the_name_of_its_flag() {
        for line in [
            &["callboard", "ask", "x", "--approve", "["][..],
            &["callboard", "tools", "call", "x", "--approve", "["][..],
        ] {
            let error = Args::try_parse_from(line).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("--approve"), "{error}");
        }
        assert!(Args::try_parse_from(["callboard", "ask", "x", "--approve", "run_*"]).is_ok());
    }
}
