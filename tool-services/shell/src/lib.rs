//! The shell service: `run_command`, which runs what a person agreed to behind walls that the
//! kernel holds: no network, no file but the workspace's, none that is sensitive.
//!
//! One file for each question: may it run (`run_command.rs`, `preview.rs`), when (`turns.rs`), what can it
//! reach and what does it leave (`reach.rs`, `later.rs`), how does it run and end (`command.rs`, `output.rs`, `answer.rs`), how do the walls
//! stand (`launch.rs` and its folder) and do they (`probe.rs`). Next: `run_command.rs`.

mod run_command;
mod preview;
mod turns;
mod reach;
mod later;
mod command;
mod output;
mod answer;

mod plan;
mod mounts;
mod launch;
mod probe;

use std::path::PathBuf;

use callboard_tool::Service;

pub use self::{
    launch::launcher_main,
    plan::Isolation,
    probe::{Probe, probe},
};

/// How commands are started. [`Config::default`] fits every program that calls [`launcher_main`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The program that is started as the launcher; default: this one.
    pub launcher: PathBuf,
    /// How walls are made; default: the best that [`probe`] finds.
    pub isolation: Option<Isolation>,
}

impl Default for Config {
    fn default() -> Self {
        Self { launcher: launch::PROGRAM.into(), isolation: None }
    }
}

/// The service with its tool. Where the kernel cannot wall commands in, it has no tool, and the log
/// says why, as [`probe`] does. Blocks for some hundredths of a second.
pub fn service() -> Service {
    service_with(&Config::default())
}

/// The service, started in another way.
pub fn service_with(config: &Config) -> Service {
    let service = Service::new("shell", env!("CARGO_PKG_VERSION"));
    let isolation = config.isolation.or_else(|| {
        let found = probe::probe_with(&config.launcher, &Isolation::ALL);
        for problem in &found.problems {
            tracing::warn!(problem, "commands cannot be walled in as they should");
        }
        found.isolation
    });
    match isolation {
        Some(isolation) => {
            let program = config.launcher.clone();
            let turns = turns::Turns::default();
            service.tool(run_command::RunCommand { program, isolation, turns })
        }
        None => service,
    }
}
