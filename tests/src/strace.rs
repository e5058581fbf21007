//! Faults of system calls, made from outside: the program that runs is the one that is shipped.

use std::{path::Path, process::Command, time::Duration};

/// `program`, and all that it starts, with every sync taking `delay` longer.
pub fn slow_syncs(program: &Path, delay: Duration) -> Command {
    if delay.is_zero() {
        return Command::new(program);
    }
    let mut command = Command::new("strace");
    // `-D`: the process is the program, and the tracer its grandchild. Calls that are not named
    // cost nothing.
    command
        .args(["-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"])
        .args(["-e", "trace=fdatasync,fsync"])
        .args(["-e", &format!("inject=fdatasync,fsync:delay_exit={}", delay.as_micros())])
        .arg(program);
    command
}

/// `command` with system calls on the file at `path` failing, as `inject` of strace says: such as
/// `fdatasync:error=EIO:when=3`, counted for each thread.
pub(crate) fn failing(command: &Command, path: &Path, inject: &str) -> tokio::process::Command {
    let calls = inject.split(':').next().unwrap_or_default();
    let mut failing = tokio::process::Command::new("strace");
    failing.args(["-D", "-f", "-qq", "-o", "/dev/null", "-P"]).arg(path);
    failing.args(["-e", &format!("trace={calls}"), "-e", &format!("inject={inject}")]);
    failing.arg(command.get_program()).args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            failing.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        failing.current_dir(folder);
    }
    failing
}
