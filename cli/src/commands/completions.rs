//! `callboard completions`: what a shell wants to know about the command line.

use clap::CommandFactory as _;

use crate::args::Args;
use crate::exit::Exit;
use crate::print;

/// Prints the completions for `shell`.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "callboard", &mut script);
    print::out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
