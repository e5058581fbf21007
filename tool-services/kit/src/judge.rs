//! Judges one call: what policy takes away, then the tool's own preflight. The same function serves
//! `Preflight` and `Invoke`, so that what was shown to a person is what is checked before it runs.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{About, Verdict, call::Call, served::Prepared, sizes};

/// What becomes of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Allow,
    Ask { reason: String, preview: String, digest: String, irreversible: bool },
    Block { reason: String },
}

/// Judges a call.
pub(crate) async fn judge(about: &About, prepared: &dyn Prepared, call: &Call) -> Judged {
    let needed = about
        .effects
        .iter()
        .find(|effect| call.denies(**effect) && !about.removable.contains(effect));
    if let Some(effect) = needed {
        let reason = format!(
            "A policy takes the effect `{}` away, and {} cannot work without it.",
            effect.name(),
            about.name
        );
        return Judged::Block { reason };
    }
    match prepared.judge(call).await {
        Verdict::Allow => Judged::Allow,
        Verdict::Ask { preview, .. } if preview.len() > sizes::PREVIEW => Judged::Block {
            reason: format!(
                "What a person would have to judge is too long: {} bytes, the limit is {}. \
                 Split the work.",
                preview.len(),
                sizes::PREVIEW
            ),
        },
        Verdict::Ask { reason, preview, irreversible } => {
            let digest = hex(&Sha256::digest(&preview));
            Judged::Ask { reason, preview, digest, irreversible }
        }
        Verdict::Block { reason } => Judged::Block { reason },
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
