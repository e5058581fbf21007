//! Facts about a tool call before anything is sent: plan, verdict, approval.

use serde::{Deserialize, Serialize};

use crate::run::ids::CallId;

/// How a call may be retried after an unclear failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It changes nothing.
    Read,
    /// Repeating it changes nothing more.
    Idempotent,
    /// Everything else.
    #[default]
    Write,
}

/// A call has a tool and arguments that fit its schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallPlanned {
    /// The call.
    pub call_id: CallId,
    /// Tool as resolved.
    pub tool: String,
    /// Service that offers it.
    pub service: String,
    /// Digest of the descriptor under which it was planned.
    pub descriptor_digest: String,
    /// Arguments after repair: the bytes that are shown, judged and sent.
    pub arguments: String,
    /// SHA-256 (lower-case hex) of `arguments`.
    pub arguments_digest: String,
    /// What was repaired or coerced, a line each.
    pub repairs: Vec<String>,
    /// How the call may be retried.
    pub class: Class,
    /// Milliseconds that one attempt may take.
    pub timeout_ms: u64,
}

/// What may become of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    #[default]
    Allow,
    /// A person must decide.
    Ask,
    /// Never.
    Block,
}

impl Verdict {
    /// The verdict as clients and spans write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }
}

/// The verdict on a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallJudged {
    /// The call.
    pub call_id: CallId,
    /// The stricter of policy and preflight.
    pub verdict: Verdict,
    /// The rule that gave it; `preflight` where the tool itself did.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// Effects taken away from the call: `read`, `write`, `execute`, `network`.
    pub denied_effects: Vec<String>,
}

/// A person is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAsked {
    /// The call.
    pub call_id: CallId,
    /// What the person sees.
    pub preview: String,
    /// SHA-256 (lower-case hex) of `preview`.
    pub preview_digest: String,
    /// Why the person is asked.
    pub reason: String,
    /// When the question lapses, Unix time in milliseconds.
    pub expires_ms: i64,
}

/// The question is answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    /// The call.
    pub call_id: CallId,
    /// Whether it may run.
    pub approved: bool,
    /// Who decided: a principal, `flag`, `timeout` or `nobody`.
    pub by: String,
    /// Remark that the model sees.
    pub note: String,
    /// Idempotency key of the decision.
    pub key: String,
    /// SHA-256 (lower-case hex) of the decision's body.
    #[serde(default)]
    pub body_digest: String,
}
