//! The wire contract: generated from the `.proto` files beside this crate, the size limits that every
//! server and client sets, and which partition a session lies in. Nothing here decides anything.

use sha2::{Digest as _, Sha256};

/// `callboard.tool.v1`: what a tool service implements.
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
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
    clippy::restriction,
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
    clippy::restriction,
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
    /// One gRPC message of an orchestrator to a gateway. A fact holds its fields as JSON in a text,
    /// where a byte may take six, and a model's reply has up to 8 MiB.
    pub const NOTICE: usize = 64 * MIB;
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
    /// An attach named a call that was never started here, or that provably changed nothing before
    /// its process died; nothing was started.
    pub const UNKNOWN_CALL: &str = "UNKNOWN_CALL";
    /// The call was started, and how it ended is not known here: its process died in the middle, or
    /// its outcome is no longer held.
    pub const OUTCOME_GONE: &str = "OUTCOME_GONE";
    /// The service does not offer the tool.
    pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";

    /// Another orchestrator owns the session: the details hold an `agent.v1.Owner`.
    pub const NOT_OWNER: &str = "NOT_OWNER";
    /// The idempotency key was used before with another body.
    pub const KEY_REUSED: &str = "KEY_REUSED";
    /// Too many inputs wait in the session.
    pub const QUEUE_FULL: &str = "QUEUE_FULL";
    /// The session is of the other kind.
    pub const WRONG_KIND: &str = "WRONG_KIND";
    /// A size limit was passed; the message names it.
    pub const TOO_LARGE: &str = "TOO_LARGE";
    /// The call does not wait for a decision.
    pub const NOT_ASKED: &str = "NOT_ASKED";
    /// The call's outcome is not unknown, so there is nothing to choose.
    pub const NOT_UNKNOWN: &str = "NOT_UNKNOWN";
    /// The preview that was decided on is not the recorded one.
    pub const PREVIEW_CHANGED: &str = "PREVIEW_CHANGED";
    /// There is no such call or step to take back, or nothing came of it.
    pub const NOTHING_TO_TAKE_BACK: &str = "NOTHING_TO_TAKE_BACK";
    /// The session works, so it can neither be removed nor have calls taken back.
    pub const SESSION_BUSY: &str = "SESSION_BUSY";
    /// The session's events cannot be trusted; the message says from which one on, and what to do.
    pub const SESSION_DAMAGED: &str = "SESSION_DAMAGED";
    /// The disk of the journal is full; nothing was done.
    pub const STORAGE_FULL: &str = "STORAGE_FULL";
    /// The database of the journal does not answer; the message says whether anything was done.
    pub const STORAGE_AWAY: &str = "STORAGE_AWAY";
    /// No provider has a model of this name.
    pub const UNKNOWN_MODEL: &str = "UNKNOWN_MODEL";
    /// No agent has this name.
    pub const UNKNOWN_AGENT: &str = "UNKNOWN_AGENT";
}

/// Partitions of a deployment, fixed where its journal is first opened.
pub const PARTITIONS: u32 = 256;

/// The partition of a session: the first eight bytes of SHA-256 over its id, big endian, modulo
/// `count`; 0 if `count` is. Every process must agree on it, for ever.
pub fn partition_of(session: &str, count: u32) -> u32 {
    let digest = Sha256::digest(session.as_bytes());
    let head = digest.iter().take(8).fold(0_u64, |head, byte| head << 8 | u64::from(*byte));
    u32::try_from(head.checked_rem(u64::from(count)).unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{PARTITIONS, partition_of};

    /// Worked out with `hashlib`:
    /// `int.from_bytes(sha256(s.encode()).digest()[:8], "big") % count`.
    #[test]
    fn partitions_are_as_another_language_computes_them() {
        for (session, count, partition) in [
            ("", PARTITIONS, 20),
            ("0191f6a4-7b1e-7c3d-9a55-1f2e3d4c5b6a", PARTITIONS, 0),
            ("018f2c3e-0000-7000-8000-000000000000", PARTITIONS, 41),
            ("018f2c3e-0000-7000-8000-000000000000", 7, 4),
            ("会话", PARTITIONS, 64),
        ] {
            assert_eq!(partition_of(session, count), partition, "{session} of {count}");
        }
        assert_eq!(partition_of("anything", 0), 0);
    }
}
