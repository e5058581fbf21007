//! The search service as a program of its own; the tool is in `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    callboard_tool::main(callboard_search::service)
}
