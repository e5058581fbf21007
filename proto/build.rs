//! Generates the Rust side of the protos with a compiler written in Rust: no `protoc` is needed.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const FILES: [&str; 3] = [
    "callboard/tool/v1/tool.proto",
    "callboard/agent/v1/agent.proto",
    "callboard/journal/v1/journal.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo:rerun-if-changed={file}");
    }
    let descriptors = protox::compile(FILES, ["."])?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("callboard.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".callboard.tool.v1.ToolCall.arguments")
        .bytes(".callboard.tool.v1.Output")
        .compile_fds(descriptors)?;
    Ok(())
}
