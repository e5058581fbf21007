//! Our types to wire messages and back. Nothing is decided here.

use std::time::Duration;

use bytes::Bytes;
use callboard_proto::tool as wire;

use crate::{
    Cost, Effect, Failure, FailureKind, Output, Rollback, UndoMode,
    fence::{Epoch, Owner},
    judge::Judged,
    sizes,
};

pub(crate) fn output(output: Output) -> wire::outcome::Result {
    let structured = output.structured.map(|value| Bytes::from(value.to_string()));
    wire::outcome::Result::Output(wire::Output {
        content: output.content,
        structured: structured.unwrap_or_default(),
        undo_token: output.undo_token.unwrap_or_default(),
        diagnostics: output.diagnostics,
        artifact: output.artifact.map(Bytes::from).unwrap_or_default(),
    })
}

pub(crate) fn failure(failure: Failure) -> wire::outcome::Result {
    let violations = failure.violations.into_iter().take(sizes::ENTRIES);
    wire::outcome::Result::Failure(wire::Failure {
        kind: kind(failure.kind).into(),
        message: sizes::head(&failure.message, sizes::MESSAGE).to_owned(),
        violations: violations
            .map(|violation| wire::Violation {
                pointer: sizes::head(&violation.pointer, sizes::MESSAGE / 16).to_owned(),
                message: sizes::head(&violation.message, sizes::MESSAGE / 16).to_owned(),
            })
            .collect(),
        retry_after_ms: failure.retry_after.map_or(0, millis),
        preview: String::new(),
    })
}

pub(crate) fn preview_changed(preview: String) -> wire::outcome::Result {
    wire::outcome::Result::Failure(wire::Failure {
        kind: wire::FailureKind::PreviewChanged.into(),
        message: "A person must approve this call as it is now; nothing was started.".to_owned(),
        preview,
        ..wire::Failure::default()
    })
}

pub(crate) fn verdict(judged: Judged) -> wire::PreflightResponse {
    let verdict = match judged {
        Judged::Allow => wire::preflight_response::Verdict::Allow(wire::Allow {}),
        Judged::Ask { reason, preview, digest, irreversible } => {
            wire::preflight_response::Verdict::Ask(wire::Ask {
                reason: sizes::head(&reason, sizes::MESSAGE).to_owned(),
                preview,
                preview_digest: digest,
                irreversible,
            })
        }
        Judged::Block { reason } => wire::preflight_response::Verdict::Block(wire::Block {
            reason: sizes::head(&reason, sizes::MESSAGE).to_owned(),
        }),
    };
    wire::PreflightResponse { verdict: Some(verdict) }
}

pub(crate) fn rollback(rollback: Rollback) -> wire::RollbackResponse {
    let cut = |text: String| sizes::head(&text, sizes::PREVIEW).to_owned();
    let result = match rollback {
        Rollback::Undone(text) => wire::rollback_response::Result::Undone(cut(text)),
        Rollback::Conflict(text) => wire::rollback_response::Result::Conflict(cut(text)),
        Rollback::NotReversible(text) => wire::rollback_response::Result::NotReversible(cut(text)),
    };
    wire::RollbackResponse { result: Some(result) }
}

pub(crate) fn undo_mode(mode: wire::RollbackMode) -> UndoMode {
    match mode {
        wire::RollbackMode::Unspecified | wire::RollbackMode::Strict => UndoMode::Strict,
        wire::RollbackMode::Beside => UndoMode::Beside,
        wire::RollbackMode::Force => UndoMode::Force,
    }
}

pub(crate) fn kind(kind: FailureKind) -> wire::FailureKind {
    match kind {
        FailureKind::InvalidArguments => wire::FailureKind::InvalidArguments,
        FailureKind::NotFound => wire::FailureKind::NotFound,
        FailureKind::PermissionDenied => wire::FailureKind::PermissionDenied,
        FailureKind::Blocked => wire::FailureKind::Blocked,
        FailureKind::Conflict => wire::FailureKind::Conflict,
        FailureKind::Unavailable => wire::FailureKind::Unavailable,
        FailureKind::Timeout => wire::FailureKind::Timeout,
        FailureKind::RateLimited => wire::FailureKind::RateLimited,
        FailureKind::TooLarge => wire::FailureKind::TooLarge,
        FailureKind::Unsupported => wire::FailureKind::Unsupported,
        FailureKind::Cancelled => wire::FailureKind::Cancelled,
        FailureKind::Internal => wire::FailureKind::Internal,
    }
}

/// How a call ended, as metrics and spans name it.
pub(crate) fn status(result: &wire::outcome::Result) -> &'static str {
    let kind = match result {
        wire::outcome::Result::Output(_) => return "ok",
        wire::outcome::Result::Failure(failure) => match failure.kind() {
            wire::FailureKind::PreviewChanged => return "preview_changed",
            wire::FailureKind::InvalidArguments => FailureKind::InvalidArguments,
            wire::FailureKind::NotFound => FailureKind::NotFound,
            wire::FailureKind::PermissionDenied => FailureKind::PermissionDenied,
            wire::FailureKind::Blocked => FailureKind::Blocked,
            wire::FailureKind::Conflict => FailureKind::Conflict,
            wire::FailureKind::Unavailable => FailureKind::Unavailable,
            wire::FailureKind::Timeout => FailureKind::Timeout,
            wire::FailureKind::RateLimited => FailureKind::RateLimited,
            wire::FailureKind::TooLarge => FailureKind::TooLarge,
            wire::FailureKind::Unsupported => FailureKind::Unsupported,
            wire::FailureKind::Cancelled => FailureKind::Cancelled,
            wire::FailureKind::Internal | wire::FailureKind::Unspecified => FailureKind::Internal,
        },
    };
    kind.as_str()
}

pub(crate) fn effects_to_wire(effects: &[Effect]) -> Vec<i32> {
    effects
        .iter()
        .map(|effect| match effect {
            Effect::Read => wire::Effect::Read.into(),
            Effect::Write => wire::Effect::Write.into(),
            Effect::Execute => wire::Effect::Execute.into(),
            Effect::Network => wire::Effect::Network.into(),
        })
        .collect()
}

/// The effects, or the number of one that this version does not know: to ignore what a policy takes
/// away would be to allow it.
pub(crate) fn effects_from_wire(effects: &[i32]) -> Result<Vec<Effect>, i32> {
    let mut known = Vec::with_capacity(effects.len());
    for number in effects {
        known.push(match wire::Effect::try_from(*number) {
            Ok(wire::Effect::Read) => Effect::Read,
            Ok(wire::Effect::Write) => Effect::Write,
            Ok(wire::Effect::Execute) => Effect::Execute,
            Ok(wire::Effect::Network) => Effect::Network,
            Ok(wire::Effect::Unspecified) | Err(_) => return Err(*number),
        });
    }
    Ok(known)
}

pub(crate) fn cost(cost: Cost) -> wire::CostClass {
    match cost {
        Cost::Cheap => wire::CostClass::Cheap,
        Cost::Moderate => wire::CostClass::Moderate,
        Cost::Expensive => wire::CostClass::Expensive,
    }
}

pub(crate) fn owner(deployment: String, partition: u32, epoch: wire::Epoch) -> Owner {
    let epoch = Epoch { generation: epoch.generation, revision: epoch.revision };
    Owner { deployment, partition, epoch }
}

/// Whole milliseconds, rounded up: "in 1 ms" is better than "at once".
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
