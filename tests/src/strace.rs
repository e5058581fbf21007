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
