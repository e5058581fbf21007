//! The shell service as a program of its own; the tool is in `lib.rs`. Started again by itself, it
//! is the launcher of one command.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = callboard_shell::launcher_main(std::env::args_os()) {
        return code;
    }
    callboard_tool::main(callboard_shell::service)
}
