//! The files service as a program of its own; the tools are in `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    callboard_tool::main(callboard_files::service)
}
