//! Generates our part of etcd's API with a compiler written in Rust: no `protoc` is needed.

use std::error::Error;

const FILES: [&str; 2] = ["etcd/kv.proto", "etcd/rpc.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo:rerun-if-changed=proto/{file}");
    }
    // The server's side is for tests that play an etcd with faults.
    tonic_prost_build::configure().compile_fds(protox::compile(FILES, ["proto"])?)?;
    Ok(())
}
