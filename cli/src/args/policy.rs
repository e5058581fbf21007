//! The shape of `callboard policy`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueHint};

use super::Output;

/// `callboard policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// List the rules in force, and say what is odd about them
    List(Output),
    /// Say what the rules would say of a call, without making it
    Test(PolicyTest),
    /// Check the rules of a configuration file, without a stack
    Check {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// How to print it
        #[command(flatten)]
        output: Output,
    },
}

/// `callboard policy test`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyTest {
    /// The tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: String,
    /// Its arguments as a JSON object; `-` reads them from standard input, `@FILE` from a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) args: OsString,
    /// The team to judge it for [default: your own]
    #[arg(long, value_name = "NAME")]
    pub(crate) team: Option<String>,
    /// The agent to judge it for [default: the default one]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// How to print it
    #[command(flatten)]
    pub(crate) output: Output,
}
