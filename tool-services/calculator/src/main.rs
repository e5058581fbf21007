//! The calculator as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    callboard_tool::main(callboard_calculator::service)
}
