//! The shape of `callboard sessions`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

use super::{OfSession, Output};

/// `callboard sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List sessions, the newest first
    List {
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 50)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        /// How to print them
        #[command(flatten)]
        output: Output,
    },
    /// Show a session and its runs
    Show(OfSession),
    /// End what a session is doing
    Cancel(OfSession),
    /// Say what holds of a call whose outcome is unknown
    Decide(Choose),
    /// Take back what calls of a session changed, the latest first
    Rollback(Rollback),
    /// Fold a recorded session through this program and settings, and name the first difference
    Replay(Replay),
    /// Write a session whole to standard output, one JSON document a line
    Export {
        /// The session
        session: String,
    },
    /// Remove a session, its journal and its artifacts for good
    Delete {
        /// The session
        session: String,
    },
}

/// `callboard sessions decide`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Choose {
    /// The session
    pub(crate) session: String,
    /// The call
    pub(crate) call_id: String,
    /// What holds, or shall be done
    pub(crate) choice: Choice,
    /// A remark that the model sees
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) note: String,
    /// How to print what stands
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What holds of a call whose outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    /// Call it again, along the same path: it is judged anew, and approved anew where that is due
    Repeat,
    /// It took effect
    Done,
    /// It did not take effect
    NotDone,
}

impl Choice {
    /// The choice as the API writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Done => "done",
            Self::NotDone => "not_done",
        }
    }
}

/// `callboard sessions rollback`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Every call is looked at first: if one of them cannot be taken back, none is. \
                        Steps are counted from 1 over the whole session: each model reply is one, \
                        and each direct call."
)]
pub(crate) struct Rollback {
    /// The session
    pub(crate) session: String,
    /// Take back this call
    #[arg(long, value_name = "ID", required_unless_present = "to_step")]
    #[arg(conflicts_with = "to_step")]
    pub(crate) call: Option<String>,
    /// Take back all calls after this step; 0 for all
    #[arg(long, value_name = "N")]
    pub(crate) to_step: Option<u32>,
    /// Only show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How to print what was done
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `callboard sessions replay`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit codes: 0 the same, 1 something differs, 2 usage or configuration.")]
pub(crate) struct Replay {
    /// The session
    pub(crate) session: String,
    /// Read it from a file that `sessions export` wrote, instead of asking a gateway
    #[arg(long, value_name = "JOURNAL", value_hint = ValueHint::FilePath)]
    pub(crate) against: Option<PathBuf>,
    /// How to print what was found
    #[command(flatten)]
    pub(crate) output: Output,
}
