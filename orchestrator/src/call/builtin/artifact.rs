//! `read_artifact`: a page of a result that was too large to show.

use serde::Deserialize;

use super::{About, Within};
use crate::artifacts::{ArtifactError, ArtifactId};
use crate::call::failure::{Failure, Kind};
use crate::call::outcome::Output;
use crate::call::settle::UNTRUSTED_HEADER;

/// Its name.
pub const NAME: &str = "read_artifact";

/// Characters of a page.
pub(super) const PAGE: usize = 16_000;

pub(super) const ABOUT: About = (
    NAME,
    "Reads on in a result that was too large to show whole (artifact). Use it only with an id and \
     an offset that a result named. Not for files: those have tools of their own. 继续阅读过长的结果。",
    r#"{"type":"object","properties":{"id":{"type":"string","description":"The artifact's id, as the result named it.","maxLength":200},"offset":{"type":"integer","minimum":0,"description":"Where to read on, in bytes, as the result named it; 0 for the beginning."}},"required":["id"],"additionalProperties":false}"#,
    ("Read on in the long result", r#"{"id":"9f2c4e…","offset":2000}"#),
);

#[derive(Deserialize)]
struct Arguments {
    id: String,
    #[serde(default)]
    offset: u64,
}

pub(super) async fn read(arguments: &str, within: Within<'_>) -> Result<Output, Failure> {
    let Arguments { id, offset } = serde_json::from_str(arguments)
        .map_err(|error| Failure::new(Kind::InvalidArguments, error.to_string()))?;
    let id = ArtifactId::from(id.trim());
    let (head, _) = page(within, &id, 0, UNTRUSTED_HEADER.len()).await?;
    let is_untrusted = head == UNTRUSTED_HEADER.as_bytes();
    let start = if is_untrusted { offset.max(to_u64(UNTRUSTED_HEADER.len())) } else { offset };
    // A character has at most four bytes; a cut first one is left out, a cut last one comes again.
    let characters = within.limit.min(PAGE);
    let (bytes, size) = page(within, &id, start, characters * 4 + 4).await?;
    if start >= size && start > 0 {
        let message = format!("the artifact has {size} bytes; there is nothing at offset {offset}");
        return Err(Failure::new(Kind::NotFound, message));
    }
    let skipped = bytes.iter().take_while(|byte| **byte & 0xC0 == 0x80).count().min(3);
    let text = complete(&bytes[skipped..]);
    let shown = text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end]);
    let from = start + to_u64(skipped);
    let until = from + to_u64(shown.len());
    let rest = if until < size {
        format!(
            "[Bytes {from} to {until} of {size}. Read on with {NAME} {{\"id\": \"{id}\", \"offset\": {until}}}.]"
        )
    } else {
        format!("[Bytes {from} to {until} of {size}: this is the end.]")
    };
    Ok(Output {
        content: shown.to_owned(),
        diagnostics: vec![rest],
        is_untrusted,
        ..Output::default()
    })
}

async fn page(
    within: Within<'_>,
    id: &ArtifactId,
    offset: u64,
    limit: usize,
) -> Result<(Vec<u8>, u64), Failure> {
    let read = within.artifacts.read(within.team, within.session, id, offset, limit).await;
    read.map(|(bytes, size)| (bytes.to_vec(), size)).map_err(|error| match error {
        ArtifactError::NotFound(_) => Failure::new(
            Kind::NotFound,
            "this session has no such artifact; take the id from the result that named it",
        ),
        ArtifactError::Damaged(_) => {
            Failure::new(Kind::Internal, "the artifact is damaged and cannot be read")
        }
        ArtifactError::TooLarge { .. } | ArtifactError::Full | ArtifactError::Io(_) => {
            tracing::warn!(%error, "artifact not read");
            Failure::new(Kind::Unavailable, "the artifact cannot be read now")
        }
    })
}

/// The text up to the last whole character.
fn complete(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
