//! The wire contract: generated from the `.proto` files beside this crate, and the size limits that
//! every server and client sets. Nothing here decides anything.

/// `callboard.tool.v1`: what a tool service implements.
#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    rustdoc::invalid_html_tags,
    reason = "generated code"
)]
pub mod tool {
    tonic::include_proto!("callboard.tool.v1");
}

/// `callboard.agent.v1`: what the gateway asks of orchestrators.
#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    rustdoc::invalid_html_tags,
    reason = "generated code"
)]
pub mod agent {
    tonic::include_proto!("callboard.agent.v1");
}

/// `callboard.journal.v1`: events as they are stored.
#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    rustdoc::invalid_html_tags,
    reason = "generated code"
)]
pub mod journal {
    tonic::include_proto!("callboard.journal.v1");
}

/// Encoded `FileDescriptorSet` of all packages, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/callboard.bin"));

/// Sizes in bytes that the wire accepts; whoever is over one is refused with its name.
pub mod size {
    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;

    /// Arguments of one call.
    pub const ARGUMENTS: usize = MIB;
    /// Structured content of one outcome.
    pub const STRUCTURED: usize = MIB;
    /// One gRPC message, either way.
    pub const MESSAGE: usize = 2 * MIB;
    /// One output chunk.
    pub const CHUNK: usize = 256 * KIB;
    /// One artifact.
    pub const ARTIFACT: usize = 16 * MIB;
    /// All artifacts of one run.
    pub const RUN_ARTIFACTS: usize = 256 * MIB;
    /// The input of one run.
    pub const INPUT: usize = 256 * KIB;
}

/// Reasons that a service gives in `google.rpc.ErrorInfo` when there is no outcome, under the domain
/// [`DOMAIN`](reason::DOMAIN). A caller decides by these, never by a message.
pub mod reason {
    /// The domain of all reasons here.
    pub const DOMAIN: &str = "callboard";

    /// Nothing was started, and the same call may be sent again or elsewhere: the instance drains,
    /// is full, serves another workspace, or is not the incarnation that was meant.
    pub const NOT_ADMITTED: &str = "NOT_ADMITTED";
    /// The sender's epoch is lower than one that was seen: another owner has taken over.
    pub const STALE_OWNER: &str = "STALE_OWNER";
    /// An attach named a call that this incarnation never started; nothing was started.
    pub const UNKNOWN_CALL: &str = "UNKNOWN_CALL";
    /// The call was started and ended, and its outcome is no longer held.
    pub const OUTCOME_GONE: &str = "OUTCOME_GONE";
    /// The service does not offer the tool.
    pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
}
