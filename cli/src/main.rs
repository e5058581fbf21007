//! Callboard: runs LLM agents as durable, supervised session actors. This is the installed binary and
//! the composition root of the embedded mode.
//!
//! A command is read in `args`, its settings in `config`, its folders in `place`; `commands` runs it
//! as a client of a gateway, `stack` starts and supervises the processes behind that gateway, and
//! `serve` is what such a process does.

mod exit;
mod print;
mod args;
mod config;
mod place;
mod client;
mod commands;
mod stack;
mod serve;

use std::process::ExitCode;

use mimalloc::MiMalloc;

use crate::args::{Args, Command};
use crate::commands::here::Here;
use crate::exit::Exit;

/// A session allocates and frees many small things on whatever thread its task runs: the platform's
/// own allocator took a sixth of the orchestrator's time for that.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // The shell service starts its own program again as the launcher of a command: nothing of ours
    // may have happened in that process before.
    if let Some(code) = callboard_shell::launcher_main(std::env::args_os()) {
        return code;
    }
    // Before anything makes a TLS client; a second provider cannot be there yet.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let args = match args::parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(args) => args,
        // Help and version are such "errors" too; clap knows which stream and code they want.
        Err(error) => error.exit(),
    };
    if args.global.no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        print::no_colors();
    }
    run(args)
        .unwrap_or_else(|error| {
            print::err(&format!("callboard: {}", print::visible(&format!("{error:#}"))));
            exit::of(&error)
        })
        .into()
}

fn run(args: Args) -> anyhow::Result<Exit> {
    if let Command::Serve(serve) = &args.command {
        return serve::run(&Here::new(args.global), serve);
    }
    print::has_stdout()?;
    // A client waits for one thing at a time, and a supervisor's children need a parent thread that
    // lives as long as the process: one thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(commands::run(args));
    // Nothing that still runs is worth waiting for.
    runtime.shutdown_background();
    done
}
