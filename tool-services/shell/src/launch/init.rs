//! The second stage, first process of its namespaces: builds the view of files that the command
//! gets, gives up its rights and stays with the command. When it ends, the kernel ends whatever
//! else is in the namespaces.
//!
//! Next: `view.rs`.

use std::process::ExitCode;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::plan::{Plan, Report};

use super::census::Census;
use super::{During as _, LaunchError, control, rights, supervise, tell, view};

pub(super) fn main() -> ExitCode {
    tell(run())
}

fn run() -> Result<Report, LaunchError> {
    set_parent_process_death_signal(Some(Signal::KILL)).during("binding to the launcher")?;
    let mut control = control()?;
    let plan = Plan::receive(&mut control).during("reading the plan")?;
    view::build(&plan)?;
    rights::drop_all()?;
    supervise::run(&plan, &control, Census::Namespace)
}
