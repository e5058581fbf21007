//! The commands, one file each. All but `up`, `serve`, `doctor`, `journal`, `config` and `completions`
//! are clients of a gateway: `connect` finds it or starts one. Next: `commands/ask.rs`.

pub(crate) mod here;
mod connect;
mod ask;
mod run;
mod tools;
mod sessions;
mod approvals;
mod policy;
mod trace;
mod status;
mod doctor;
mod journal;
mod config;
mod completions;
mod up;
mod process;
mod words;

use crate::args::{Args, Command, Tools};
use crate::commands::here::Here;
use crate::exit::Exit;

/// Runs a command to its end.
///
/// # Errors
/// What kept it from its end; the exit code is in [`crate::exit::of`].
pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let here = Here::new(args.global);
    match args.command {
        Command::Ask(ask) => ask::run(&here, ask).await,
        Command::Up(up) => up::run(&here, up).await,
        Command::Status(output) => status::run(&here, output).await,
        Command::Tools(Tools::List(output)) => tools::list(&here, output).await,
        Command::Tools(Tools::Show { name, output }) => tools::show(&here, &name, output).await,
        Command::Tools(Tools::Call(call)) => tools::call(&here, call).await,
        Command::Sessions(command) => sessions::run(&here, command).await,
        Command::Approvals(command) => approvals::run(&here, command).await,
        Command::Policy(command) => policy::run(&here, command).await,
        Command::Trace(of) => trace::run(&here, of).await,
        Command::Doctor(output) => doctor::run(&here, output).await,
        Command::Journal(command) => journal::run(&here, command).await,
        Command::Config(output) => config::run(&here, output),
        Command::Completions { shell } => completions::run(shell),
        // It wants a runtime of its own size, which `main` gives it.
        Command::Serve(_) => anyhow::bail!("`serve` is no client's command"),
    }
}
